"""Endpoints for machines: token (RFC 6749 §3.2), pushed requests (RFC 9126), verification, outcome.

All of them answer JSON, also for errors.
"""

import re
from typing import Any

import structlog
from django.http import HttpRequest, UnreadablePostError
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from infra import browser, cross_origin
from infra.again import SHORTLY
from infra.database.outages import means_away
from infra.limits import LimitReachedError
from infra.served import noting, reference_of
from presentation import outcomes, verification
from presentation.entrances import pushing
from presentation.entrances.context import ExchangeContext, PushContext
from presentation.entrances.stages import EXCHANGE, PUSH, go_through
from presentation.errors import RefusedRequest, UntrustedRequestError
from presentation.evidence import EvidenceError
from presentation.machine_errors import (
    MachineError,
    OurFaultError,
    TooOftenError,
    UnavailableError,
)
from presentation.parameters import Parameters
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.authentication.bearer import BearerAuthentication, HasGrant, only_token
from presentation.relying_parties.metadata.grants import READ, VERIFY
from presentation.requests.client import usable
from presentation.requests.receiving import posted_form
from presentation.requests.wire_formats import codes

log = structlog.get_logger(__name__)

# A longer number is too large in any case, and int() refuses thousands of digits.
_LENGTH = re.compile("[0-9]{1,9}")


