"""The other side of the provider “another wallet”, once across devices and once on the same device."""

import atexit
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from html import unescape
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from tests.wallet.conftest import SECRET
from tests.wallet.providers.pids import (
    NORA_TYPES,
    OtherPersonsWallet,
    StatusServer,
    encrypted,
    fetched,
    posted,
    status_server,
    world,
)
from tests.wallet.providers.plays import Call, Play
from wallet import sessions
from wallet.models import IdentityVerification, Wallet

REVOKED = 5  # a place in the status list


@cache
def lists() -> StatusServer:
    """What the PIDs in these plays point to, as long as the tests run."""
    held = ExitStack()
    atexit.register(held.close)
    server = held.enter_context(status_server())
    server.publish(revoked={REVOKED: 1})
    return server


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


class AcrossDevices(Play):
    """The person types who they are, scans the QR code, and goes back to the first device by themselves."""

    name = "wallet"
    kinds = frozenset({"verified", "review", "refused", "not_here"})
    polled = False  # without the wallet's message nobody knows anything
    calls_back = True

    def __init__(self) -> None:
        self.settings = dict(world().settings)
        self.request: dict[str, Any] = {}
        self.answer: Call | None = None

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        typed = NORA_TYPES | ({"family_name": "Somebody"} if kind == "review" else {})
        self._asked(attempt, address, {"device": "other", **typed})
        self.answer = self._answer_of(kind)

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        self._asked(attempt, address, {"device": "other", **NORA_TYPES})

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(f"/wallet/identity/{attempt.id}/return/")

    def callback(self, attempt: IdentityVerification) -> Call:
        assert self.answer is not None
        return self.answer

    def forgeries(self, attempt: IdentityVerification) -> Iterator[Call]:
        wallet, request = OtherPersonsWallet(), self.request
        yield wallet.answer({**request, "client_id": "x509_hash:else"})
        yield wallet.answer({**request, "nonce": "another"})
        yield wallet.answer({**request, "state": "another"})
        yield wallet.answer({**request, "response_uri": request["response_uri"] + "x"})
        yield posted(request, response=encrypted(request, {"vp_token": {"pid": []}}))
        yield posted(request, response="a.b.c.d.e")
        yield posted(request, error="access_denied", state="another")
        yield posted(request)

    @contextmanager
    def down(self) -> Iterator[None]:
        """The list that says what is revoked cannot be had."""
        lists().status = 503
        yield
        lists().status = 200

    @contextmanager
    def slow(self) -> Iterator[None]:
        lists().pause = pause = Event()
        yield
        lists().pause = None
        pause.set()

    @contextmanager
    def lying(self) -> Iterator[None]:
        """The list is signed by somebody whom the operator does not know."""
        lists().body = world().stranger.signs("statuslist+jwt", {"sub": lists().uri}).encode()
        yield
        lists().publish(revoked={REVOKED: 1})

    def _asked(self, attempt: IdentityVerification, address: str, form: dict[str, str] | None) -> Client:
        browser = browser_of(attempt)
        if form:
            assert browser.post(address, form).status_code == 303
        self.request = fetched(Client(), link_on(browser.get(address)))
        return browser

    def _answer_of(self, kind: str) -> Call:
        if kind == "not_here":
            return posted(self.request, error="access_denied", state=self.request["state"])
        idx = REVOKED if kind == "refused" else 0
        status = {"status_list": {"idx": idx, "uri": lists().uri}}
        return OtherPersonsWallet(plain={"status": status}).answer(self.request)


class OnThisDevice(AcrossDevices):
    """The person opens the wallet by the link; the wallet leads them back to the browser."""

    kinds = frozenset({"verified", "refused", "not_here"})
    calls_back = False  # the wallet has answered before the browser is back, and that alone decides nothing

    def __init__(self) -> None:
        super().__init__()
        self.way_back = ""

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        self._asked(attempt, address, None)
        call = self._answer_of(kind)
        reply = Client().post(call.path, call.body, content_type=call.headers["content-type"])
        assert reply.status_code == 200, reply
        self.way_back = reply.json()["redirect_uri"]

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        self._asked(attempt, address, None)

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        parts = urlsplit(self.way_back)
        return Call(f"{parts.path}?{parts.query}" if parts.query else parts.path)
