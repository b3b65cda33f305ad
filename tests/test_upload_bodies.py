"""Bodies that clients send slowly, through nginx as it is shipped: strangers get nowhere, and others pass."""

import hashlib
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse
from django.utils import timezone

from tests.nginx_in_front import proxy
from tests.ports import free_port
from tests.processes import environment
from tests.wallet.pictures import file, picture
from tests.wallet.typed_identities import TYPED_BY_NORA
from tests.warm_start import WarmSite
from wallet import redirect_tasks
from wallet.models import IdentityVerification, Picture, Wallet

pytestmark = [pytest.mark.nginx, pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
HOST = "127.0.0.1:8000"
URLENCODED = "application/x-www-form-urlencoded"
SHORTEST = "1"  # seconds: the least that UPLOAD_SECONDS may be
LONG = 39_000_000  # bytes that a slow client says it will send
PART = 'Content-Disposition: form-data; name="front"; filename="p.jpg"\r\nContent-Type: image/jpeg'
BEGINNING = f"--{BOUNDARY}\r\n{PART}\r\n\r\n".encode() + b"x" * 100_000


def unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Answer(NamedTuple):
    status: int
    text: str
    headers: Any

    @classmethod
    def of(cls, response: HTTPResponse) -> "Answer":
        return cls(response.status, response.read().decode(), response.headers)


class Person:
    """Somebody in a browser at a client address, with the cookies of a wallet, or with none."""

    def __init__(self, port: int, form: str, address: str, cookies: str = "") -> None:
        self.port, self.form, self.address = port, form, address
        self.headers = {"Host": HOST, "Cookie": cookies, "Origin": f"https://{HOST}"}
        self.headers["Sec-Fetch-Site"] = "same-origin"

    def ask(self, body: bytes | None = None, **more: str) -> Answer:
        to_nginx = HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=unchecked(), source_address=(self.address, 0)
        )
        with closing(to_nginx) as connection:
            connection.request("GET" if body is None else "POST", self.form, body, self.headers | more)
            answer = Answer.of(connection.getresponse())
        if cookie := answer.headers["Set-Cookie"]:
            self.headers["Cookie"] += f"; {cookie.partition(';')[0]}"
        return answer

    def upload(self) -> Answer:
        """Sends the form with two pictures, as a browser does."""
        fields = TYPED_BY_NORA | {"front": file(), "face": file(picture())}
        headers = {"Content-Type": MULTIPART_CONTENT, "Referer": f"https://{HOST}{self.form}"}
        return self.ask(encode_multipart(BOUNDARY, fields), **headers)

    def begin(self, *said: str, beginning: bytes = BEGINNING, kind: str = MULTIPART_CONTENT) -> "Slow":
        """Sends the beginning of a form of many megabytes."""
        length = said or (f"Content-Length: {LONG}",)
        lines = [f"{name}: {value}" for name, value in self.headers.items() if value]
        return Slow(self, [f"POST {self.form} HTTP/1.1", f"Content-Type: {kind}", *lines, *length], beginning)


class Slow:
    """A connection whose request has begun and does not end."""

    def __init__(self, person: Person, lines: list[str], beginning: bytes) -> None:
        plain = socket.create_connection(
            ("127.0.0.1", person.port), timeout=60, source_address=(person.address, 0)
        )
        self.connection = unchecked().wrap_socket(plain)
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode() + beginning)

    def answer(self) -> Answer:
        """What is answered, although the body is not whole."""
        response = HTTPResponse(self.connection, method="POST")
        response.begin()
        return Answer.of(response)

    def drip(self) -> Answer:
        """Sends byte after byte, each long before a time between two bytes is over, until the answer."""
        while not select.select([self.connection], [], [], 0.05)[0]:
            self.connection.sendall(b"x")
        return self.answer()

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


class Service(NamedTuple):
    """nginx in front of one process with four threads."""

    port: int
    folder: Path
    new: Callable[..., Person]  # a person with a check that awaits pictures


@pytest.fixture
def seconds() -> str:
    return "60"


