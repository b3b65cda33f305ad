"""What machines call in the sandbox only: the holder for tests."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from infra import browser
from infra.again import SHORTLY
from presentation.endpoints import MachineView
from presentation.machine_errors import MalformedRequestError, UnavailableError
from sandbox.holder import driving as holder
from sandbox.holder.call import HolderCall, HolderCallError


class AddressBusyError(UnavailableError):
    """Calls for one login_hint take turns, and this one's did not come."""

    def __init__(self) -> None:
        super().__init__(seconds=1)
        self.description = "Other calls for the same login_hint take too long. Use another for each test."


class ThreadsBusyError(UnavailableError):
    """This call would have to wait, and one thread of a process at most waits for calls like it."""

    def __init__(self) -> None:
        super().__init__(seconds=1)
        self.description = "Another call is already waiting. Nothing was answered; send the same call again."


class HolderView(MachineView):
    """The person at the browser, for tests of relying applications."""

    content_type = "application/json"

    def post(self, request: Request) -> Response:
        """Goes through an authorization request and gives the redirect, or the page where it ends."""
        client = browser.address(request._request)
        holder.CALLS_PER_CLIENT.take(client, now=timezone.now())
        try:
            endpoint = settings.BASE_URL + reverse("authorize")
            call = HolderCall.from_json(self.body(request), endpoint=endpoint)
            parts = urlsplit(call.authorize_url)
            path = f"{parts.path}?{parts.query}"
            ending = holder.answer(path, persona=call.persona, decision=call.decision, client=client)
        except HolderCallError as error:
            raise MalformedRequestError(str(error)) from error
        except holder.AnotherWaitsError as error:
            raise ThreadsBusyError from error
        except holder.BusyError as error:
            raise AddressBusyError from error
        if ending.status == HTTPStatus.SERVICE_UNAVAILABLE:  # a page on the way met a database that is away
            raise UnavailableError(seconds=SHORTLY)
        return Response(_said(ending))


def _said(ending: holder.Ending) -> dict[str, Any]:
    if ending.redirect_to is not None:
        return {"redirect_to": ending.redirect_to}
    page = {"status": ending.status, "heading": ending.heading, "text": ending.text}
    return {"redirect_to": None, "page": page}


act_as_holder = HolderView.as_view()
