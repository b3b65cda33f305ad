"""What machines call in the sandbox only: the holder for tests."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from presentation.sandbox import holder
from presentation.sandbox.holder_call import HolderCall, HolderCallError
from wallet import browser
from wallet.limits import LimitReachedError

LONGEST_BODY = 16_384


@api_view(["POST"])
def act_as_holder(request: Request) -> Response:
    """Be the person at the browser: go through an authorization request, decide, and give the redirect."""
    now = timezone.now()
    try:
        holder.CALLS_PER_CLIENT.take(browser.address(request._request), now=now)
        call = HolderCall.from_json(
            _body(request._request), endpoint=settings.BASE_URL + reverse("authorize")
        )
        parts = urlsplit(call.authorize_url)
        ending = holder.answer(f"{parts.path}?{parts.query}", persona=call.persona, decision=call.decision)
    except HolderCallError as error:
        return _refused(400, "invalid_request", str(error))
    except LimitReachedError as limit:
        wait = max(1, int((limit.retry_at - now).total_seconds()))
        return _refused(429, "too_many_requests", f"That was too often. Try again in {wait} seconds.", wait)
    except holder.BusyError:
        said = (
            "Other calls for the same login_hint are still at work. Use an address of its own for each test."
        )
        return _refused(503, "temporarily_unavailable", said, 5)
    if ending.redirect_to is not None:
        return _answered({"redirect_to": ending.redirect_to})
    page = {"status": ending.status, "heading": ending.heading, "text": ending.text}
    return _answered({"redirect_to": None, "page": page})


def _body(request: HttpRequest) -> bytes:
    if request.content_type != "application/json":
        raise HolderCallError("The body must be application/json.")
    body = request.read(LONGEST_BODY + 1)
    if len(body) > LONGEST_BODY:
        raise HolderCallError(f"The body may have {LONGEST_BODY} bytes.")
    return body


def _answered(members: dict[str, Any]) -> Response:
    return Response(members, headers={"Cache-Control": "no-store"})


def _refused(status: int, error: str, description: str, retry_after: int | None = None) -> Response:
    headers = {"Cache-Control": "no-store"} | ({"Retry-After": str(retry_after)} if retry_after else {})
    return Response({"error": error, "error_description": description}, status=status, headers=headers)