@pytest.fixture
def service(
    settings: Any, tmp_path: Path, sign_in: Any, signing_key: Any, now: datetime, seconds: str
) -> Iterator[Service]:
    settings.IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}
    providers, port = tmp_path / "providers.toml", free_port()
    providers.write_text("[from_afar]")
    own = {
        "BASE_URL": f"http://{HOST}",
        "IDENTITY_PROVIDERS_FILE": str(providers),
        "UPLOAD_SECONDS": seconds,
        "WEB_THREADS": "4",
    }

    def new(address: str) -> Person:
        number = Wallet.objects.count()
        wallet = Wallet.objects.create(email=f"person{number}@example.org", created_at=now)
        browser, secret = Client(), f"{number:0>43}"
        sign_in(wallet, browser=browser)
        browser.cookies[django_settings.BROWSER_COOKIE_NAME] = secret
        redirect_task = redirect_tasks.open_redirect_task(
            email=wallet.email,
            return_to="/done/",
            leave_to="/left/",
            browser=hashlib.sha256(secret.encode()).hexdigest(),
            now=now,
        )
        form = browser.post(reverse("wallet_identity_start", args=[redirect_task.id])).url
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
        return Person(port, form, address, cookies)

    with (
        WarmSite("config.wsgi", environment(settings, tmp_path) | own, ready="/health/live") as site,
        proxy(tmp_path, port, site.port),
    ):
        yield Service(port, tmp_path, new)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def kept_by_nginx(service: Service) -> list[Path]:
    return [path for path in (service.folder / "uploads").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "said",
    [
        (f"Content-Length: {LONG}",),
        ("Transfer-Encoding: chunked",),
        (f"Content-Length: {LONG}", "Expect: 100-continue"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_a_stranger_is_refused_before_the_body_is_taken_and_others_pass_meanwhile(
    service: Service, said: tuple[str, ...], known: bool
) -> None:
    person, other = service.new("127.0.0.3"), service.new("127.0.0.4")
    cookies = other.headers["Cookie"] if known else ""  # of a browser for which this check is not
    stranger = Person(service.port, person.form, "127.0.0.2", cookies)
    chunked = said == ("Transfer-Encoding: chunked",)
    beginning = b"%x\r\n" % LONG + BEGINNING if chunked else BEGINNING

    with ExitStack() as held:
        slow = [held.enter_context(stranger.begin(*said, beginning=beginning)) for _ in range(8)]
        answered = [each.answer() for each in slow]
        kept = kept_by_nginx(service)
        passed = person.upload()

    assert {answer.status for answer in answered} <= {404, 100}
    assert kept == []
    assert passed.status == 303


def test_a_stranger_who_sends_fast_reads_the_answer_each_time(service: Service) -> None:
    """The service answers while nginx still sends, which a connection closed at once would break off."""
    stranger = Person(service.port, service.new("127.0.0.3").form, "127.0.0.2")

    answers = [stranger.ask(b"x" * 20_000_000, **{"Content-Type": MULTIPART_CONTENT}) for _ in range(12)]

    assert {answer.status for answer in answers} == {404}


def hold_the_place(slow: Person, another: Person) -> Slow:
    """Begins a form that the service reads: of two that come together, either may be refused."""
    begun = slow.begin()
    while another.ask(encode_multipart(BOUNDARY, {}), **{"Content-Type": MULTIPART_CONTENT}).status != 503:
        if select.select([begun.connection], [], [], 0)[0]:  # it was this one
            begun.connection.close()
            begun = slow.begin()
    return begun


def test_who_holds_what_one_client_may_have_does_not_hinder_others(service: Service) -> None:
    """The address is that of a wallet with a check, and of another: what it gets is for both together."""
    slow, another, person = (service.new(address) for address in ("127.0.0.2", "127.0.0.2", "127.0.0.3"))

    with ExitStack() as held:
        held.enter_context(hold_the_place(slow, another))
        refused = [held.enter_context(who.begin()).answer() for who in (slow, another, slow)]
        kept = kept_by_nginx(service)
        passed, page = person.upload(), person.ask()

    assert [(answer.status, answer.headers["Retry-After"]) for answer in refused] == [(503, "10")] * 3
    assert "Please send your pictures again" in refused[0].text
    assert kept == []
    assert passed.status == 303
    assert page.status == 303  # to the page about the check
    assert another.upload().status == 303


@pytest.mark.parametrize("seconds", [SHORTEST])
def test_a_body_that_never_ends_is_cut_however_steadily_it_comes(service: Service, seconds: str) -> None:
    person = service.new("127.0.0.2")

    with person.begin() as slow:
        cut = slow.drip()

    assert cut.status == 408
    assert "did not arrive in time" in cut.text
    assert not Picture.objects.exists()
    assert person.upload().status == 303


def test_of_a_body_that_ends_too_soon_nothing_is_kept(service: Service) -> None:
    person = service.new("127.0.0.2")
    body = encode_multipart(BOUNDARY, TYPED_BY_NORA | {"front": file(), "face": file()})

    with person.begin(f"Content-Length: {len(body)}", beginning=body[:-1]):
        pass
    passed = person.upload()
    while passed.status == 503:  # the thread has not noticed yet that nobody sends any more
        passed = person.upload()

    assert passed.status == 303
    assert IdentityVerification.objects.get().submissions == 1


def test_the_form_waits_for_no_body_of_another_kind(service: Service) -> None:
    """Only pictures are long: what is no form with files has no time of its own, and is not read."""
    person = service.new("127.0.0.2")

    with person.begin("Content-Length: 200000", beginning=b"given_name=", kind=URLENCODED) as slow:
        answer = slow.answer()

    assert answer.status == 200
    assert 'name="given_name"' in answer.text


def test_who_sends_files_that_are_too_long_reads_so(service: Service) -> None:
    person = service.new("127.0.0.2")
    fields = {"front": file(b"\xff\xd8" + b"x" * 37_900_000)}

    answer = person.ask(encode_multipart(BOUNDARY, fields), **{"Content-Type": MULTIPART_CONTENT})
    longer = person.ask(b"x" * 42_000_000, **{"Content-Type": MULTIPART_CONTENT, "Accept": "text/html"})

    assert (answer.status, longer.status) == (413, 413)
    assert "These pictures are too large" in answer.text
    assert "Es demasiado largo" in longer.text
