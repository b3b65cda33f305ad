"""The authorization request that the playground builds, as any relying application would.

With JavaScript the page builds the same address itself (request-page.js), with a nonce made in the browser.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from infra import base64url, strict_json
from infra.strict_json import StrictJsonError
from infra.words import Words
from presentation.dcql.queries import BASIC
from presentation.parameters import DIRECT_POST
from presentation.relying_parties.integration import of_openid_connect
from sandbox.playground import codes
from sandbox.playground.examples import URNS, example, for_scopes

# The parameters that the page explains, in the order of the contract.
PARAMETERS = (
    *("response_type", "client_id", "redirect_uri", "response_mode", "response_uri", "scope"),
    *("login_hint", "nonce", "state", "client_metadata", "transaction_data"),
    *("code_challenge", "code_challenge_method"),
)
DEFAULT_EMAIL = "alice@example.org"
LONGEST_TEXT = 6000
_WHITE_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')  # group 1: a string, which is kept as it is


@dataclass(frozen=True)
class SampleRequest:
    """What the developer chose. `transaction` is the URN of a type or empty, `transaction_text` its JSON."""

    client_id: str
    redirect_uri: str
    response_uri: str  # empty if the browser returns with the answer
    scopes: tuple[str, ...]
    login_hint: str
    transaction: str
    transaction_text: str
    nonce: str
    state: str
    by_code: bool = False  # in OpenID Connect

    @classmethod
    def from_query(
        cls,
        query: QueryDict,
        *,
        client_ids: Collection[str],
        redirect_uri: str,
        secret: Callable[[], str],
        response_uris: Mapping[str, str],
        by_code: Collection[str] = (),
    ) -> "SampleRequest":
        """The choices in the query of the page's address, with defaults for missing or unknown ones.

        secret: makes the nonce and the state. response_uris: by client ID, the address to which the answer
        can be posted. by_code: the client IDs of those that use OpenID Connect. There is no direct_post.jwt
        here: encryption needs the page's script.
        """
        first = next(iter(client_ids))
        client_id = query.get("client_id", first)
        transaction = query.get("transaction", "")
        client_id = client_id if client_id in client_ids else first
        posted = query.get("response_mode") == DIRECT_POST
        scopes = tuple(query.getlist("scope")[:10]) if "client_id" in query else (BASIC,)
        return cls(
            client_id=client_id,
            redirect_uri=redirect_uri,
            response_uri=response_uris.get(client_id, "") if posted and client_id not in by_code else "",
            scopes=scopes,
            login_hint=query.get("login_hint", DEFAULT_EMAIL)[:254],
            transaction=transaction if transaction in URNS else "",
            transaction_text=_edited(query.get("transaction_text", "")[:LONGEST_TEXT], transaction, scopes),
            nonce=secret(),
            state=secret(),
            by_code=client_id in by_code,
        )

    def parameters(self) -> dict[str, str]:
        """The parameters in the contract's order; `transaction_data` only if there is a transaction."""
        posted = {"response_mode": DIRECT_POST, "response_uri": self.response_uri}
        parameters = {
            "response_type": "vp_token",
            "client_id": self.client_id,
            **(posted if self.response_uri else {"redirect_uri": self.redirect_uri}),
            "scope": " ".join(self.scopes),
            "login_hint": self.login_hint,
            "nonce": self.nonce,
            "state": self.state,
        }
        if self.by_code:
            parameters |= of_openid_connect(parameters["scope"], codes.verifier(self.state))
        if self.transaction:
            parameters["transaction_data"] = encode_transaction(self.transaction_text)
        return parameters


def address(endpoint: str, parameters: Mapping[str, str | None]) -> str:
    """The endpoint with these parameters, percent-encoded. Parameters that are None are left out."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{endpoint}?{urlencode(given, quote_via=quote, safe='')}"


def encode_transaction(text: str) -> str:
    """base64url of the JSON text without its white space. Invalid JSON is sent unchanged, to be refused.

    Numbers keep their notation: parsing them into floats would change a price of 999999999999.000001.
    """
    with contextlib.suppress(StrictJsonError):
        strict_json.loads(text)
        text = _WHITE_SPACE.sub(r"\1", text)
    return base64url.encode(text.encode())


def _edited(text: str, transaction: str, scopes: Sequence[str]) -> str:
    """The text for these scopes, or the example if the text is of another type.

    Without JavaScript the text is that of the choices before.
    """
    if transaction in text:
        return for_scopes(text, scopes)
    return example(transaction, scopes) if transaction in URNS else ""


@dataclass(frozen=True)
class Mistake:
    """A request with one mistake: its outcome, and the parameters that differ (None: left out)."""

    title: Words
    outcome: Words
    changes: Mapping[str, str | None]


MISTAKES = (
    Mistake(_("A nonce that is too short"), _("comes back as invalid_request"), {"nonce": "too-short"}),
    Mistake(_("No e-mail address"), _("comes back as invalid_request"), {"login_hint": None}),
    Mistake(
        _("A scope that does not exist"),
        _("comes back as invalid_scope"),
        {"scope": "urn:example:everything"},
    ),
    Mistake(
        _("Another response type"),
        _("comes back as unsupported_response_type"),
        {"response_type": "id_token"},
    ),
    Mistake(
        _("A transaction without content"),
        _("comes back as invalid_transaction_data"),
        {"transaction_data": "e30"},
    ),
    Mistake(
        _("A redirect URI that is not registered"),
        _("never comes back: the person sees a page, nobody is redirected"),
        {"redirect_uri": "https://elsewhere.example/"},
    ),
)
