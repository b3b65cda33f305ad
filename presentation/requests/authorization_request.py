"""The parsed authorization request (RFC 6749 §4.2.1 extended by OpenID4VP 1.0 §5).

`client` proves the relying party and the return address before, so every error here may be sent there.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from django.conf import settings

from infra import email_addresses, log_context
from infra.email_addresses import EmailAddressError
from presentation.dcql import evaluation, parsing, queries
from presentation.dcql.evaluation import Offer
from presentation.dcql.queries import CredentialQuery, PathPointer, Query
from presentation.errors import (
    InvalidRequestError,
    InvalidScopeError,
    UnauthorizedClientError,
    UnsupportedResponseTypeError,
    VpFormatsNotSupportedError,
)
from presentation.models import RelyingParty
from presentation.openid_connect import translation
from presentation.openid_connect.translation import SHORTEST_NONCE, VISIBLE, OpenIDRequest
from presentation.relying_parties.metadata import public_keys
from presentation.relying_parties.models.relying_parties import OPENID_CONNECT
from presentation.requests.encryption import Recipient, recipient
from presentation.requests.parameters import CODE, DIRECT_POST_JWT, POSTED, QUERY, RESPONSE_MODES, Parameters
from presentation.scopes.records import ScopeRecord, Scopes
from presentation.transaction_data import entries
from presentation.transaction_data.entries import TransactionData
from wallet.credential import claims
from wallet.credential.countries import UNIONS, is_country
from wallet.credential.credentials import credential_type, plain_claims

RESPONSE_TYPE = "vp_token"
COUNTRY_CODES = "ISO 3166-1 alpha-2 codes of countries in capital letters"

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, repr=False)  # no repr: it would show the e-mail address in logs
class AuthorizationRequest:
    """A validated request. `transaction_data` keeps the strings exactly as received."""

    nonce: str
    state: str | None
    login_hint: str  # empty if it was left out; then any holder may answer
    query: Query
    transaction_data: tuple[TransactionData, ...] = ()
    recipient: Recipient | None = None  # set if the answer is to be encrypted
    openid: OpenIDRequest | None = None  # set if the answer is a code


def parse(parameters: Parameters, party: RelyingParty, scopes: Scopes) -> AuthorizationRequest:
    """The request in the parameters; raises the AuthorizationError of the first rule that it breaks.

    party: whose registration says what it may ask for. scopes: what scopes mean.
    """
    if problem := parameters.first_problem():
        raise InvalidRequestError(problem)
    values = parameters.values
    if values.get("request_uri_method"):
        raise InvalidRequestError("request_uri_method must not be sent without request_uri")
    openid_connect = party.wire_format == OPENID_CONNECT
    _check_response(values, openid_connect=openid_connect)
    if openid_connect:
        return _of_openid_connect(values, party, scopes)
    query = _query(values, party, scopes)
    nonce = _nonce(values.get("nonce"))
    login_hint = _login_hint(values.get("login_hint"), may_omit=party.may_omit_login_hint)
    return AuthorizationRequest(
        nonce=nonce,
        state=values.get("state"),
        login_hint=login_hint,
        query=query,
        transaction_data=_transaction_data(values, query, party),
        recipient=_recipient(values, party),
    )


def _of_openid_connect(
    values: Mapping[str, str], party: RelyingParty, scopes: Scopes
) -> AuthorizationRequest:
    openid, query = translation.read(
        values,
        known_scopes=scopes,
        allowed_scopes=party.allowed_scopes,
        allowed_claims=party.claims_it_may_ask(scopes),
    )
    _check_questions(query.credentials)
    _check_countries(query)
    if openid.left_out:
        log_context.bind(left_out=", ".join(openid.left_out)[:200])
    login_hint = ""
    with suppress(InvalidRequestError):  # any text may be a hint; only an e-mail address means somebody here
        login_hint = _login_hint(values.get("login_hint"), may_omit=True)
    return AuthorizationRequest(
        nonce=_nonce(translation.key_binding_nonce(values)),
        state=values.get("state"),
        login_hint=login_hint,
        query=query,
        transaction_data=_transaction_data(values, query, party),
        openid=openid,
    )


def parameters_hash(parameters: Parameters) -> str:
    """SHA-256 (hex) over the parameters as received; binds a consent to this request."""
    return hashlib.sha256(_canonical(dict(parameters.values)).encode()).hexdigest()


def nonce_digest(nonce: str) -> str:
    """SHA-256 (hex) of a nonce, valid or not; stored to recognise a nonce that is used again."""
    return hashlib.sha256(nonce.encode(errors="replace")).hexdigest()


def _check_response(values: Mapping[str, str], *, openid_connect: bool) -> None:
    wanted = CODE if openid_connect else RESPONSE_TYPE
    modes = (QUERY,) if openid_connect else RESPONSE_MODES
    response_type = values.get("response_type")
    if response_type is None:
        raise InvalidRequestError("response_type is missing")
    if response_type != wanted:
        raise UnsupportedResponseTypeError(f"response_type must be {wanted}")
    response_mode = values.get("response_mode")
    if response_mode not in (None, *modes):
        raise InvalidRequestError(f"response_mode must be {' or '.join(modes)}, or left out")
    if response_mode in POSTED and values.get("redirect_uri"):
        raise InvalidRequestError(f"redirect_uri must not be sent with response_mode {response_mode}")


def _transaction_data(
    values: Mapping[str, str], query: Query, party: RelyingParty
) -> tuple[TransactionData, ...]:
    if "transaction_data" not in values:
        return ()
    return entries.parse(
        values["transaction_data"],
        credential_ids=[asked.id for asked in query.credentials if asked.holder_binding],
        allowed_types=party.allowed_transaction_data_types,
    )


def _recipient(values: Mapping[str, str], party: RelyingParty) -> Recipient | None:
    if values.get("response_mode") != DIRECT_POST_JWT:
        return None
    return recipient(values.get("client_metadata"), public_keys.for_encryption(party.jwks))


def _query(values: Mapping[str, str], party: RelyingParty, scopes: Scopes) -> Query:
    """The query, given by exactly one of `scope` and `dcql_query` (OpenID4VP 1.0 §5.1)."""
    scope, dcql_query = values.get("scope"), values.get("dcql_query")
    if scope is not None and dcql_query is not None:
        raise InvalidRequestError("scope and dcql_query must not be sent together")
    if dcql_query is not None:
        return _dcql_query(dcql_query, party, scopes)
    if scope is not None:
        queries_of_scopes = tuple(_of_scope(scopes[urn], party) for urn in _scopes(scope, party, scopes))
        if len(queries_of_scopes) > 1:  # of one alone, `ScopeRecord` has checked it
            _check_questions(queries_of_scopes)
        return Query(queries_of_scopes, in_one=True)
    raise InvalidScopeError("scope or dcql_query is required")


def _of_scope(scope: ScopeRecord, party: RelyingParty) -> CredentialQuery:
    """The query of a scope, without what is optional in it and not allowed for this client."""
    (name,) = claims.SUBJECT
    if party.may_recognise or name not in (*scope.required, *scope.optional):
        return scope.query
    if name in scope.required:
        raise UnauthorizedClientError(f"the registration does not allow {name} of scope {scope.urn}")
    optional = tuple(claim for claim in scope.query.optional if claim.path != claims.SUBJECT)
    return replace(scope.query, optional=optional)


def _dcql_query(text: str, party: RelyingParty, scopes: Scopes) -> Query:
    query = parsing.parse(text)
    _check_countries(query)
    if not query.in_our_format:
        raise VpFormatsNotSupportedError(f"dcql_query asks for no credential of the format {queries.FORMAT}")
    offer = offered(query)
    if unknown := evaluation.unknown_claim(query, offer):
        hint = "; a number in a path is a place in an array" if int in map(type, unknown) else ""
        raise InvalidRequestError(
            f"dcql_query asks for {_written(unknown)}, which no credential here can have{hint}"
        )
    if party.wire_format == RelyingParty.WireFormat.STRING:
        query = replace(query, only_one=True)
        if len(query.in_our_format) > 1 and not evaluation.select_for_anyone(query, offer):
            raise InvalidRequestError(
                "dcql_query needs several presentations, and vp_token of this client is one string: put all "
                "claims into one credential query, or have its wire format set to OpenID4VP 1.0"
            )
    pointers = [claim.path for credential in query.in_our_format for claim in credential.claims]
    asked = {path for pointer in pointers for path in evaluation.covered(pointer, offer.claims)}
    allowed = party.claims_it_may_ask(scopes)
    if forbidden := sorted(path for path in asked if not claims.permitted(path, allowed)):
        names = ", ".join(".".join(path) for path in forbidden)
        raise UnauthorizedClientError(f"dcql_query asks for what the registration does not allow: {names}")
    _check_questions(query.in_our_format)
    return query


def _check_questions(asked: Iterable[CredentialQuery]) -> None:
    """Raises InvalidRequestError if the answers to too many questions of one family would be requested."""
    pointers = {claim.path for each in asked for claim in (*each.claims, *each.optional)}
    for family in claims.FAMILIES:
        of_family = (pointer for pointer in pointers if pointer[0] == family)
        paths = {path for one in of_family for path in evaluation.covered(one, claims.CLAIMS) or [one]}
        if len(paths) > claims.MOST_QUESTIONS:
            raise InvalidRequestError(f"a request may ask for at most {claims.MOST_QUESTIONS} of {family}")


def _check_countries(query: Query) -> None:
    """Raises InvalidRequestError if the query asks about a country by a code that is none.

    It would read as a question whose answer is no. The error names the path, and repeats no value.
    """
    ours = (each for each in query.in_our_format if _may_be_ours(each))
    for claim in (claim for each in ours for claim in (*each.claims, *each.optional)):
        name = _written(claim.path)
        if claims.asks_for_no_country(claim.path):
            codes = f"{COUNTRY_CODES}, or {', '.join(UNIONS)}"
            raise InvalidRequestError(f"dcql_query asks for {name}, which names no country: it takes {codes}")
        if claims.says_a_country(claim.path) and not all(map(is_country, claim.values)):
            raise InvalidRequestError(f"the values of {name} must be {COUNTRY_CODES}")


def _may_be_ours(asked: CredentialQuery) -> bool:
    """Whether the query accepts credentials of our type; claims of others may have other codes."""
    return asked.vct_values is None or credential_type() in asked.vct_values


def _written(path: PathPointer) -> str:
    """The path with dots; "*" stands for every element of an array."""
    return ".".join("*" if element is None else str(element) for element in path)


def offered(query: Query, authorities: Collection[str] | None = None) -> Offer:
    """The most that any holder could present for the query: all claims, and the answers to its questions.

    authorities: the key ids of ours; every one that the query names without it.
    """
    if authorities is None:
        authorities = {each for asked in query.credentials for each in asked.authority_key_ids or ()}
    asked = (claim.path for each in query.in_our_format for claim in (*each.claims, *each.optional))
    questions = [claims.claim(path).path for path in asked if claims.is_question(path)]
    paths = tuple(dict.fromkeys((*claims.CLAIMS, *questions)))
    # Ages are there for all whose day of birth is known, which `next_step` looks at once for all of them.
    optional = [path for path in paths if claims.claim(path).optional and not claims.is_age(path)]
    return Offer(
        credential_type(), authorities, paths, plain_claims(), optional, claims.ARRAYS, claims.OBJECTS
    )


def _scopes(scope: str, party: RelyingParty, scopes: Scopes) -> list[str]:
    """The requested scopes, each once, in their order."""
    asked = scope.split(" ")
    for value in asked:
        if not value:
            raise InvalidScopeError("scope must be scope names with one space between them")
        if value not in scopes:
            raise InvalidScopeError(f"scope {value} is unknown")
        if value not in party.allowed_scopes:
            raise InvalidScopeError(f"scope {value} is not allowed for this client")
    return list(dict.fromkeys(asked))


def _nonce(nonce: str | None) -> str:
    if nonce is None:
        raise InvalidRequestError("nonce is missing")
    if len(nonce) < SHORTEST_NONCE:
        raise InvalidRequestError(f"nonce must have at least {SHORTEST_NONCE} characters")
    if not VISIBLE.fullmatch(nonce):
        raise InvalidRequestError("nonce must consist of visible ASCII characters")
    return nonce


def _login_hint(login_hint: str | None, *, may_omit: bool) -> str:
    """The e-mail address as wallets store it: in lower case, international domains in their ASCII form.

    Empty if it was left out and may be.
    """
    if login_hint is None and may_omit:
        return ""
    if login_hint is None:
        raise InvalidRequestError("login_hint is missing")
    try:
        return email_addresses.parse(login_hint, localhost=settings.LOCALHOST_EMAIL_ADDRESSES)
    except EmailAddressError:
        raise InvalidRequestError("login_hint must be an e-mail address") from None
