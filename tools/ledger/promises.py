"""What the service promises, and for each promise its places in the code, its mutants, attacks and drills.

The text stands in docs/architecture.md ("What must never break", P1 to P11) and SECURITY.md (P12 to P19).
"""

import re
from dataclasses import dataclass

from tools.mutants.mutant import Mutant

# number | text | places: `path` or `path:name` | how the names of its mutants begin | attacks, or why there
# is none | drills
TABLE = """
P1 | Only a registered address gets an answer or an error. An address is compared as an exact string. The
     port may differ only for `http://127.0.0.1` and `http://[::1]`.
   | presentation/requests/client.py:is_registered
     presentation/relying_parties/metadata/redirect_uris.py:validate
   | redirect URI:; response URI:; answer: to a redirect URI; answer at once: to a redirect URI; delivery:
     to a response URI; delivery: the browser is redirected; redirect task: leads to another; request
     object: fetched from an address; code: for another address; certificates: the answer is for
   | unregistered_addresses
   | rotation
P2 | One answer per interaction, and per `nonce` and relying party. Conditional updates and constraints
     decide, so parallel requests and crashes change nothing. An answer has one presentation for each
     credential query; several scopes share one.
   | presentation/requests/models.py:Interaction presentation/requests/interactions.py:begin
     presentation/fast_path/writing.py:write_answer
   | nonce:; answer: two tokens; answer: an error after; answer at once:; retention: a nonce; pushed
     request: begun again; pushed request: answered with two; consent: decided twice; delivery: posted by
     two; code: exchanged; code: of parallel; code: a replay; status index: given; OpenID Connect: every
     request without; OpenID Connect: the answer at once
   | answered_again
   | restart reload database hung standby no-standby worker master instance module clock-ahead clock-behind
P3 | What is signed is what was shown. The request is stored once. Page, decision and token derive from that
     row, and its hash is compared before signing.
   | presentation/requests/answers.py:presentable consent/decisions.py:granted_for
   | answer: to a request that was changed; answer: with; consent: good for another; consent: of another;
     interaction: another request; key binding:; transaction data:; recognition: the page's sector
   | changed_after_the_page
   | database hung standby no-standby worker master instance
P4 | Only selected claims are disclosed. Selecting nothing discloses nothing.
   | wallet/sd_jwt/issuance.py:select consent/switches.py:switched_on presentation/dcql/evaluation.py:select
   | answer: with claims; client: asks for; DCQL:; OpenID Connect: claims; OpenID Connect: scopes; OpenID
     Connect: voluntary; verified_claims:; questions:; SD-JWT: a disclosure that; together:; recognition:
     the number is made; details: what a wallet shows
   | unselected_claims
P5 | A browser acts only in its own interaction, which its cookie proves.
   | presentation/requests/interactions.py:recall infra/browser.py:digest wallet/redirect_tasks.py
     config/cross_site.py:CrossSiteCheck
   | interaction:; delivery: another browser; redirect task: continued; challenge: good in another; change
     of address: the code is accepted in another; sign-in link: signs in a browser; cross-site:; single
     sign-on: the state; identity: what a stranger's; consent page: shows the question of; consent: given
     from another; next step: another person's; requesters: the page of another
   | another_browser
P6 | No personal value, code, key or token in a log, an error page, a list or a `repr`.
   | config/logs.py:without_personal_values config/logs.py:WithoutPath deploy/nginx.conf
   | logs:; machine endpoints: parameters in; audit record: an e-mail; consent page at once: with a payment;
     pushed request: the reference itself; operator: sees the address; operator: a search
   | secrets_in_logs
   | log
P7 | Sealed values of earlier versions open. The layout in `infra/sealing.py` and the names of sealed
     columns are a contract with every existing database.
   | infra/sealing.py:unseal keys/sealed_columns.py:sealed_columns
   | sealing: values of earlier versions
   | none: A request chooses neither the layout nor a key; `tests/upgrade/` opens the database of 0.2.0.
P8 | The addresses and the JSON of `docs/openapi.yaml` are a contract with every relying party.
     `tests/recorded/` shows any change as a diff.
   | config/urls.py:urlpatterns docs/openapi.yaml presentation/endpoints.py
   | contract:
   | none: A request cannot change what a release answers; a change of the code is compared with the
     contract.
P9 | The published documents answer while the database is away, for an hour or until they expire.
   | infra/published/documents.py:PublishedDocument infra/published/families.py:PublishedFamily
   | published document:; status list: served after
   | database_away
   | database hung
P10 | Production contains nothing of the sandbox.
   | config/settings.py:INSTALLED_APPS infra/database/database_mark.py:compare
   | environment:; stripe: production; identity: the sandbox's
   | sandbox_addresses
P11 | The issuer stays the same. `BASE_URL` is part of every token and of every address in it.
   | config/settings.py:BASE_URL presentation/metadata.py:discovery_document
   | issuer:; credential: of another issuer; access token: from another issuer; proxies:
   | forged_hosts
   | rotation restart
P12 | A claim is disclosed only if the holder was shown it with its value and agreed.
   | consent/views.py:read_choice consent/decisions.py:grant presentation/requests/answers.py:answer
   | consent:; consent page:; next step: answered without; answer: with claims; answer: with the age;
     answer: with a credential; CSP: pages may be framed; cross-site: a decision; payment:; prefetch:; adds
     up:; operator: the preview
   | no_agreement unselected_claims
P13 | Two relying parties that compare tokens learn only the values that they received.
   | wallet/credential/credentials.py wallet/sd_jwt/issuance.py:issue wallet/status_lists/allocation.py
   | issuance:; status index: in the order; status index: given twice; questions: the number of digests;
     recognition: the number is the same; recognition: all seeds; time of the sign-in:
   | compared_tokens compared_clients
P14 | Only those whom the page named recognise a holder by the number that it asked for.
   | wallet/account/pairwise.py:of consent/question.py
   | recognition:; OpenID Connect: a number for; before a click:
   | recognition silent_requests
P15 | Nobody signs in to a wallet without access to its mailbox or one of its passkeys, nobody can keep its
     holder out, and nobody can find out whether a wallet exists.
   | wallet/sign_in/allowances.py:take_code wallet/sign_in/sessions.py:current wallet/passkeys/assertion.py
     wallet/identity/recoveries.py wallet/account/address/undoing.py
   | sign-in; redirect task:; session:; challenge:; passkey:; change of address:; recovery:; limits:
     strangers; limit: wrong sign-in; client address:; cookies:; e-mails: a code
   | sign_in
   | mail
P16 | A relying party gets the same answer, `access_denied`, whether the holder declined, gave up, could not
     be verified or has nothing that matches.
   | presentation/errors.py:AccessDeniedError
   | access_denied:
   | reasons_for_no
P17 | Private keys, identities and the content of transactions are encrypted in the database and bound to
     their rows.
   | infra/sealing.py:seal infra/sealing.py:unseal_column
   | sealing:; record: the transactions; pushed request: the reference itself
   | database_read
P18 | Addresses that relying parties supply never make the service call its own network.
   | infra/outbound/calls.py:Outbound infra/outbound/targets.py:is_public
   | outbound:
   | inside_addresses
P19 | Malformed input never ends in status 500.
   | infra/strict_json.py:loads presentation/requests/parameters.py presentation/dcql/parsing.py
   | JSON from outside:; parameters:; DCQL: nested; machine endpoints: a body; SD-JWT: nested; SD-JWT: a
     token of any length; JWS: a token of any length; transaction data: of any length
   | malformed
"""


@dataclass(frozen=True)
class Promise:
    """One row of the table. `no_attack` says why no request can break the promise."""

    number: str
    text: str
    places: tuple[str, ...]
    mutants: tuple[str, ...]
    attacks: tuple[str, ...]
    no_attack: str
    drills: tuple[str, ...]

    def has(self, mutant: Mutant) -> bool:
        return mutant.name.startswith(self.mutants)


def _read(row: str) -> Promise:
    cells = [" ".join(cell.split()) for cell in f"{row}|".split("|")]
    number, text, places, mutants, attacks, drills = cells[:6]
    none, _, reason = attacks.partition("none: ")
    named = (tuple(places.split()), tuple(mutants.split("; ")), tuple(none.split()))
    return Promise(number, text, *named, reason, tuple(drills.split()))


PROMISES = tuple(_read(row) for row in re.split(r"\n(?=P\d+ )", TABLE) if row.strip())
