"""What machines call in the sandbox only: the holder for tests."""

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from presentation.endpoints import MachineView
from presentation.machine_errors import MachineError, MalformedRequestError, UnavailableError
from presentation.sandbox import holder
from presentation.sandbox.holder_call import HolderCall, HolderCallError
from wallet import browser
from wallet.limits import LimitReachedError


class TooManyCallsError(MachineError):
    """More calls than all tests of one machine should need."""

    error = "temporarily_unavailable"
    status = 429

    def __init__(self, *, retry_at: datetime, now: datetime) -> None:
        self.seconds = max(1, int((retry_at - now).total_seconds()))
        super().__init__(f"That was too often. Try again in {self.seconds} seconds.")

    def headers(self) -> dict[str, str]:
        """When to come again (RFC 9110 §10.2.3)."""
        return {"Retry-After": str(self.seconds)}


class AddressBusyError(UnavailableError):
    """Calls for one login_hint take turns, and this one's did not come."""

    def __init__(self) -> None:
        super().__init__()
        self.description = "Other calls for the same login_hint take too long. Use another for each test."


class HolderView(MachineView):
    """The person at the browser, for tests of relying applications."""

    content_type = "application/json"

    def post(self, request: Request) -> Response:
        """Goes through an authorization request and gives the redirect, or the page where it ends."""
        now = timezone.now()
        try:
            holder.CALLS_PER_CLIENT.take(browser.address(request._request), now=now)
            endpoint = settings.BASE_URL + reverse("authorize")
            call = HolderCall.from_json(self.body(request), endpoint=endpoint)
            parts = urlsplit(call.authorize_url)
            path = f"{parts.path}?{parts.query}"
            return Response(_said(holder.answer(path, persona=call.persona, decision=call.decision)))
        except HolderCallError as error:
            raise MalformedRequestError(str(error)) from error
        except LimitReachedError as limit:
            raise TooManyCallsError(retry_at=limit.retry_at, now=now) from limit
        except holder.BusyError as error:
            raise AddressBusyError from error


def _said(ending: holder.Ending) -> dict[str, Any]:
    if ending.redirect_to is not None:
        return {"redirect_to": ending.redirect_to}
    page = {"status": ending.status, "heading": ending.heading, "text": ending.text}
    return {"redirect_to": None, "page": page}


act_as_holder = HolderView.as_view()
