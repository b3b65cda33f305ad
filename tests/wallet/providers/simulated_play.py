"""The simulated provider of the sandbox: its page is on this host, its callbacks are signed."""

import json
from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from sandbox.identity_provider.provider import NAME, SIGNATURE, signature
from sandbox.models import PickedOutcome
from tests.wallet.providers.plays import Call, Play
from wallet.models import IdentityVerification

OUTCOMES = {
    "verified": "adult",
    "review": "review",
    "again": "resubmit",
    "refused": "declined",
    "not_here": "elsewhere",
    "failed": "error",
}


class SimulatedPlay(Play):
    name = NAME
    settings = {"type": "sandbox.identity_provider.provider.SimulatedProvider"}
    kinds = frozenset(OUTCOMES)
    calls_back = True
    remote = False
    decides_later = True

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        self._pick(address, OUTCOMES[kind])

    def person_submits(self, attempt: IdentityVerification, address: str, kind: str) -> None:
        self._pick(address, "slow")

    def decide(self, attempt: IdentityVerification) -> None:
        PickedOutcome.objects.filter(verification=attempt).update(outcome="adult")

    def _pick(self, address: str, outcome: str) -> None:
        assert self.browser.post(address, {"outcome": outcome}).status_code == 303

    def person_gives_up(self, attempt: IdentityVerification, address: str) -> None:
        assert self.browser.get(address).status_code == 200

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(reverse("wallet_identity_return", args=[attempt.id]))

    def callback(self, attempt: IdentityVerification) -> Call:
        return self._call(json.dumps({"reference": attempt.provider_reference}).encode())

    def forgeries(self, attempt: IdentityVerification) -> Iterator[Call]:
        genuine = self.callback(attempt)
        yield Call(genuine.path, "POST", genuine.body)
        yield Call(genuine.path, "POST", genuine.body, {SIGNATURE: "0" * 64})
        yield Call(genuine.path, "POST", genuine.body + b" ", genuine.headers)
        yield Call(genuine.path, "GET")
        yield self._call(b"[]")
        yield self._call(b'{"reference": 1}')
        yield self._call(b"\xff")

    def _call(self, body: bytes) -> Call:
        path = reverse("wallet_identity_callback", args=[NAME])
        return Call(path, "POST", body, {SIGNATURE: signature(body)})
