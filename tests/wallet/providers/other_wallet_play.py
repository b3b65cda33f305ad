"""The other side of the provider “another wallet”, once across devices and once on the same device."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from tests.wallet.browser_redirect_tasks import SECRET
from tests.wallet.providers.pids import (
    NORA_TYPES,
    OtherPersonsWallet,
    fetched,
    posted,
    status_server,
    world,
)
from tests.wallet.providers.plays import Call, Play
from wallet.models import IdentityVerification, Wallet
from wallet.sign_in import sessions

REVOKED = 5  # a place in the status list


def browser_of(attempt: IdentityVerification) -> Client:
    """The browser in which the person began, signed in."""
    client = Client()
    response = HttpResponse()
    wallet = Wallet.objects.get(id=attempt.wallet_id)
    sessions.start(RequestFactory().get("/"), response, wallet, now=timezone.now())
    client.cookies[settings.HOLDER_COOKIE_NAME] = response.cookies[settings.HOLDER_COOKIE_NAME].value
    client.cookies[settings.BROWSER_COOKIE_NAME] = SECRET
    return client


def link_on(page: Any) -> str:
    """The link that opens a wallet, on a page."""
    [link] = re.findall(r"openid4vp://[^\"<]*", page.content.decode())
    return unescape(link)


class OnThisDevice(Play):
    """The person opens the wallet by the link; the wallet answers and leads them back to the browser."""

    name = "wallet"
    kinds = frozenset({"verified", "refused", "not_here"})
    polled = False  # what the wallet answered counts only when the browser is back

    def __init__(self) -> None:
        self.settings = dict(world().settings)
        self.way_back = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        with status_server() as self.lists:
            self.lists.publish(revoked={REVOKED: 1})
            yield

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        self.way_back = self._answers(address, kind).get("redirect_uri", "")

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        fetched(Client(), link_on(self.browser.get(address)))

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        parts = urlsplit(self.way_back)
        return Call(f"{parts.path}?{parts.query}" if parts.query else parts.path)

    @contextmanager
    def down(self) -> Iterator[None]:
        """The list that says what is revoked cannot be had."""
        self.lists.status = 503
        yield
        self.lists.status = 200

    @contextmanager
    def slow(self) -> Iterator[None]:
        self.lists.pause = pause = Event()
        yield
        self.lists.pause = None
        pause.set()

    @contextmanager
    def lying(self) -> Iterator[None]:
        """The list is signed by somebody whom the operator does not know."""
        self.lists.body = world().stranger.signs("statuslist+jwt", {"sub": self.lists.uri}).encode()
        yield
        self.lists.publish(revoked={REVOKED: 1})

    def _answers(self, address: str, kind: str) -> dict[str, str]:
        """What this service replies to the wallet."""
        request = fetched(Client(), link_on(self.browser.get(address)))
        if kind == "not_here":
            call = posted(request, error="access_denied", state=request["state"])
        else:
            idx = REVOKED if kind == "refused" else 0
            status = {"status_list": {"idx": idx, "uri": self.lists.uri}}
            call = OtherPersonsWallet(plain={"status": status}).answer(request)
        reply = Client().post(call.path, call.body, content_type=call.headers["content-type"])
        assert reply.status_code == 200, reply
        said: dict[str, str] = reply.json()
        return said


class AcrossDevices(OnThisDevice):
    """The person types a name, scans the QR code with a wallet that says another one, and goes back.

    What the wallet answers decides at once. So the check is settled before the browser is back, and nothing
    that happens to the provider afterwards matters.
    """

    kinds = frozenset({"review", "not_here"})
    polled = True
    remote = False

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        self._types(address)
        self._answers(address, kind)

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        self._types(address)
        fetched(Client(), link_on(self.browser.get(address)))

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(reverse("wallet_identity_return", args=[attempt.id]))

    def _types(self, address: str) -> None:
        typed = {"device": "other", **NORA_TYPES, "family_name": "Somebody"}
        assert self.browser.post(address, typed).status_code == 303
