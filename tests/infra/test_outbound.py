"""Calls to registered addresses: forbidden targets and slow servers fail within the time limit."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPException
from io import BytesIO
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infra.outbound import calls
from infra.outbound.calls import LONGEST, Outbound, OutboundError, Response
from infra.outbound.targets import Target, TargetError, is_public, parse
from tests.presentation.far_ends import NAME, Behaviour, FarEnd, answers, far_end, says
from tests.presentation.webhooks import receiving

pytestmark = pytest.mark.slow  # servers with TLS of their own

SOON = 30.0  # seconds; much more than the allowed time, because the machine may be busy


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is to be answered is, however busy the machine is."""
    patient(monkeypatch, 20)


def patient(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(calls, "CONNECT_WITHIN", 0.9 * seconds)
    monkeypatch.setattr(calls, "DONE_WITHIN", seconds)


def refused(caller: Outbound, url: str) -> str:
    """Checks that the call fails in time; gives the reason."""
    begin = time.monotonic()
    with pytest.raises(OutboundError) as caught:
        caller.get(url, accept="application/json")
    assert time.monotonic() - begin < SOON
    return str(caught.value)


def test_a_good_answer_is_read_whole_and_asked_for_plainly() -> None:
    body = b'{"keys": []}'
    with far_end(answers(body, "Content-Type: Application/JSON; charset=utf-8")) as far:
        answer = far.outbound().get(far.url("/jwks?a=b"), accept="application/json")

    assert answer == Response(200, "application/json", body)
    (request,) = far.requests
    assert request.decode().split("\r\n") == [
        "GET /jwks?a=b HTTP/1.1",
        f"Host: {NAME}:{far.port}",
        "Accept: application/json",
        "User-Agent: credential-presentation-service",
        "Accept-Encoding: identity",
        "Connection: close",
        "",
        "",
    ]


def test_a_caller_may_allow_longer_answers() -> None:
    body = b"x" * (LONGEST + 1)
    with far_end(answers(body)) as far:
        assert far.outbound(longest=len(body)).get(far.url(), accept="*/*").body == body
        assert "longer than" in refused(far.outbound(longest=LONGEST), far.url())


@pytest.mark.parametrize("second", ["text/html", "application/json"])
def test_an_answer_of_two_media_types_is_refused(second: str) -> None:
    headers = ("Content-Type: application/json", f"content-type: {second}")
    with far_end(answers(b"{}", *headers)) as far:
        assert refused(far.outbound(), far.url()) == "The answer has two media types."


def test_how_long_to_wait_is_handed_on_as_it_was_said() -> None:
    with far_end(answers(b"", "Retry-After: 30", status="503 Busy")) as far:
        assert far.outbound().get(far.url(), accept="*/*").retry_after == "30"


def test_what_is_posted_arrives_with_its_headers() -> None:
    with far_end(answers(b"{}", status="202 Accepted")) as far:
        answer = far.outbound().post(
            far.url(), b"a=b", content_type="application/x-www-form-urlencoded", headers={"X-Id": "1"}
        )

    assert answer.status == 202
    head, _, body = far.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /jwks HTTP/1.1\r\n")
    assert {b"Content-Length: 3", b"X-Id: 1"} <= set(head.split(b"\r\n"))
    assert body == b"a=b"


def test_an_answer_in_pieces_or_chunks_is_put_together() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n"
    for behaviour in (says(chunked), says(*(bytes([byte]) for byte in chunked))):
        with far_end(behaviour) as far:
            assert far.outbound().get(far.url(), accept="*/*").body == b"{} "


def keeping_open(*pieces: bytes) -> Behaviour:
    """Sends these bytes and keeps the connection, although it was asked to close it."""

    def behaviour(connection: ssl.SSLSocket) -> None:
        says(*pieces)(connection)
        threading.Event().wait(SOON)

    return behaviour


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "with a length": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "in chunks": CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    "in chunks, with a trailer": CHUNKED + b"2\r\n{}\r\n0\r\nA: b\r\n\r\n",
    "without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "empty": b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
}
INTERIM = {
    "none": b"",
    "100": b"HTTP/1.1 100 Continue\r\n\r\n",
    "102": b"HTTP/1.1 102 Processing\r\n\r\n",
    "103": b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nContent-Length: 7\r\n\r\n",
    "199": b"HTTP/1.1 199 Whatever\r\n\r\n",
    "several": b"HTTP/1.1 100 Continue\r\n\r\n" + 2 * b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n",
}


