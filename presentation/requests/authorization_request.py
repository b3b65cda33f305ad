"""The parsed authorization request (RFC 6749 §4.2.1 extended by OpenID4VP 1.0 §5), and what is read alike.

`wire_formats` read it, each in its own way. `client` proves the relying party and the return address before,
so every error here may be sent there.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from presentation.dcql import evaluation
from presentation.dcql.evaluation import Offer
from presentation.dcql.queries import CredentialQuery, PathPointer, Query, Value
from presentation.encryption import Recipient
from presentation.errors import (
    InvalidRequestError,
    UnsupportedResponseTypeError,
)
from presentation.models import RelyingParty
from presentation.openid_connect.translation import OpenIDRequest
from presentation.parameters import POSTED, SHORTEST_NONCE, VISIBLE, Parameters, spaces_explained
from presentation.transaction_data import entries
from presentation.transaction_data.entries import TransactionData
from wallet.credential import claims
from wallet.credential.countries import UNIONS, is_country
from wallet.credential.credentials import credential_type, plain_claims

# Who can change the format of a client's answers, for its developer.
CHANGE_REGISTRATION = "to change that, ask the operator, or in the sandbox set Form of the answer"
COUNTRY_CODES = "ISO 3166-1 alpha-2 codes of countries in capital letters"

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, repr=False)  # no repr: it would show the e-mail address in logs
class AuthorizationRequest:
    """A validated request. `transaction_data` keeps the strings exactly as received.

    scopes: those by which it was read. longest_since_sign_in: how long before the request the holder may have
    signed in; None if it does not matter. tells_sign_in_time: whether the answer says when that was.
    """

    nonce: str
    login_hint: str  # empty if it was left out; then any holder may answer
    query: Query
    scopes: tuple[str, ...]
    transaction_data: tuple[TransactionData, ...] = ()
    recipient: Recipient | None = None  # set if the answer is to be encrypted
    allows_no_page: bool = False
    longest_since_sign_in: timedelta | None = None
    tells_sign_in_time: bool = False
    needs_passkey: bool = False  # a sign-in by a code will not do
    # Of each, the holder's number to be recognised by must be one (OpenID Connect Core 1.0 §3.1.2.2).
    demanded_subjects: tuple[tuple[Value, ...], ...] = ()
    number_once: str = ""  # the name of a number in the answer that is another one each time
    openid: OpenIDRequest | None = None  # what only OpenID Connect asks, for its answer


def parameters_hash(parameters: Parameters) -> str:
    """SHA-256 (hex) over the parameters as received; binds a consent to this request."""
    return hashlib.sha256(_canonical(dict(parameters.values)).encode()).hexdigest()


def nonce_digest(nonce: str) -> str:
    """SHA-256 (hex) of a nonce, valid or not; stored to recognise a nonce that is used again."""
    return hashlib.sha256(nonce.encode(errors="replace")).hexdigest()


def by_web(uri: str) -> bool:
    """Whether a form of a page can be posted to this address; not to the scheme of an app."""
    return uri.startswith(("https://", "http://"))


def check_response(
    values: Mapping[str, str], response_type: str, modes: Collection[str], *, other: tuple[str, str]
) -> None:
    """Raises AuthorizationError for another response type or mode than the client's wire format has.

    other: a response type of other registrations, and which these are.
    """
    sent = values.get("response_type")
    if sent is None:
        raise InvalidRequestError("response_type is missing")
    if sent != response_type:
        other_type, others = other
        # No other registration has the rest, such as `id_token`, so it would lead nowhere.
        hint = f"; {other_type} is for {others} ({CHANGE_REGISTRATION})" if sent == other_type else ""
        raise UnsupportedResponseTypeError(f"response_type must be {response_type}{hint}")
    response_mode = values.get("response_mode")
    if response_mode not in (None, *modes):
        raise InvalidRequestError(f"response_mode must be {' or '.join(modes)}, or left out")
    if response_mode in POSTED and values.get("redirect_uri"):
        raise InvalidRequestError(f"redirect_uri must not be sent with response_mode {response_mode}")


def transaction_data(
    values: Mapping[str, str], query: Query, party: RelyingParty
) -> tuple[TransactionData, ...]:
    """The transaction data that is to be authorised; raises AuthorizationError."""
    if "transaction_data" not in values:
        return ()
    return entries.parse(
        values["transaction_data"],
        credential_ids=[
            credential_query.id for credential_query in query.credentials if credential_query.holder_binding
        ],
        allowed_types=party.allowed_transaction_data_types,
    )


def check_questions(credential_queries: Iterable[CredentialQuery]) -> None:
    """Raises InvalidRequestError if the answers to too many questions of one family would be requested."""
    pointers = {claim.path for credential_query in credential_queries for claim in credential_query.asked_for}
    for family in claims.FAMILIES:
        of_family = (pointer for pointer in pointers if pointer[0] == family)
        paths = {path for one in of_family for path in evaluation.covered(one, claims.CLAIMS) or [one]}
        if len(paths) > claims.MOST_QUESTIONS:
            raise InvalidRequestError(f"a request may ask for at most {claims.MOST_QUESTIONS} of {family}")


def check_countries(query: Query) -> None:
    """Raises InvalidRequestError if the query asks about a country by a code that is none.

    It would read as a question whose answer is no. The error names the path, and repeats no value.
    """
    ours = (credential_query for credential_query in query.in_our_format if _may_be_ours(credential_query))
    for claim in (claim for credential_query in ours for claim in credential_query.asked_for):
        name = written(claim.path)
        if claims.asks_for_no_country(claim.path):
            codes = f"{COUNTRY_CODES}, or {', '.join(UNIONS)}"
            raise InvalidRequestError(f"dcql_query asks for {name}, which names no country: it takes {codes}")
        if claims.says_a_country(claim.path) and not all(map(is_country, claim.values)):
            raise InvalidRequestError(f"the values of {name} must be {COUNTRY_CODES}")


def _may_be_ours(credential_query: CredentialQuery) -> bool:
    """Whether the query accepts credentials of our type; claims of others may have other codes."""
    return credential_query.vct_values is None or credential_type() in credential_query.vct_values


def written(path: PathPointer) -> str:
    """The path with dots; "*" stands for every element of an array."""
    return ".".join("*" if element is None else str(element) for element in path)


def offered(query: Query, authorities: Collection[str] | None = None) -> Offer:
    """The most that any holder could present for the query: all claims, and the answers to its questions.

    authorities: the key ids of ours; every one that the query names without it.
    """
    if authorities is None:
        authorities = {
            key_id
            for credential_query in query.credentials
            for key_id in credential_query.authority_key_ids or ()
        }
    requested_paths = (
        claim.path for credential_query in query.in_our_format for claim in credential_query.asked_for
    )
    questions = [claims.claim(path).path for path in requested_paths if claims.is_question(path)]
    paths = tuple(dict.fromkeys((*claims.CLAIMS, *questions)))
    # Ages are there for all whose day of birth is known, which `next_step` looks at once for all of them.
    optional = [path for path in paths if claims.claim(path).optional and not claims.is_age(path)]
    return Offer(
        credential_type(), authorities, paths, plain_claims(), optional, claims.ARRAYS, claims.OBJECTS
    )


def checked_nonce(nonce: str | None) -> str:
    """The nonce, if it can be bound; raises InvalidRequestError."""
    if nonce is None:
        raise InvalidRequestError("nonce is missing")
    if len(nonce) < SHORTEST_NONCE:
        raise InvalidRequestError(f"nonce must have at least {SHORTEST_NONCE} characters")
    if not VISIBLE.fullmatch(nonce):
        raise InvalidRequestError(f"nonce must consist of visible ASCII characters{spaces_explained(nonce)}")
    return nonce


def login_hint(login_hint: str | None, *, may_omit: bool) -> str:
    """The e-mail address as wallets store it: in lower case, international domains in their ASCII form.

    Empty if it was left out and may be. Raises InvalidRequestError.
    """
    if login_hint is None and may_omit:
        return ""
    if login_hint is None:
        raise InvalidRequestError("login_hint is missing")
    try:
        return email_addresses.parse(login_hint, localhost=settings.LOCALHOST_EMAIL_ADDRESSES)
    except EmailAddressError:
        raise InvalidRequestError(
            f"login_hint must be an e-mail address{spaces_explained(login_hint)}"
        ) from None
