"""The vendor of the example that docs/identity-providers.md names: a web server that speaks its API."""

import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.urls import reverse

from tests.wallet.providers.plays import Call, Play
from wallet.models import IdentityVerification

KEY, CALLBACK_SECRET = "the-vendors-key", "the-callback-secret"
STATES = {
    "verified": "verified",
    "review": "unsure",
    "again": "blurred",
    "refused": "rejected",
    "not_here": "stopped",
    "failed": "broken",
}
PERSON = {
    "given_name": "Esmeralda",
    "family_name": "Exemplar",
    "birth_date": "1988-02-29",
    "country": "IE",
    "expires_on": "2060-01-01",
    "number": "PX1234567",
}


class Vendor:
    """Keeps checks by their id and answers as its `mode` says."""

    def __init__(self) -> None:
        self.checks: dict[str, dict[str, str]] = {}
        self.mode = "as usual"
        self.over = threading.Event()

    def answer(self, path: str, asked: dict[str, str]) -> dict[str, str] | None:
        if path == "/start":
            number = f"check-{secrets.token_hex(8)}"
            self.checks[number] = {"id": number, "state": "waiting", "url": f"{self.address}/page/{number}"}
            return self.checks[number]
        return self.checks.get(asked["id"])

    @contextmanager
    def running(self) -> Iterator[None]:
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["Authorization"] == f"Bearer {KEY}"
                if vendor.mode == "down":
                    return
                if vendor.mode == "slow":
                    vendor.over.wait(7)
                said = vendor.answer(self.path, asked)
                if vendor.mode == "lying" and said:
                    said = {
                        "id": "check-of-somebody-else",
                        "state": "verified",
                        "url": "javascript:1",
                    } | PERSON
                self.send_response(200 if said else 404)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def log_message(self, format: str, *arguments: Any) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda request, client: None  # type: ignore[method-assign]
        self.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield
        finally:
            self.over.set()
            server.shutdown()
            server.server_close()


class ExamplePlay(Play):
    name = "example"
    kinds = frozenset(STATES)
    calls_back = True
    decides_later = True

    def __init__(self) -> None:
        self.vendor = Vendor()

    @property
    def settings(self) -> dict[str, str]:  # type: ignore[override]
        return {
            "type": "tests.wallet.providers.example_provider.ExampleProvider",
            "address": self.vendor.address,
            "key": KEY,
            "callback_secret": CALLBACK_SECRET,
        }

    @contextmanager
    def running(self) -> Iterator[None]:
        with self.vendor.running():
            yield

    def _come_to(self, attempt: IdentityVerification, state: str) -> None:
        self.vendor.checks[attempt.provider_reference] |= {"state": state} | PERSON

    def person_ends(self, attempt: IdentityVerification, address: str, kind: str, **facts: Any) -> None:
        assert address == self.vendor.checks[attempt.provider_reference]["url"]
        self._come_to(attempt, STATES[kind])

    def person_submits(self, attempt: IdentityVerification, address: str, kind: str) -> None:
        self._come_to(attempt, "processing")

    def decide(self, attempt: IdentityVerification) -> None:
        self._come_to(attempt, "verified")

    def browser_returns(self, attempt: IdentityVerification) -> Call:
        return Call(reverse("wallet_identity_return", args=[attempt.id]))

    def callback(self, attempt: IdentityVerification) -> Call:
        return self._call(json.dumps({"id": attempt.provider_reference}).encode())

    def forgeries(self, attempt: IdentityVerification) -> Iterator[Call]:
        genuine = self.callback(attempt)
        yield Call(genuine.path, "POST", genuine.body)
        yield Call(genuine.path, "POST", genuine.body + b" ", genuine.headers)
        yield Call(genuine.path, "POST", genuine.body, {"x-example-signature": "é"})
        for body in (b"[]", b"{}", b'{"id": 7}', b"\xff", b'{"id": "a", "id": "b"}'):
            yield self._call(body)

    def _call(self, body: bytes) -> Call:
        signature = hmac.digest(CALLBACK_SECRET.encode(), body, "sha256").hex()
        path = reverse("wallet_identity_callback", args=[self.name])
        return Call(path, "POST", body, {"x-example-signature": signature})

    @contextmanager
    def _in_mode(self, mode: str) -> Iterator[None]:
        self.vendor.mode = mode
        try:
            yield
        finally:
            self.vendor.mode = "as usual"

    def down(self) -> Any:
        return self._in_mode("down")

    def slow(self) -> Any:
        return self._in_mode("slow")

    def lying(self) -> Any:
        return self._in_mode("lying")
