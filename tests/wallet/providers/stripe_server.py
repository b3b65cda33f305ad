"""Stripe's side: a real web server that speaks the documented interface of Identity, and signs its events."""

import hashlib
import hmac
import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

BASE = "/v1/identity/verification_sessions"
SECRET = "whsec_of_the_tests"
KEY = "rk_test_of_the_tests"
SENSITIVE = {
    "verified_outputs.dob",
    "last_verification_report.document.expiration_date",
    "last_verification_report.document.number",
}
READABLE_FOR = 48 * 3600  # seconds after the check

JENNY = {"first_name": "Jenny", "last_name": "Rosen", "dob": {"day": 1, "month": 2, "year": 1990}}
PASSPORT = {
    "type": "passport",
    "issuing_country": "DE",
    "expiration_date": {"day": 1, "month": 1, "year": 2090},
    "number": "C01X00T47",
}


class RefusedError(Exception):
    """What the API answers with instead of an object."""

    def __init__(self, status: int, **error: str) -> None:
        super().__init__(status)
        self.status, self.error = status, {"type": "invalid_request_error", "message": "x", **error}


@dataclass
class StripeServer:
    """Sessions by id, the calls that came, and how the server misbehaves (`fault`)."""

    address: str = ""
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # what only `expand` shows
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)  # idempotency key → body, id
    calls: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)
    fault: str = ""
    faults_begin_after: int = 0
    faults_left: int = 1_000_000
    waited_for: threading.Event = field(default_factory=threading.Event)
    seconds_later: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.RLock = field(default_factory=threading.RLock)
    handler: type[BaseHTTPRequestHandler] = BaseHTTPRequestHandler
    port: int = 0
    listening: ThreadingHTTPServer | None = None

    def begin(self) -> None:
        """Listen, on the same port as before."""
        self.listening = ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
        self.port = self.listening.server_port
        self.address = f"http://127.0.0.1:{self.port}"
        serve = self.listening.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        if self.listening:
            self.listening.shutdown()
            self.listening.server_close()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody listens at the address."""
        self.stop()
        try:
            yield
        finally:
            self.begin()

    # --- What the person and Stripe's machines do ---

    def only(self) -> str:
        """The id of the only session."""
        (reference,) = self.sessions
        return reference

    def open_page(self, address: str) -> str:
        """The person opens the address, which works once; gives the id of the session."""
        with self.lock:
            for reference, session in self.sessions.items():
                if session["url"] == address and session["status"] == "requires_input":
                    session["url"] = self._fresh_url(reference)
                    return reference
        raise AssertionError("this page is used up, or the session takes nothing")

    def submit(self, reference: str) -> None:
        """The person has submitted pictures, and the check goes on."""
        self.sessions[reference] |= {"status": "processing", "last_error": None}

    def verify(
        self, reference: str, outputs: dict[str, Any] | None = None, document: dict[str, Any] | None = None
    ) -> None:
        """The check is passed."""
        report = self._report(reference, verified=True)
        report["document"] |= PASSPORT | (document or {})
        outputs = JENNY | (outputs or {})
        self.results[reference] = {"outputs": outputs, "report": report, "at": self.now()}
        changes = {"status": "verified", "last_error": None, "last_verification_report": report["id"]}
        self.sessions[reference] |= changes | {"url": None}

    def fail(self, reference: str, code: str, *, with_report: bool = True) -> None:
        """The check is over and not passed, or the person left."""
        session = self.sessions[reference]
        if with_report:
            report = self._report(reference, verified=False)
            self.results[reference] = {"outputs": None, "report": report, "at": self.now()}
            session["last_verification_report"] = report["id"]
        session |= {"status": "requires_input", "last_error": {"code": code, "reason": "In English."}}

    def person_chose(self, address: str, outcome: str) -> str:
        """A button of the page was pressed; gives the address that the browser is sent to."""
        reference = self.open_page(address)
        self.submit(reference)
        if outcome == "verified":
            self.verify(reference)
        elif outcome != "processing":
            self.fail(reference, outcome)
        return str(self.sessions[reference]["return_url"])

    def event(self, reference: str, kind: str, **changes: Any) -> bytes:
        """The body of a webhook."""
        session = self.sessions.get(reference, {"id": reference})
        event = {
            "id": f"evt_{next(self.numbers)}",
            "object": "event",
            "api_version": "2026-10-28.endive",
            "type": f"identity.verification_session.{kind}",
            "created": self.now(),
            "livemode": False,
            "data": {"object": {**session, "object": "identity.verification_session"}},
            "pending_webhooks": 1,
            "request": {"id": None, "idempotency_key": None},
        }
        return json.dumps(event | changes).encode()

    def now(self) -> int:
        return int(time.time()) + self.seconds_later

    @contextmanager
    def failing(self, fault: str, *, after: int = 0, times: int = 1_000_000) -> Iterator[None]:
        """After so many calls, so many are answered as `FAULTS` says; "slow" ones when this is over."""
        self.fault, self.faults_begin_after, self.faults_left = fault, after, times
        self.waited_for.clear()
        try:
            yield
        finally:
            self.fault = ""
            self.waited_for.set()

    def next_fault(self) -> str:
        with self.lock:
            if self.faults_begin_after:
                self.faults_begin_after -= 1
                return ""
            self.faults_left -= 1
            return self.fault if self.faults_left >= 0 else ""

    def made(self, method: str, end: str = "") -> int:
        """How many calls came."""
        return sum(call[0] == method and call[1].endswith(end) for call in self.calls)

    # --- The interface ---

    def answer(
        self, method: str, path: str, query: str, headers: dict[str, str], body: str
    ) -> dict[str, Any]:
        key = headers.get("authorization", "").removeprefix("Bearer ")
        if not key.startswith(("rk_test_", "sk_test_")):
            raise RefusedError(401, message="Invalid API Key provided")
        if headers.get("stripe-version") != "2026-10-28.endive":
            raise RefusedError(400, message="Invalid Stripe API version")
        with self.lock:
            if (method, path) == ("POST", BASE):
                return self._create(headers["idempotency-key"], body)
            reference, _, action = path.removeprefix(f"{BASE}/").partition("/")
            if reference not in self.sessions:
                raise RefusedError(404, code="resource_missing", param="session")
            if method == "GET" and not action:
                return self._expanded(reference, [value for _name, value in parse_qsl(query)], key)
            if (method, action) == ("POST", "redact"):
                return self._redact(reference)
        raise RefusedError(404, message="Unrecognized request URL")

    def _create(self, key: str, body: str) -> dict[str, Any]:
        if key in self.keys:
            earlier, reference = self.keys[key]
            if earlier != body:
                raise RefusedError(400, type="idempotency_error")
            return self.sessions[reference]
        wanted = dict(parse_qsl(body))
        reference = f"vs_{next(self.numbers)}Test"
        document = {"require_matching_selfie", "require_live_capture"}
        self.sessions[reference] = {
            "id": reference,
            "object": "identity.verification_session",
            "client_reference_id": wanted.get("client_reference_id"),
            "client_secret": f"{reference}_secret",
            "created": self.now(),
            "last_error": None,
            "last_verification_report": None,
            "livemode": False,
            "metadata": {},
            "options": {
                "document": {name: wanted.get(f"options[document][{name}]") == "true" for name in document}
            },
            "redaction": None,
            "return_url": wanted["return_url"],
            "status": "requires_input",
            "type": wanted["type"],
            "url": self._fresh_url(reference),
        }
        self.keys[key] = (body, reference)
        return self.sessions[reference]

    def _expanded(self, reference: str, expand: list[str], key: str) -> dict[str, Any]:
        session, results = self.sessions[reference], self.results.get(reference)
        over = results is not None and self.now() > results["at"] + READABLE_FOR
        if SENSITIVE & set(expand) and (not key.startswith("rk_") or over):
            raise RefusedError(403, message="This key may not read sensitive verification results.")
        if not results or not expand:
            return session
        if session["redaction"]:
            day = dict.fromkeys(("day", "month", "year"), 1)
            gone = {"first_name": "[redacted]", "last_name": "[redacted]", "dob": day}
            results = {**results, "outputs": gone}
        withheld = {name.rpartition(".")[2] for name in SENSITIVE - set(expand)}
        report = dict(results["report"])
        report["document"] = {n: v for n, v in report["document"].items() if n not in withheld}
        outputs = results["outputs"]
        shown = outputs and {name: value for name, value in outputs.items() if name not in withheld}
        return {**session, "verified_outputs": shown, "last_verification_report": report}

    def _redact(self, reference: str) -> dict[str, Any]:
        session = self.sessions[reference]
        if session["status"] not in ("requires_input", "verified"):
            raise RefusedError(400, code="verification_session_not_redactable")
        if session["status"] == "requires_input":
            session["status"] = "canceled"
        session |= {"redaction": session["redaction"] or {"status": "processing"}, "url": None}
        return session

    def _fresh_url(self, reference: str) -> str:
        return f"{self.address}/start/{reference}-{next(self.numbers)}"

    def _report(self, reference: str, *, verified: bool) -> dict[str, Any]:
        status = {"status": "verified" if verified else "unverified", "error": None}
        return {
            "id": f"vr_{next(self.numbers)}Test",
            "object": "identity.verification_report",
            "created": self.now(),
            "livemode": False,
            "type": "document",
            "verification_session": reference,
            "document": dict(status),
            "selfie": dict(status),
        }


def signed(body: bytes, *secrets: str, at: int | None = None, scheme: str = "v1") -> str:
    """The header `Stripe-Signature` of a body, as documented: not made by the library that checks it."""
    at = int(time.time()) if at is None else at
    sums = [hmac.new(s.encode(), f"{at}.".encode() + body, hashlib.sha256) for s in secrets or (SECRET,)]
    return ",".join([f"t={at}", *(f"{scheme}={made.hexdigest()}" for made in sums)])


PAGE = """<!doctype html><html lang="en"><title>Stripe's page</title><main><h1>Verify your identity</h1>
<form method="post"><button name="outcome" value="verified">It is me</button>
<button name="outcome" value="processing">It is me, slowly</button>
<button name="outcome" value="document_expired">An old document</button>
<button name="outcome" value="consent_declined">I decline</button></form></main></html>"""

# What the server answers instead: status, media type, body.
FAULTS = {
    "500": (500, "application/json", b'{"error":{"type":"api_error","message":"x"}}'),
    "429": (429, "application/json", b'{"error":{"type":"invalid_request_error","code":"rate_limit"}}'),
    "401": (401, "application/json", b'{"error":{"type":"invalid_request_error"}}'),
    "403": (403, "application/json", b'{"error":{"type":"invalid_request_error"}}'),
    "html": (502, "text/html", b"<html>bad gateway"),
    "html 200": (200, "text/html", b"<html>welcome"),
    "array": (200, "application/json", b'["x"]'),
    "number": (200, "application/json", b"7"),
    "error array": (400, "application/json", b'{"error":["x"]}'),
    "deep": (200, "application/json", b"[" * 30_000 + b"]" * 30_000),
    "empty": (200, "application/json", b""),
    "not UTF-8": (200, "application/json", b'{"id":"\xff\xfe"}'),
    "long": (200, "application/json", b'{"id":"' + b"x" * 100_000 + b'"}'),
    "redirect": (302, "text/html", b""),
}


@contextmanager
def listening() -> Iterator[StripeServer]:
    """The server while it runs."""
    stripe = StripeServer()

    class Handler(BaseHTTPRequestHandler):
        def handle_call(self) -> None:
            path, _, query = self.path.partition("?")
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0"))).decode()
            stripe.calls.append((self.command, path, headers, body))
            fault = stripe.next_fault()
            if fault == "slow":
                stripe.waited_for.wait(30)
            location = f"{stripe.address}/elsewhere"
            if path.startswith("/start/") and self.command == "GET":
                status, kind, sent = 200, "text/html", PAGE.encode()
            elif path.startswith("/start/"):
                location = stripe.person_chose(stripe.address + path, dict(parse_qsl(body))["outcome"])
                status, kind, sent = 302, "text/html", b""
            else:
                status, kind, sent = FAULTS.get(fault) or self.answer(path, query, headers, body)
            with suppress(OSError):  # the client did not wait
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", location)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

        do_GET = do_POST = handle_call

        def answer(self, path: str, query: str, headers: dict[str, str], body: str) -> tuple[int, str, bytes]:
            try:
                answer = stripe.answer(self.command, path, query, headers, body)
            except RefusedError as refused:
                return refused.status, "application/json", json.dumps({"error": refused.error}).encode()
            return 200, "application/json", json.dumps(answer).encode()

        def log_message(self, format: str, *args: object) -> None:
            pass

    stripe.handler = Handler
    stripe.begin()
    try:
        yield stripe
    finally:
        stripe.stop()
