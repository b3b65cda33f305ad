"""The drill with a mail server that accepts connections and says nothing."""

import contextlib
import re
import secrets
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import monotonic, sleep

from aiosmtpd.controller import Controller

from tests.ports import free_port
from tests.wallet.mail_server import MailServer
from tools.benchmarks.browsers import Answer
from tools.benchmarks.sites import ROOT, die_with_parent
from tools.drills.drill import under_load
from tools.drills.people import Flow, Outcome, Person, Step
from tools.drills.place import Installation, Place, installation
from tools.drills.results import Result

TURNS, SECONDS = 2, 5.0  # with a mail server and without one
MOST = 1.2  # a returning holder's flow may take so many times as long
NEWCOMERS = 4
PATIENCE = 8.0  # seconds that a newcomer waits for the code
_CODE = re.compile(r"\b\d{6}\b")


class Mail:
    """A mail server with TLS on one port that can fall silent and come back."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.server, self.port = MailServer(), free_port()
        self._key, self.certificate = folder / "key.pem", folder / "certificate.pem"
        made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=mail"
        words = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self._key, "-out", self.certificate]
        subprocess.run([*made.split(), *words], check=True, capture_output=True)
        self.environment = {
            "EMAIL_URL": f"smtp+tls://127.0.0.1:{self.port}",
            "SSL_CERT_FILE": str(self.certificate),
        }

    def start(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self._key)
        self._controller = Controller(
            self.server, hostname="127.0.0.1", port=self.port, tls_context=context, require_starttls=True
        )
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """The kernel accepts connections, and nobody answers."""
        self.stop()
        with socket.create_server(("127.0.0.1", self.port), backlog=2048):
            yield
        self.start()

    def code_for(self, email: str) -> str:
        """The newest code for this address; empty if there is none."""
        for number in range(len(self.server.envelopes) - 1, -1, -1):
            if email in self.server.envelopes[number].rcpt_tos:
                body = self.server.newest(number).get_body(("plain",))
                found = _CODE.search(body.get_content()) if body else None
                return found[0] if found else ""
        return ""


class SigningIn(Person):
    """A holder in a new browser, who asks for a code and enters it."""

    mail: Mail

    def present(self) -> Flow:
        self.cookies, self._asked = {}, 0.0
        return super().present()

    def _read(self, answer: Answer, step: Step, flow: Flow) -> Step | None:
        text = answer.body.decode(errors="replace")
        if 'name="code"' in text:
            self._asked = self._asked or monotonic()
            if code := self.mail.code_for(self.email):
                return Step(step.path, {"code": code}, step.path)
            if monotonic() < self._asked + PATIENCE:
                sleep(0.3)
                return Step(step.path)
        elif step.fields is None and "Send me a code" in text and not self._asked:
            return Step(step.path, {}, step.path)
        return super()._read(answer, step, flow)


class Newcomer(SigningIn):
    """Somebody unknown, with another e-mail address each time."""

    def present(self) -> Flow:
        self.email = f"{secrets.token_hex(6)}@example.org"
        return super().present()

    def _read(self, answer: Answer, step: Step, flow: Flow) -> Step | None:
        next_step = super()._read(answer, step, flow)
        if next_step is None and "Confirm your identity" in flow.last_page:
            flow.outcome = Outcome.ANSWERED
        return next_step


def mail(place: Place) -> Iterator[Result]:
    """The mail server says nothing, and newcomers ask for codes. Returning holders must not notice."""
    server, spans = Mail(place.folder / "mail"), {True: [], False: []}
    server.start()
    try:
        with (
            installation(place, changes=server.environment) as where,
            sender(where),
            newcomers(where, server, NEWCOMERS) as came,
            under_load(where, 4) as watch,
        ):
            watch.fault()
            for _ in range(TURNS):
                spans[True].append(_span())
                with server.silent():
                    spans[False].append(_span())
            watch.mended()
    finally:
        server.stop()
    result = Result("the mail server accepts connections and says nothing", watch.counted())
    usual, silent = (median(_durations(watch.crowd.flows, spans[kind])) for kind in (True, False))
    ratio = silent / usual
    figures = f"returning holders {silent * 1000:.0f} ms, with a mail server {usual * 1000:.0f} ms"
    result.target(ratio <= MOST, f"{figures} ({ratio:.2f} ×)")
    result.said.append(_said_of(came))
    yield result


def _span() -> tuple[float, float]:
    began = monotonic()
    sleep(SECONDS)
    return began, monotonic()


def _durations(flows: list[Flow], spans: list[tuple[float, float]]) -> list[float]:
    return [f.ended - f.begun for f in flows for began, ended in spans if began <= f.begun < ended]


@contextlib.contextmanager
def sender(where: Installation) -> Iterator[None]:
    """The worker that sends the outbox."""
    command = [sys.executable, "manage.py", "worker", "--jobs", "urgent_emails", "emails", "late_emails"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=where.environment, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def newcomers(where: Installation, mail: Mail, count: int) -> Iterator[list[Flow]]:
    """Newcomers come one after the other during the block; the list grows."""
    flows: list[Flow] = []
    over = Event()

    def come(number: int) -> None:
        person = Newcomer(where.party(), "", {}, port=where.proxy.port, source=f"127.0.2.{number + 1}")
        person.mail = mail
        while not over.wait(0.2):
            flows.append(person.present())

    threads = [Thread(target=come, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield flows
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


def _said_of(flows: list[Flow]) -> str:
    signed_in = sum(flow.outcome is Outcome.ANSWERED for flow in flows)
    told = sum(flow.outcome is Outcome.GOES_ON for flow in flows)
    stuck = len(flows) - signed_in - told
    return (
        f"{len(flows)} newcomers: {signed_in} signed in, {told} were told to wait or try again, {stuck} stuck"
    )