@pytest.mark.parametrize("interim", INTERIM)
@pytest.mark.parametrize("whole", WHOLE)
def test_an_answer_ends_where_it_says_and_interim_answers_are_none(interim: str, whole: str) -> None:
    expected = int(WHOLE[whole].split()[1])
    for octets in (
        INTERIM[interim] + WHOLE[whole],
        *[INTERIM[interim] + WHOLE[whole] + b"HTTP/1.1 500 No\r\n"],
    ):
        with far_end(keeping_open(octets)) as far:
            answer = far.outbound().post(far.url(), b"{}", content_type="application/json", headers={})
        assert (answer.status, answer.body) == (expected, b"{}" if expected == 200 else b"")


def test_an_answer_that_only_comes_to_an_interim_one_is_none() -> None:
    for interim in INTERIM.values():
        with far_end(says(interim)) as far:
            assert "failed" in refused(far.outbound(), far.url())


def test_another_protocol_is_not_spoken() -> None:
    with far_end(says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" + WHOLE["empty"])) as far:
        assert "protocol" in refused(far.outbound(), far.url())


# --- Targets ----------------------------------------------------------------------------------------------

NOT_PUBLIC = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254"),  # noqa: S104
    *("172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1"),
    *("198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "fe80::1", "fec0::1"),
    *("fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "2002:7f00:1::", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "3fff::1", "5f00::1"),
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_of_the_public_internet_is_not_called(address: str) -> None:
    assert not is_public(ip_address(address))
    caller = Outbound(resolve=lambda host, port: [address])
    assert "not on the public Internet" in refused(caller, "https://bank.example/jwks")


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "9.9.9.9", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_an_address_of_the_public_internet_may_be_called(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0"]
)
def test_loopback_is_never_called_however_it_is_spelt(host: str) -> None:
    with far_end(answers(b"{}")) as far:
        refused(Outbound(), far.url(host=host))
        time.sleep(0.05)
        assert far.connections == 0


def test_one_address_that_is_not_public_spoils_the_others() -> None:
    with far_end(answers(b"{}")) as far:
        for found in (["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"]):
            assert "not on the public Internet" in refused(far.outbound(*found), far.url())
        assert far.connections == 0


def test_a_name_that_is_bound_anew_in_between_leads_nowhere_else() -> None:
    with (
        far_end(answers(b"good"), address="127.0.0.2") as public,
        far_end(answers(b"internal"), address="127.0.0.1", port=public.port) as internal,
    ):
        asked: list[str] = []

        def rebinding(host: str, port: int) -> list[str]:
            asked.append(host)
            return [public.address if len(asked) == 1 else internal.address]

        caller = Outbound(
            resolve=rebinding,
            allowed=lambda address: str(address) == public.address,
            tls=ssl.create_default_context(cadata=public.trusted),
        )
        assert caller.get(public.url(), accept="*/*").body == b"good"
        assert asked == [NAME]
        assert "not on the public Internet" in refused(caller, public.url())
        assert internal.connections == 0


@pytest.mark.parametrize(
    "found", [[], ["nonsense"], ["127.0.0.1 "], ["1.2.3"], ["fe80::1%eth0"], ["::1%../../x"]]
)
def test_a_name_server_that_talks_nonsense_leads_nowhere(found: list[str]) -> None:
    refused(Outbound(resolve=lambda host, port: found), "https://bank.example/")


def test_the_error_for_an_unknown_host_does_not_contain_its_name() -> None:
    def not_there(host: str, port: int) -> list[str]:
        raise OSError(f"no such host {host}")

    assert NAME not in refused(Outbound(resolve=not_there), f"https://{NAME}/")


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"]
)
@pytest.mark.parametrize("to", ["https://127.0.0.1/", "http://169.254.169.254/latest/", "/other"])
def test_a_redirect_is_not_followed(status: str, to: str) -> None:
    with far_end(answers(b"", f"Location: {to}", status=status)) as far:
        assert "redirects" in refused(far.outbound(), far.url())
        assert len(far.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://bank.example/",
        "ftp://bank.example/",
        "file:///etc/passwd",
        "gopher://bank.example/",
        "//bank.example/",
        "bank.example",
        "https:///x",
        "https://",
        "https://user@bank.example/",
        "https://user:password@bank.example/",
        "https://bank.example@127.0.0.1/",
        "https://bank.example\\@127.0.0.1/",
        "https://bank.example/#fragment",
        "https://bank.example/#",
        "https://bank.example:0/",
        "https://bank.example:65536/",
        "https://bank.example:x/",
        "https://bank.example/a b",
        "https://bank.example/\r\nHost: other",
        "https://bänk.example/",
        "https://bank.example%2f@127.0.0.1/",
        "https://[::1/",
        "https://bank_%00.example/",
        "https://bank.example/" + "x" * 500,
    ],
)
def test_what_is_no_plain_https_address_is_not_called(url: str) -> None:
    caller = Outbound(resolve=lambda host, port: pytest.fail("a name was looked up"))
    refused(caller, url)


SANDBOX = Outbound(
    loopback=True, resolve=lambda host, port: ["127.0.0.1", "::1"] if host == "localhost" else [host]
)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_a_developers_machine_may_be_called_without_tls_where_that_is_allowed(host: str) -> None:
    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", host)
        assert SANDBOX.post(url, b"{}", content_type="application/json", headers={}).status == 204
        refused(Outbound(), url)

    assert [body for _, body in receiver.received] == [b"{}"]


@pytest.mark.parametrize(
    "url",
    [
        "http://bank.example/",
        "http://127.0.0.1.bank.example/",
        "http://localhost.bank.example/",
        "http://127.0.0.2/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/",
        "http://10.0.0.1/",
        "http://user@127.0.0.1/",
        "http://127.0.0.1@bank.example/",
        "http://127.0.0.1:0/",
        "ftp://127.0.0.1/",
        "https://127.0.0.1/",
        "https://localhost/",
    ],
)
def test_other_hosts_are_never_called_without_tls(url: str) -> None:
    refused(SANDBOX, url)


def test_a_localhost_that_is_another_machine_is_not_called() -> None:
    caller = Outbound(loopback=True, resolve=lambda host, port: ["127.0.0.1", "192.0.2.1"])
    assert "public Internet" in refused(caller, "http://localhost/")


@given(
    st.text(max_size=60) | st.text(alphabet="https:/[]@#?\\.%1a \r\n", max_size=40).map("https://".__add__)
)
@example("https://[::ffff:127.0.0.1]:443/")
@example("https://0?@")
def test_any_text_is_a_target_or_refused(text: str) -> None:
    with suppress(TargetError):
        target = parse(text)
        assert isinstance(target, Target)
        assert not set(target.host + target.path) & set(" \r\n#\\")
        assert "@" not in target.host


# --- Limits of time and size --------------------------------------------------------------------------------


def dripping(piece: bytes, first: bytes = b"") -> Behaviour:
    def behaviour(connection: ssl.SSLSocket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(piece)
            time.sleep(0.02)

    return behaviour


def endless(first: bytes, piece: bytes) -> Behaviour:
    def behaviour(connection: ssl.SSLSocket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(piece)

    return behaviour


def silent(connection: ssl.SSLSocket) -> None:
    threading.Event().wait(SOON)


HEAD = b"HTTP/1.1 200 OK\r\n"
HELD_UP: dict[str, tuple[Behaviour, str]] = {
    "says nothing": (silent, "too long"),
    "a head that drips": (dripping(b"X"), "too long"),
    "headers without end, slowly": (dripping(b"X: y\r\n", HEAD), "too long"),
    "a body that drips": (dripping(b" ", HEAD + b"Content-Length: 60000\r\n\r\n"), "too long"),
    "a body that drips and says no length": (dripping(b" ", HEAD + b"\r\n"), "too long"),
    "chunks that drip": (dripping(b"1\r\nx\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"), "too long"),
    "a body without end": (endless(HEAD + b"\r\n", b" " * 65_536), "longer than"),
    "headers without end": (endless(HEAD, b"X: " + b"y" * 60_000 + b"\r\n"), "longer than"),
    "a line without end": (endless(b"", b"x" * 65_536), "longer than"),
    "chunks without end": (
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        "longer than",
    ),
    "interim answers without end": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), "longer than"),
    "hints without end": (endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000), "longer than"),
    "hints that drip": (dripping(b"HTTP/1.1 103 Early Hints\r\n\r\n"), "too long"),
    "one byte too many": (answers(b"x" * (LONGEST + 1)), "longer than"),
    "a length that no number has": (says(HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nx"), "length"),
    "a length that is less than nothing": (says(HEAD + b"Content-Length: -1\r\n\r\nx"), "length"),
    "cut off": (says(HEAD + b"Content-Length: 10\r\n\r\nx"), "cut off"),
    "cut off in a chunk": (says(HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\nx"), "failed"),
    "compressed": (answers(b"\x1f\x8b", "Content-Encoding: gzip"), "compressed"),
    "no HTTP": (says(b"SSH-2.0-OpenSSH_9.2\r\n"), "failed"),
    "hangs up at once": (says(), "failed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD_UP)
def test_a_call_to_a_slow_or_endless_server_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour, reason = HELD_UP[name]
    if reason == "too long":
        patient(monkeypatch, 1)
    with far_end(behaviour) as far:
        assert reason in refused(far.outbound(), far.url())


@pytest.mark.slow
def test_a_handshake_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 1)
    with far_end(silent, plain=True) as far:
        assert "too long" in refused(far.outbound(), far.url())


@pytest.mark.slow
def test_a_name_server_that_takes_its_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 1)

    def slow(host: str, port: int) -> list[str]:
        silent(None)  # type: ignore[arg-type]
        return ["127.0.0.1"]

    assert "too long" in refused(Outbound(resolve=slow), "https://bank.example/")


@given(
    st.binary(max_size=200) | st.binary(max_size=100).map((HEAD + b"Transfer-Encoding: chunked\r\n").__add__)
)
@example(HEAD + b"Content-Length: -1\r\n\r\n")
@example(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nx")
def test_whatever_bytes_come_are_an_answer_or_an_error_that_is_expected(received: bytes) -> None:
    with suppress(OutboundError, OSError, HTTPException, ValueError):
        assert len(calls._answer(calls._Responses(BytesIO(received)), "GET").body) <= LONGEST


# --- Authorities ------------------------------------------------------------------------------------------


def test_a_certificate_of_an_unknown_authority_is_refused() -> None:
    with far_end(answers(b"{}")) as far:
        caller = Outbound(resolve=lambda host, port: [far.address], allowed=lambda address: True)
        assert "TLS failed" in refused(caller, far.url())
        assert not far.requests


def test_the_authorities_of_the_system_are_read_once_for_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    read, times = ssl.create_default_context, []
    monkeypatch.setattr(ssl, "create_default_context", lambda **given: times.append(given) or read(**given))
    with far_end(answers(b"{}")) as far:
        for _ in range(3):
            caller = Outbound(resolve=lambda host, port: [far.address], allowed=lambda address: True)
            assert "TLS failed" in refused(caller, far.url())

    assert len([given for given in times if not given]) <= 1  # none, if an earlier test has read them


def test_a_certificate_of_another_name_is_not_believed() -> None:
    with far_end(answers(b"{}"), name="other.example") as far:
        assert "TLS failed" in refused(far.outbound(), far.url())
        assert not far.requests


def test_one_that_speaks_no_tls_gets_nothing() -> None:
    with far_end(says(b"HTTP/1.1 200 OK\r\n\r\n{}"), plain=True) as far:
        refused(far.outbound(), far.url())


@pytest.mark.parametrize("headers", [{"X": "a\r\nY: b"}, {"X\r\nY": "a"}, {"X": "ü"}])
def test_a_header_cannot_smuggle_another(headers: Any) -> None:
    with far_end(answers(b"{}")) as far, pytest.raises(OutboundError):
        far.outbound().post(far.url(), b"", content_type="text/plain", headers=headers)
    assert not any(b"Y: b" in request for request in far.requests)


# --- Hosts with several addresses -------------------------------------------------------------------------


def reached(far: FarEnd, *addresses: str) -> Outbound:
    """An Outbound that trusts the certificate of `far`, and finds its name at these addresses."""
    return Outbound(
        resolve=lambda host, port: list(addresses),
        allowed=lambda address: True,
        tls=ssl.create_default_context(cadata=far.trusted),
    )


def test_a_second_address_is_tried_when_the_first_refuses_connections() -> None:
    with far_end(answers(b"{}"), address="127.0.0.2") as far:
        assert reached(far, "127.0.0.3", "127.0.0.2").get(far.url(), accept="*/*").body == b"{}"


@contextmanager
def dropping_packets(address: str, port: int) -> Iterator[None]:
    """An address at which every attempt to connect waits, as behind a firewall or a broken IPv6 route."""
    with closing(socket.socket()) as full, ExitStack() as waiting:
        full.bind((address, port))
        full.listen(0)  # Linux ignores further attempts while these connections are not accepted
        for _ in range(3):
            client = waiting.enter_context(closing(socket.socket()))
            client.setblocking(False)
            with suppress(BlockingIOError):
                client.connect((address, port))
        yield


@pytest.mark.slow
@pytest.mark.parametrize("before", [1, 3])
def test_an_address_that_drops_packets_leaves_time_for_the_next(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch, 8)
    with far_end(answers(b"{}"), address="127.0.0.2") as far, ExitStack() as holes:
        dead = [f"127.0.0.{number}" for number in range(3, 3 + before)]
        for address in dead:
            holes.enter_context(dropping_packets(address, far.port))
        assert reached(far, *dead, far.address).get(far.url(), accept="*/*").body == b"{}"


@pytest.mark.slow
def test_an_address_at_which_the_handshake_stalls_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patient(monkeypatch, 8)
    with (
        far_end(answers(b"{}"), address="127.0.0.2") as far,
        far_end(silent, address="127.0.0.3", port=far.port, plain=True) as stalled,
    ):
        assert reached(far, stalled.address, far.address).get(far.url(), accept="*/*").body == b"{}"
        assert stalled.connections == 1


def test_a_wrong_certificate_at_one_address_ends_the_call() -> None:
    with (
        far_end(answers(b"{}"), address="127.0.0.2") as far,
        far_end(answers(b"{}"), address="127.0.0.3", port=far.port) as impostor,
    ):
        caller = reached(far, impostor.address, far.address)
        assert "TLS failed" in refused(caller, far.url())
        assert not far.requests


@pytest.mark.parametrize(
    ("found", "tried"),
    [
        (["::1", "::2", "::3", "::4", "::5", "127.0.0.1"], ["::1", "127.0.0.1", "::2", "::3"]),
        (["127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"], ["127.0.0.1", "::1", "127.0.0.2", "127.0.0.3"]),
        (["127.0.0.1", "::1", "::2"], ["127.0.0.1", "::1", "::2"]),
        (["::2", "::1"], ["::2", "::1"]),
        (["127.0.0.1", "127.0.0.1"], ["127.0.0.1"]),
    ],
)
def test_both_kinds_of_addresses_are_tried_however_many_there_are_of_one(
    found: list[str], tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[str] = []

    def refusing(address: tuple[str, int], timeout: float) -> socket.socket:
        connections.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refusing)
    refused(Outbound(resolve=lambda host, port: found, allowed=lambda address: True), f"https://{NAME}/")
    assert connections == tried
