"""What the service promises, and for each promise its places in the code, its mutants, attacks and drills.

The text stands in docs/architecture.md ("What must never break", P1 to P11) and SECURITY.md (P12 to P19).
`make attacks` and `make mutants` try to break the promises.
"""

from dataclasses import dataclass

from tools.mutants.mutant import Mutant


@dataclass(frozen=True)
class Promise:
    """One promise, and what would notice that it is broken.

    places: in the code, as `path` or `path:name`. mutants: how the names of its mutants begin. attacks: of
    `tools.attacks.every`. no_attack: why no request can break it, where there is no attack. drills: of
    `tools.drills.every`.
    """

    number: str
    text: str
    places: tuple[str, ...]
    mutants: tuple[str, ...]
    attacks: tuple[str, ...] = ()
    no_attack: str = ""
    drills: tuple[str, ...] = ()

    def has(self, mutant: Mutant) -> bool:
        return mutant.name.startswith(self.mutants)


PROMISES = (
    Promise(
        "P1",
        text=(
            "Only a registered address gets an answer or an error. An address is compared as an exact "
            "string. The port may differ only for `http://127.0.0.1` and `http://[::1]`."
        ),
        places=(
            "presentation/requests/client.py:is_registered",
            "presentation/relying_parties/metadata/redirect_uris.py:validate",
        ),
        mutants=(
            "redirect URI:",
            "response URI:",
            "answer: to a redirect URI",
            "answer at once: to a redirect URI",
            "delivery: to a response URI",
            "delivery: the browser is redirected",
            "redirect task: leads to another",
            "request object: fetched from an address",
            "code: for another address",
            "certificates: the answer is for",
        ),
        attacks=("unregistered_addresses",),
        drills=("rotation",),
    ),
    Promise(
        "P2",
        text=(
            "One answer per interaction, and per `nonce` and relying party. Conditional updates and "
            "constraints decide, so parallel requests and crashes change nothing. An answer has one "
            "presentation for each credential query; several scopes share one."
        ),
        places=(
            "presentation/requests/models.py:Interaction",
            "presentation/requests/interactions.py:begin",
            "presentation/requests/fast_path/writing.py:write_answer",
        ),
        mutants=(
            "nonce:",
            "answer: two tokens",
            "answer: an error after",
            "answer at once:",
            "retention: a nonce",
            "pushed request: begun again",
            "pushed request: answered with two",
            "consent: decided twice",
            "delivery: posted by two",
            "code: exchanged",
            "code: of parallel",
            "code: a replay",
            "status index: given",
            "OpenID Connect: every request without",
            "OpenID Connect: the answer at once",
        ),
        attacks=("answered_again",),
        drills=(
            "restart",
            "reload",
            "database",
            "hung",
            "standby",
            "no-standby",
            "worker",
            "master",
            "instance",
            "module",
            "clock-ahead",
            "clock-behind",
        ),
    ),
    Promise(
        "P3",
        text=(
            "What is signed is what was shown. The request is stored once. Page, decision and token derive "
            "from that row, and its hash is compared before signing."
        ),
        places=("presentation/requests/answers.py:presentable", "consent/decisions.py:granted_for"),
        mutants=(
            "answer: to a request that was changed",
            "answer: with",
            "consent: good for another",
            "consent: of another",
            "interaction: another request",
            "key binding:",
            "transaction data:",
            "recognition: the page's sector",
        ),
        attacks=("changed_after_the_page",),
        drills=("database", "hung", "standby", "no-standby", "worker", "master", "instance"),
    ),
    Promise(
        "P4",
        text="Only selected claims are disclosed. Selecting nothing discloses nothing.",
        places=(
            "wallet/sd_jwt/issuance.py:select",
            "consent/switches.py:switched_on",
            "presentation/dcql/evaluation.py:select",
        ),
        mutants=(
            "answer: with claims",
            "client: asks for",
            "DCQL:",
            "OpenID Connect: claims",
            "OpenID Connect: scopes",
            "OpenID Connect: voluntary",
            "verified_claims:",
            "questions:",
            "SD-JWT: a disclosure that",
            "together:",
            "recognition: the number is made",
            "details: what a wallet shows",
        ),
        attacks=("unselected_claims",),
    ),
    Promise(
        "P5",
        text="A browser acts only in its own interaction, which its cookie proves.",
        places=(
            "presentation/requests/interactions.py:open_interaction",
            "infra/browser.py:digest",
            "wallet/redirect_tasks.py",
            "config/cross_site.py:CrossSiteCheck",
        ),
        mutants=(
            "interaction:",
            "delivery: another browser",
            "redirect task: continued",
            "challenge: good in another",
            "change of address: the code is accepted in another",
            "sign-in link: signs in a browser",
            "cross-site:",
            "single sign-on: the state",
            "identity: what a stranger's",
            "consent page: shows the question of",
            "consent: given from another",
            "next step: another person's",
            "requesters: the page of another",
        ),
        attacks=("another_browser",),
    ),
    Promise(
        "P6",
        text="No personal value, code, key or token in a log, an error page, a list or a `repr`.",
        places=("config/logs.py:without_personal_values", "config/logs.py:WithoutPath", "deploy/nginx.conf"),
        mutants=(
            "logs:",
            "machine endpoints: parameters in",
            "audit record: an e-mail",
            "consent page at once: with a payment",
            "pushed request: the reference itself",
            "operator: sees the address",
            "operator: a search",
        ),
        attacks=("secrets_in_logs",),
        drills=("log",),
    ),
    Promise(
        "P7",
        text=(
            "Sealed values of earlier versions open. The layout in `infra/sealing.py` and the names of "
            "sealed columns are a contract with every existing database."
        ),
        places=("infra/sealing.py:unseal", "keys/sealed_columns.py:sealed_columns"),
        mutants=("sealing: values of earlier versions",),
        no_attack=(
            "A request chooses neither the layout nor a key; `tests/upgrade/` opens the database of 0.2.0."
        ),
    ),
    Promise(
        "P8",
        text=(
            "The addresses and the JSON of `docs/openapi.yaml` are a contract with every relying party. "
            "`tests/recorded/` shows any change as a diff."
        ),
        places=("config/urls.py:urlpatterns", "docs/openapi.yaml", "presentation/endpoints.py"),
        mutants=("contract:",),
        no_attack=(
            "A request cannot change what a release answers; a change of the code is compared with the "
            "contract."
        ),
    ),
    Promise(
        "P9",
        text="The published documents answer while the database is away, for an hour or until they expire.",
        places=(
            "infra/published/documents.py:PublishedDocument",
            "infra/published/families.py:PublishedFamily",
        ),
        mutants=("published document:", "status list: served after"),
        attacks=("database_away",),
        drills=("database", "hung"),
    ),
    Promise(
        "P10",
        text="Production contains nothing of the sandbox.",
        places=("config/settings.py:INSTALLED_APPS", "infra/database/database_mark.py:compare"),
        mutants=("environment:", "stripe: production", "identity: the sandbox's"),
        attacks=("sandbox_addresses",),
    ),
    Promise(
        "P11",
        text="The issuer stays the same. `BASE_URL` is part of every token and of every address in it.",
        places=("config/settings.py:BASE_URL", "presentation/metadata.py:discovery_document"),
        mutants=("issuer:", "credential: of another issuer", "access token: from another issuer", "proxies:"),
        attacks=("forged_hosts",),
        drills=("rotation", "restart"),
    ),
    Promise(
        "P12",
        text="A claim is disclosed only if the holder was shown it with its value and agreed.",
        places=(
            "consent/views/question.py:read_choice",
            "consent/decisions.py:grant",
            "presentation/requests/answers.py:answer",
        ),
        mutants=(
            "consent:",
            "consent page:",
            "next step: answered without",
            "answer: with claims",
            "answer: with the age",
            "answer: with a credential",
            "CSP: pages may be framed",
            "cross-site: a decision",
            "payment:",
            "prefetch:",
            "adds up:",
            "operator: the preview",
        ),
        attacks=("no_agreement", "unselected_claims"),
    ),
    Promise(
        "P13",
        text="Two relying parties that compare tokens learn only the values that they received.",
        places=(
            "wallet/credential/credentials.py",
            "wallet/sd_jwt/issuance.py:issue",
            "wallet/status_lists/allocation.py",
        ),
        mutants=(
            "issuance:",
            "status index: in the order",
            "status index: given twice",
            "questions: the number of digests",
            "recognition: the number is the same",
            "recognition: all seeds",
            "time of the sign-in:",
        ),
        attacks=("compared_tokens", "compared_clients"),
    ),
    Promise(
        "P14",
        text="Only those whom the page named recognise a holder by the number that it asked for.",
        places=("wallet/account/pairwise.py:of", "consent/question.py"),
        mutants=("recognition:", "OpenID Connect: a number for", "before a click:"),
        attacks=("recognition", "silent_requests"),
    ),
    Promise(
        "P15",
        text=(
            "Nobody signs in to a wallet without access to its mailbox or one of its passkeys, nobody can "
            "keep its holder out, and nobody can find out whether a wallet exists."
        ),
        places=(
            "wallet/sign_in/allowances.py:take_code",
            "wallet/sign_in/sessions.py:current",
            "wallet/passkeys/assertion.py",
            "wallet/identity/recoveries.py",
            "wallet/account/address/undoing.py",
        ),
        mutants=(
            "sign-in",
            "redirect task:",
            "session:",
            "challenge:",
            "passkey:",
            "change of address:",
            "recovery:",
            "limits: strangers",
            "limit: wrong sign-in",
            "client address:",
            "cookies:",
            "e-mails: a code",
        ),
        attacks=("sign_in",),
        drills=("mail",),
    ),
    Promise(
        "P16",
        text=(
            "A relying party gets the same answer, `access_denied`, whether the holder declined, gave up, "
            "could not be verified or has nothing that matches."
        ),
        places=("presentation/errors.py:AccessDeniedError",),
        mutants=("access_denied:",),
        attacks=("reasons_for_no",),
    ),
    Promise(
        "P17",
        text=(
            "Private keys, identities and the content of transactions are encrypted in the database and "
            "bound to their rows."
        ),
        places=("infra/sealing.py:seal", "infra/sealing.py:unseal_column"),
        mutants=("sealing:", "record: the transactions", "pushed request: the reference itself"),
        attacks=("database_read",),
    ),
    Promise(
        "P18",
        text="Addresses that relying parties supply never make the service call its own network.",
        places=("infra/outbound/calls.py:Outbound", "infra/outbound/targets.py:is_public"),
        mutants=("outbound:",),
        attacks=("inside_addresses",),
    ),
    Promise(
        "P19",
        text="Malformed input never ends in status 500.",
        places=(
            "infra/strict_json.py:loads",
            "presentation/parameters.py",
            "presentation/dcql/parsing.py",
        ),
        mutants=(
            "JSON from outside:",
            "parameters:",
            "DCQL: nested",
            "machine endpoints: a body",
            "SD-JWT: nested",
            "SD-JWT: a token of any length",
            "JWS: a token of any length",
            "transaction data: of any length",
        ),
        attacks=("malformed",),
    ),
)
NUMBERS = tuple(promise.number for promise in PROMISES)


def numbered(numbers: list[str]) -> list[Promise]:
    """The promises with these numbers; all if none is given."""
    return [promise for promise in PROMISES if promise.number in (numbers or promise.number)]
