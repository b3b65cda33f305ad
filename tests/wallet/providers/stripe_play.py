"""Stripe Identity for the contract suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse

from tests.wallet.providers.plays import Call, Play
from tests.wallet.providers.stripe_server import KEY, SECRET, StripeServer, listening, signed
from wallet.models import IdentityVerification

NAME = "stripe"
FAILURES = {"again": "document_expired", "review": "selfie_manipulated", "not_here": "consent_declined"}


class StripePlay(Play):
    """Stripe's pages and machines, played by `server`."""

    name = NAME
    kinds = frozenset({"verified", "review", "again", "not_here", "failed"})
    polled = True
    calls_back = True
    decides_later = True
    server: StripeServer
    waiting_for: str = "verified"

    @contextmanager
    def running(self) -> Iterator[None]:
        with listening() as server:
            self.server = server
            key = {"key": KEY, "webhook_secret": SECRET}
            self.settings = {"type": "stripe", "address": server.address} | key
            yield

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        """facts: `outputs` and `document`, members of the answer for a verified person."""
        self.person_submits(attempt, address, kind)
        self.decide(attempt, **facts)

    def person_submits(self, attempt: IdentityVerification, address: str, kind: str) -> None:
        self.waiting_for = kind
        self.server.submit(self.server.open_page(address))

    def decide(self, attempt: IdentityVerification, **facts: Any) -> None:
        if self.waiting_for == "verified":
            self.server.verify(attempt.provider_reference, **facts)
        else:
            code = FAILURES.get(self.waiting_for, "id_number_mismatch")
            self.server.fail(attempt.provider_reference, code)

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        self.server.fail(self.server.open_page(address), "abandoned", with_report=False)

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        session = self.server.sessions[attempt.provider_reference]
        return Call(urlsplit(session["return_url"]).path)

    def callback(self, attempt: IdentityVerification) -> Call:
        status = self.server.sessions[attempt.provider_reference]["status"]
        return self._call(self.server.event(attempt.provider_reference, status))

    def forgeries(self, attempt: IdentityVerification) -> Iterator[Call]:
        body = self.server.event(attempt.provider_reference, "verified")
        good = signed(body)
        for header in (
            "",
            "rubbish",
            signed(body, scheme="v0"),
            signed(body, "whsec_of_somebody_else"),
            signed(body, at=self.server.now() - 301),
            good + "\u00e9",
            good.replace("v1=", "v1=0"),
        ):
            yield self._call(body, header)
        yield self._call(body.replace(b"verified", b"canceled"), good)
        yield self._call(b"\xff" + body, good)
        yield self._call(b"", good)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody listens where the interface was."""
        with self.server.down():
            yield

    @contextmanager
    def slow(self) -> Iterator[None]:
        with self.server.failing("slow"):
            yield

    @contextmanager
    def lying(self) -> Iterator[None]:
        with self.server.failing("array"):
            yield

    def _call(self, body: bytes, header: str | None = None) -> Call:
        path = reverse("wallet_identity_callback", args=[self.name])
        headers = {"stripe-signature": signed(body) if header is None else header}
        return Call(path, method="POST", body=body, headers=headers)
