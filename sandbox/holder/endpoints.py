"""The endpoint of the holder for tests, `/sandbox/holder`."""

from http import HTTPStatus

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from infra import browser
from infra.again import SHORTLY
from infra.waiting import NoThreadFreeError
from presentation.endpoints import MachineView
from presentation.machine_errors import UnavailableError
from sandbox.holder import driving as holder
from sandbox.holder.call import HolderCall

ANOTHER_WAITS = "Another call is already waiting. Nothing was answered; send the same call again."


class HolderView(MachineView):
    """Acts as the person with the browser, for tests of relying applications."""

    content_type = "application/json"

    def post(self, request: Request) -> Response:
        """Goes through an authorization request; returns the last redirect or the page where it ends."""
        client = browser.address(self.as_received)
        holder.CALLS_PER_CLIENT.take(client, now=timezone.now())
        try:
            endpoint = settings.BASE_URL + reverse("authorize")
            call = HolderCall.from_json(self.body(), endpoint=endpoint)
            ending = holder.answer(call, client=client)
        except NoThreadFreeError as error:
            raise UnavailableError(ANOTHER_WAITS, seconds=1) from error
        if ending.get("page", {}).get("status") == HTTPStatus.SERVICE_UNAVAILABLE:
            # A page on the way could not reach the database.
            raise UnavailableError(seconds=SHORTLY)
        return Response(ending)


act_as_holder = HolderView.as_view()
