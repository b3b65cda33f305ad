"""A body that arrives while a thread waits: whole or refused, in time, and one of a sender at a time."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from infra.waiting import NoThreadFreeError, most_for_applications, waiting_for
from wallet.identity.arriving_bodies import (
    UNREAD,
    AnswerBeforeBody,
    ArrivingBody,
    BodyNotWholeError,
    arriving,
    expect_no_body,
)


@given(
    body=st.binary(max_size=200), after=st.binary(max_size=20), sizes=st.lists(st.integers(1, 50), min_size=1)
)
def test_a_body_has_its_length_and_nothing_after_it(body: bytes, after: bytes, sizes: list[int]) -> None:
    arrived, read = ArrivingBody(BytesIO(body + after), len(body)), b""

    while data := arrived.read(sizes[len(read) % len(sizes)]):
        read += data

    assert read == body
    assert arrived.read(1) == b""


def read_to_the_end(body: ArrivingBody, size: int) -> None:
    while body.read(size):
        pass


@given(body=st.binary(max_size=200), missing=st.integers(1, 1000), size=st.integers(1, 2000))
def test_a_body_that_ends_before_its_length_is_an_error(body: bytes, missing: int, size: int) -> None:
    arrived = ArrivingBody(BytesIO(body), len(body) + missing)

    with pytest.raises(BodyNotWholeError):
        read_to_the_end(arrived, size)


def test_a_connection_that_is_reset_ends_the_body() -> None:
    class Reset(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError

    with pytest.raises(BodyNotWholeError):
        ArrivingBody(Reset(), 2).read(2)


@pytest.mark.parametrize("length", ["", "-1", "two", "²"])
def test_a_body_of_unknown_length_has_no_bytes(length: str) -> None:
    request = RequestFactory().post("/", **{"wsgi.input": BytesIO(b"ab"), "CONTENT_LENGTH": length})

    with arriving(request, "one", seconds=60) as body:
        assert body.read(2) == b""


@contextmanager
def sent(
    sender: str, address: str, *, seconds: float = 60, connection: socket.socket | None = None
) -> Iterator[ArrivingBody]:
    """A body of two bytes on its way; with a connection, what arrives there."""
    stream = connection.makefile("rb") if connection else BytesIO(b"ab")
    more = {
        "wsgi.input": stream,
        "CONTENT_LENGTH": "2",
        "REMOTE_ADDR": address,
        "gunicorn.socket": connection,
    }
    with stream, arriving(RequestFactory().post("/", **more), sender, seconds=seconds) as body:
        yield body


def is_refused(sender: str, address: str) -> bool:
    try:
        with sent(sender, address):
            return False
    except NoThreadFreeError:
        return True


@pytest.mark.parametrize(
    ("sender", "address", "refused"),
    [
        ("another", "192.0.2.2", False),
        ("one", "192.0.2.2", True),
        ("another", "192.0.2.1", True),
        ("another", "::ffff:192.0.2.1", True),
    ],
)
def test_while_one_body_arrives_its_sender_and_its_client_have_no_second_one(
    sender: str, address: str, refused: bool
) -> None:
    with sent("one", "192.0.2.1"):
        assert is_refused(sender, address) is refused
    assert not is_refused(sender, address)


def test_addresses_of_one_subscriber_are_one_client() -> None:
    with sent("one", "2001:db8:1:2::1"):
        assert is_refused("another", "2001:db8:1:2:ffff::9")
        assert not is_refused("another", "2001:db8:1:3::1")


def test_a_body_that_was_refused_leaves_nothing_behind() -> None:
    with ExitStack() as held:
        for party in range(most_for_applications()):
            held.enter_context(waiting_for(party))
        assert is_refused("one", "192.0.2.1")
    assert not is_refused("one", "192.0.2.1")


def test_a_client_holds_fewer_places_than_there_are(settings: Any) -> None:
    settings.WEB_THREADS = 4

    with sent("one", "192.0.2.1"):
        assert is_refused("two", "192.0.2.1")
        with sent("three", "192.0.2.3"):
            assert is_refused("four", "192.0.2.4")  # two threads answer everything else


def test_when_its_time_is_over_a_wait_for_the_next_byte_ends_and_an_answer_can_be_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"a")
        with (
            pytest.raises(BodyNotWholeError),
            sent("one", "192.0.2.1", seconds=0.05, connection=ours) as body,
        ):
            body.read(2)
        ours.sendall(b"408")
        assert theirs.recv(3) == b"408"


def test_a_client_that_has_gone_when_the_time_is_over_breaks_nothing() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b"ab")
    theirs.close()
    with ours, sent("one", "192.0.2.1", seconds=0.05, connection=ours) as body:
        assert body.read(2) == b"ab"


class Pages(list[bytes]):
    """An answer as Django's: `close` is called once."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_after_an_answer_the_rest_of_the_body_is_dropped_until_the_client_goes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as thread:
        theirs.settimeout(60)
        answer = AnswerBeforeBody(pages := Pages([b"a", b"b"]), ours)
        assert list(answer) == [b"a", b"b"]
        closing = thread.submit(answer.close)
        theirs.sendall(b"x" * 5_000_000)  # more than any buffer of the system has room for
        theirs.close()
        closing.result(60)
    assert pages.closed == 1


def test_a_client_that_stays_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wallet.identity.arriving_bodies.DROPPED_FOR", 0.01)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        AnswerBeforeBody([b"a"], ours).close()


@pytest.mark.parametrize(
    ("method", "reads", "unread"),
    [("GET", 0, False), ("POST", 0, True), ("POST", 1, True), ("POST", 2, False)],
)
def test_an_answer_before_the_body_was_read_is_marked(method: str, reads: int, unread: bool) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        if reads:
            with arriving(request, "one", seconds=60) as body:
                body.read(reads)
        return HttpResponse()

    more = {"wsgi.input": BytesIO(b"ab"), "CONTENT_LENGTH": "2"}
    request = RequestFactory().generic(method, "/", **more)
    expect_no_body(request)
    view(request)

    assert (UNREAD in request.META) is unread
