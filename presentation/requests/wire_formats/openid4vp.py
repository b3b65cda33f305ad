"""OpenID4VP 1.0, and the contract, whose `vp_token` is the SD-JWT VC itself."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from infra import strict_json
from infra.strict_json import StrictJsonError
from presentation.dcql import evaluation, parsing, queries
from presentation.dcql.queries import CredentialQuery, Query
from presentation.encryption import Recipient, recipient
from presentation.errors import (
    InvalidRequestError,
    InvalidScopeError,
    UnauthorizedClientError,
    VpFormatsNotSupportedError,
)
from presentation.issuer import issuer
from presentation.models import RelyingParty
from presentation.parameters import (
    CODE,
    DIRECT_POST_JWT,
    FRAGMENT,
    RESPONSE_MODES,
    VP_TOKEN,
    Parameters,
    space_delimited,
)
from presentation.relying_parties.metadata import public_keys
from presentation.requests.authorization_request import (
    CHANGE_REGISTRATION,
    AuthorizationRequest,
    check_countries,
    check_questions,
    check_response,
    checked_nonce,
    login_hint,
    offered,
    transaction_data,
    written,
)
from presentation.requests.wire_formats.wire_format import Answer, Presented, WireFormat
from presentation.scopes.records import ScopeRecord, Scopes
from wallet.credential import claims

FOR_OTHERS = "clients that are registered for OpenID Connect, and this one is not"


class OpenID4VP(WireFormat):
    """`vp_token` is a JSON object with the presentations of each credential query (OpenID4VP 1.0 §8.1)."""

    redirect_mode = FRAGMENT
    one_presentation = False  # whether an answer can hold no more

    def read_parameters(
        self, parameters: Parameters, party: RelyingParty, scopes: Scopes
    ) -> AuthorizationRequest:
        """The request, whose query is given by `scope` or `dcql_query`."""
        values = parameters.values
        check_response(values, VP_TOKEN, RESPONSE_MODES, other=(CODE, FOR_OTHERS))
        query = _query(values, party, scopes, one_presentation=self.one_presentation)
        check_formats(values.get("client_metadata"))
        return AuthorizationRequest(
            nonce=checked_nonce(values.get("nonce")),
            login_hint=login_hint(values.get("login_hint"), may_omit=party.may_omit_login_hint),
            query=query,
            scopes=tuple(space_delimited(values["scope"]) if "scope" in values else party.allowed_scopes),
            transaction_data=transaction_data(values, query, party),
            recipient=_recipient(values, party),
        )

    def answer(self, presented: Presented, *, now: datetime) -> Answer:
        """The presentation of several scopes answers several queries, and is under the id of each."""
        answered = zip(presented.selection.parts, presented.presentations, strict=True)
        by_query = {id: [presentation] for query_ids, presentation in answered for id in query_ids}
        return Answer({"vp_token": json.dumps(by_query, separators=(",", ":")), **issuer()})


class Contract(OpenID4VP):
    """`vp_token` is the SD-JWT VC itself."""

    one_presentation = True

    def answer(self, presented: Presented, *, now: datetime) -> Answer:
        """The one presentation, which `Query.only_one` has made sure of."""
        (presentation,) = presented.presentations
        return Answer({"vp_token": presentation})


def check_formats(client_metadata: str | None) -> None:
    """Raises VpFormatsNotSupportedError if the metadata lists formats or algorithms without ours.

    Before anybody is asked (OpenID4VP 1.0 §5.1, §8.5, Appendix B.3.4). What cannot be read lists nothing:
    only an answer that is encrypted needs the metadata, and `recipient` refuses it then.
    """
    try:
        metadata = strict_json.loads(client_metadata or "{}")
    except StrictJsonError:
        return
    formats = metadata.get("vp_formats_supported") if isinstance(metadata, dict) else None
    if not isinstance(formats, dict) or not formats:  # libraries send an empty object where they list nothing
        return
    if queries.FORMAT not in formats:
        raise VpFormatsNotSupportedError(f"vp_formats_supported of client_metadata lacks {queries.FORMAT}")
    for name, ours in queries.ALGORITHMS.items():
        theirs = formats[queries.FORMAT].get(name) if isinstance(formats[queries.FORMAT], dict) else None
        if isinstance(theirs, list) and not any(algorithm in theirs for algorithm in ours):
            raise VpFormatsNotSupportedError(f"{name} of client_metadata lacks {' and '.join(ours)}")


def _query(
    values: Mapping[str, str], party: RelyingParty, scopes: Scopes, *, one_presentation: bool
) -> Query:
    """The query, given by exactly one of `scope` and `dcql_query` (OpenID4VP 1.0 §5.1)."""
    scope, dcql_query = values.get("scope"), values.get("dcql_query")
    if scope is not None and dcql_query is not None:
        raise InvalidRequestError("scope and dcql_query must not be sent together")
    if dcql_query is not None:
        return _dcql_query(dcql_query, party, scopes, one_presentation=one_presentation)
    if scope is not None:
        urns = _asked_scopes(scope, party, scopes)
        queries_of_scopes = tuple(_of_scope(scopes[urn], party) for urn in urns)
        if len(queries_of_scopes) > 1:  # of one alone, `ScopeRecord` has checked it
            check_questions(queries_of_scopes)
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


def _dcql_query(text: str, party: RelyingParty, scopes: Scopes, *, one_presentation: bool) -> Query:
    query = parsing.parse(text)
    check_countries(query)
    if not query.in_our_format:
        raise VpFormatsNotSupportedError(f"dcql_query asks for no credential of the format {queries.FORMAT}")
    offer = offered(query)
    if unknown := evaluation.unknown_claim(query, offer):
        hint = "; a number in a path is a place in an array" if int in map(type, unknown) else ""
        raise InvalidRequestError(
            f"dcql_query asks for {written(unknown)}, which no credential here can have{hint}"
        )
    if one_presentation:
        in_one = replace(query, only_one=True)
        if len(query.in_our_format) > 1 and not evaluation.select_for_anyone(in_one, offer):
            helps = evaluation.select_for_anyone(query, offer)  # a query that nobody meets stays one
            other_format = f", or answer in the format OpenID4VP 1.0 ({CHANGE_REGISTRATION})" if helps else ""
            raise InvalidRequestError(
                "dcql_query needs several presentations, and vp_token of this client is one string: put all "
                f"claims into one credential query{other_format}"
            )
        query = in_one
    pointers = [claim.path for credential in query.in_our_format for claim in credential.claims]
    paths = {path for pointer in pointers for path in evaluation.covered(pointer, offer.claims)}
    allowed = party.claims_it_may_ask(scopes)
    if forbidden := sorted(path for path in paths if not claims.permitted(path, allowed)):
        names = ", ".join(".".join(path) for path in forbidden)
        raise UnauthorizedClientError(f"dcql_query asks for what the registration does not allow: {names}")
    check_questions(query.in_our_format)
    return query


def _asked_scopes(scope: str, party: RelyingParty, scopes: Scopes) -> list[str]:
    """The requested scopes, each once, in their order."""
    names = space_delimited(scope)
    if not names:
        raise InvalidScopeError("scope names no scope")
    for value in names:
        if value not in scopes:
            raise InvalidScopeError(f"scope {value} is unknown")
        if value not in party.allowed_scopes:
            raise InvalidScopeError(f"scope {value} is not allowed for this client")
    return names


def _recipient(values: Mapping[str, str], party: RelyingParty) -> Recipient | None:
    if values.get("response_mode") != DIRECT_POST_JWT:
        return None
    return recipient(values.get("client_metadata"), public_keys.for_encryption(party.jwks))