class MachineView(APIView):
    """The base of the endpoints for machines: limits for bodies, and errors as JSON."""

    # No OPTIONS, because its answer has the name and docstring of the view.
    http_method_names = ["get", "head", "post"]
    longest_body = 16_384
    content_type = "application/x-www-form-urlencoded"
    as_received: HttpRequest  # the request as Django has it; `request` is that of REST framework

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Keeps the request, which REST framework wraps."""
        super().setup(request, *args, **kwargs)
        self.as_received = request

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Ignores `Accept`, because JSON is the only format and libraries send arbitrary values."""
        (renderer,) = self.get_renderers()
        return renderer, renderer.media_type

    def body(self) -> bytes:
        """The body; raises MachineError if it is too long, incomplete, or of another content type."""
        received = self.as_received
        if received.META.get("HTTP_TRANSFER_ENCODING"):  # Django would read an empty body
            raise MachineError("The body must come in one piece, with Content-Length.", status=411)
        length = received.META.get("CONTENT_LENGTH") or "0"
        if not _LENGTH.fullmatch(length) or int(length) > self.longest_body:
            raise MachineError(f"The body must have at most {self.longest_body} bytes.", status=413)
        if received.content_type != self.content_type:
            raise MachineError(f"The body must be {self.content_type}.")
        if received.META.get("QUERY_STRING"):
            raise MachineError("Parameters belong into the body, not into the address.")
        try:
            return received.body
        except UnreadablePostError:
            raise MachineError("The body ended before its Content-Length.") from None

    def form(self) -> dict[str, str]:
        """The parameters of the posted form; raises MachineError."""
        return posted_form.read(self.body())

    def handle_exception(self, exc: Exception) -> Response:
        """The error as JSON with the members of OAuth (RFC 6749 §5.2); an unexpected one is logged."""
        if isinstance(exc, APIException):
            response = super().handle_exception(exc)
            response.data = MachineError(str(exc.detail)).as_members()
            return response
        if isinstance(exc, LimitReachedError):
            exc = TooOftenError(retry_at=exc.retry_at, now=timezone.now())
        error = exc if isinstance(exc, MachineError) else self._our_fault(exc)
        if error.for_developer:
            noting(self.as_received, RefusedRequest).refused_with = error
        return Response(error.as_members(), status=error.status, headers=error.headers())

    def _our_fault(self, exc: Exception) -> MachineError:
        log.exception("machine_request_failed")
        if means_away(exc):
            return UnavailableError(seconds=SHORTLY)
        return OurFaultError(reference_of(self.as_received))

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Forbids caches to store any answer (RFC 6749 §5.1)."""
        return {**super().default_response_headers, "Cache-Control": "no-store", "Pragma": "no-cache"}


class TokenView(MachineView):
    """Access tokens for relying parties by client credentials, and the tokens of OpenID Connect by a code."""

    def post(self, request: Request) -> Response:
        """Issues an access token (RFC 6749 §4.4.2), or exchanges a code (§4.1.3)."""
        form, now = self.form(), timezone.now()
        authorization, address = request.headers.get("Authorization", ""), browser.address(self.as_received)
        if form.get("grant_type") != codes.GRANT_TYPE:
            return Response(access_tokens.grant(form, authorization, network_address=address, now=now))
        context = ExchangeContext(form=form, authorization=authorization, network_address=address, now=now)
        return Response(go_through(EXCHANGE, context))


class PushView(MachineView):
    """Authorization requests that relying parties push before they redirect the browser."""

    longest_body = 131_072  # the longest parameters, percent-encoded

    def post(self, request: Request) -> Response:
        """Stores the request and returns its handle (RFC 9126 §2.2)."""
        context = PushContext(
            form=self.form(),
            authorization=request.headers.get("Authorization", ""),
            network_address=browser.address(self.as_received),
            now=timezone.now(),
        )
        try:
            return Response(go_through(PUSH, context), status=201)
        except pushing.REFUSALS as refusal:
            raise pushing.as_json(refusal) from refusal


class VerifyView(MachineView):
    """Verification of a presentation for the relying party that received it."""

    authentication_classes = (BearerAuthentication,)
    permission_classes = (HasGrant,)
    grant = VERIFY
    longest_body = verification.LONGEST
    content_type = "application/json"

    def post(self, request: Request) -> Response:
        """Returns whether the presentation is valid, each check, and the disclosed claims."""
        access: Any = request.user
        try:
            verification_request = verification.parse(self.body())
            answer = verification.verify(verification_request, client_id=access.client_id, now=timezone.now())
        except EvidenceError as error:
            log.error("evidence_not_made", why=str(error))
            raise UnavailableError(seconds=SHORTLY) from error
        return Response(answer)


class OutcomeView(MachineView):
    """The outcome of a request, for the relying party that made it."""

    authentication_classes = (BearerAuthentication,)
    permission_classes = (HasGrant,)
    grant = READ

    def get(self, request: Request) -> Response:
        """Returns the state of the request with this nonce."""
        access: Any = request.user
        try:
            parameters = Parameters.from_query(request.META.get("QUERY_STRING", ""))
            nonce = usable(parameters, "nonce")
        except UntrustedRequestError as error:
            raise MachineError(error.hint) from error
        return Response(outcomes.outcome_of(nonce, client_id=access.client_id, now=timezone.now()))


class UserInfoView(MachineView):
    """UserInfo (OpenID Connect Core 1.0 §5.3), for the relying party that exchanged a code.

    The only endpoint for machines that scripts of other sites may call (§5.3): all others need a secret of
    the relying party, which belongs into no browser. A script shows an access token, and no cookie counts.
    """

    http_method_names = ["get", "head", "post", "options"]

    def get(self, request: Request) -> Response:
        """Returns the claims that were asked for there. A POST may have the token in its body."""
        received = self.as_received
        token = only_token(
            request.headers.get("Authorization", ""),
            query=received.META.get("QUERY_STRING", ""),
            form=self.form() if received.content_type == self.content_type else None,
        )
        address = browser.address(received)
        return Response(codes.user_info(token, network_address=address, now=timezone.now()))

    post = get

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """The answer to a preflight."""
        return Response(status=204, headers=cross_origin.preflight(", ".join(self.allowed_methods)))

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Scripts may read every answer, and also why a token is refused (RFC 6750 §3)."""
        exposed = {"Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After"}
        return {**super().default_response_headers, **cross_origin.READABLE, **exposed}


token = TokenView.as_view()
user_info = UserInfoView.as_view()
push = PushView.as_view()
verify = VerifyView.as_view()
outcome = OutcomeView.as_view()
