"""OpenID Connect: the answer is a code, which the relying party exchanges for tokens and the presentation."""

import secrets
from contextlib import suppress
from datetime import datetime

from infra import log_context
from presentation.errors import InvalidRequestError, ServerError
from presentation.issuer import issuer
from presentation.models import RelyingParty
from presentation.openid_connect import translation
from presentation.parameters import CODE, FORM_POST, QUERY, VP_TOKEN, Parameters
from presentation.requests.authorization_request import (
    AuthorizationRequest,
    by_web,
    check_countries,
    check_questions,
    check_response,
    checked_nonce,
    login_hint,
    transaction_data,
)
from presentation.requests.wire_formats import codes
from presentation.requests.wire_formats.wire_format import Answer, NewCode, Presented, WireFormat
from presentation.scopes.records import Scopes

FOR_OTHERS = "clients that are not registered for OpenID Connect, as this one is"


class OpenIDConnect(WireFormat):
    """The code flow (OpenID Connect Core 1.0 §3.1)."""

    redirect_mode = QUERY
    collected = True
    takes_posts = True

    def read_parameters(
        self, parameters: Parameters, party: RelyingParty, scopes: Scopes
    ) -> AuthorizationRequest:
        """The request, translated into the query that every request has."""
        values = parameters.values
        check_response(values, CODE, (QUERY, FORM_POST), other=(VP_TOKEN, FOR_OTHERS))
        if values.get("response_mode") == FORM_POST and not by_web(values.get("redirect_uri", "")):
            raise InvalidRequestError("response_mode form_post needs a redirect_uri of https or http")
        openid, query = translation.read(
            values,
            known_scopes=scopes,
            allowed_scopes=party.allowed_scopes,
            allowed_claims=party.claims_it_may_ask(scopes),
            nonce_may_replace_pkce=party.pkce_or_nonce,
        )
        check_questions(query.credentials)
        check_countries(query)
        if openid.left_out:
            log_context.bind(left_out=", ".join(openid.left_out)[:200])
        hint = ""
        with suppress(InvalidRequestError):  # any text may be a hint; only an e-mail address means somebody
            hint = login_hint(values.get("login_hint"), may_omit=True)
        return AuthorizationRequest(
            nonce=checked_nonce(parameters.nonce),
            login_hint=hint,
            query=query,
            scopes=tuple(party.allowed_scopes),
            transaction_data=transaction_data(values, query, party),
            allows_no_page=openid.allows_no_page,
            longest_since_sign_in=openid.longest_since_sign_in,
            tells_sign_in_time=openid.wants_auth_time,
            needs_passkey=openid.needs_passkey,
            demanded_subjects=openid.demanded_subjects,
            number_once="sub",
            openid=openid,
        )

    def answer(self, presented: Presented, *, now: datetime) -> Answer:
        """The code, behind which the presentation waits."""
        (presentation,) = presented.presentations
        if presented.session is None:
            raise ServerError
        code, row = codes.make(
            presented.interaction,
            presented.request,
            presentation,
            subject=presented.subject or secrets.token_urlsafe(32),
            session=presented.session,
            now=now,
        )
        until = row.expires_at + codes.EXCHANGE_TAKES
        return Answer({"code": code, **issuer()}, NewCode(row, until))
