"""What clients may have on their way in each deployment, against the place that there is for it."""

import ipaddress
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from threading import Thread

import pytest
import yaml
from django.conf import settings
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from infra import browser, client_addresses
from tests.nginx_in_front import HOST, ID, SHIPPED, Server, Visitor, proxy, running
from tests.ports import free_port
from tests.project_copy import ROOT
from tests.setup_program import Setup
from wallet.identity.views.upload import MOST

UPLOAD = f"/wallet/errands/{ID}/identity/upload/"
PLACE = "/var/lib/presentation-uploads"
UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}
OTHER = "127.0.0.9"  # another client than the slow one
NOBODY = ipaddress.IPv4Address("255.255.255.255")  # nginx reads no such address in a header
# A busy machine may need longer to open all connections of a test.
PATIENT = SHIPPED.replace("client_body_timeout 20s", "client_body_timeout 600s")
needs_nginx = pytest.mark.nginx


def number_of_bytes(text: str) -> int:
    """What nginx, tmpfs and Kubernetes mean by `256k`, `512m` or `512Mi`."""
    found = re.fullmatch("([0-9]+)([kmg])i?", text.lower())
    assert found
    return int(found[1]) * UNITS[found[2]]


def value(block: str, directive: str) -> str:
    """The only value of a directive; empty if it is not there."""
    values = re.findall(rf"^ *{directive} +([^;]+);", block, re.MULTILINE)
    assert len(values) <= 1, directive
    return values[0] if values else ""


class Configuration:
    """A configuration of nginx: the first server's own directives, and its locations."""

    def __init__(self, text: str) -> None:
        server = re.split(r"^server \{$", text, flags=re.MULTILINE)[1]
        self.locations = dict(
            re.findall(r"^    location ([^{]+(?:\{[0-9,]+\})?[^{]*) \{(.*?)^    \}", server, re.M | re.S)
        )
        self.own = re.sub(r"^    location .*?^    \}", "", server, flags=re.MULTILINE | re.DOTALL)
        self.longest = number_of_bytes(value(self.own, "client_max_body_size"))
        self.requests = int(value(self.own, "limit_conn requests"))

    def kept_at_most(self, location: str) -> int:
        """The bytes of one body that nginx keeps in this location."""
        block = self.locations[location]
        if value(block, "proxy_request_buffering") == "off":
            # For a server that speaks HTTP/1.0 nginx keeps bodies without Content-Length all the same.
            assert value(block, "proxy_http_version") == "1.1"
            return 0
        own = value(block, "client_max_body_size")
        if own == "0":  # a page instead of an answer: what is left of the body is dropped
            assert "internal;" in block
            assert "proxy_pass" not in block
            return 0
        return number_of_bytes(own) if own else self.longest


def of_systemd(folder: Path, run_setup: Setup) -> tuple[str, str]:
    assert run_setup("systemd").returncode == 0
    document = (ROOT / "docs" / "operate.md").read_text()
    (size,) = re.findall(rf"tmpfs {PLACE} tmpfs size=(\w+),", document)
    return (folder / "made" / "nginx.conf").read_text(), size


def of_compose(folder: Path, run_setup: Setup) -> tuple[str, str]:
    assert run_setup("compose").returncode == 0
    nginx = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["nginx"]
    (size,) = re.findall(rf"^{PLACE}:size=(\w+)$", "\n".join(nginx["tmpfs"]), re.MULTILINE)
    return (folder / "made" / "nginx.conf").read_text(), size


def of_kubernetes(folder: Path, run_setup: Setup) -> tuple[str, str]:
    base = ROOT / "deploy" / "kubernetes-base"
    command = ["sed", "-f", str(base / "nginx.sed"), str(ROOT / "deploy" / "nginx.conf.template")]
    front, *_others = yaml.safe_load_all((base / "front.yaml").read_text())
    pod = front["spec"]["template"]["spec"]
    (mount,) = [each for each in pod["containers"][0]["volumeMounts"] if each["mountPath"] == PLACE]
    (volume,) = [each for each in pod["volumes"] if each["name"] == mount["name"]]
    return subprocess.check_output(command, text=True), volume["emptyDir"]["sizeLimit"]


@pytest.mark.parametrize("deployment", [of_systemd, of_compose, of_kubernetes])
def test_the_place_for_bodies_has_room_for_all_that_clients_may_have_on_their_way(
    deployment: Callable[[Path, Setup], tuple[str, str]],
    tmp_path: Path,
    setup: Setup,
) -> None:
    text, size = deployment(tmp_path, setup)

    made = Configuration(text)
    assert value(made.own, "client_body_temp_path") == PLACE
    assert len(made.locations) >= 8
    longest = max([made.longest, *map(made.kept_at_most, made.locations)])
    assert made.requests * longest <= number_of_bytes(size)


def test_one_location_takes_longer_bodies_than_others_and_every_location_has_the_bounds() -> None:
    shipped = Configuration(SHIPPED)

    longer = [
        name
        for name, block in shipped.locations.items()
        if value(block, "client_max_body_size") not in ("", "0")
    ]
    assert [bool(re.search(name.removeprefix("~ "), UPLOAD)) for name in longer] == [True]
    bounds = re.findall("limit_conn [^;]+;", shipped.own)
    assert len(bounds) == 2
    for block in shipped.locations.values():  # nginx ignores those of the server where a location has one
        own = re.findall("limit_conn [^;]+;", block)
        assert not own or set(bounds) < set(own)


def test_nginx_takes_what_the_service_takes() -> None:
    shipped = Configuration(SHIPPED)

    assert shipped.longest == settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    (location,) = [block for name, block in shipped.locations.items() if "identity/upload" in name]
    assert number_of_bytes(value(location, "client_max_body_size")) >= MOST + shipped.longest


# With nginx


class Slow:
    """A connection with the beginning of a body, through TLS; `first` is what a balancer writes before."""

    def __init__(
        self, port: int, path: str, address: str, length: int, *, first: bytes = b"", **headers: str
    ):
        connection = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))
        connection.sendall(first)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.connection = context.wrap_socket(connection)
        headers |= {"Host": HOST, "Content-Length": str(length), "Expect": "100-continue"}
        lines = [
            f"POST {path} HTTP/1.1",
            *(f"{name.replace('_', '-')}: {text}" for name, text in headers.items()),
        ]
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode() + b"x" * 20_000)

    def taken(self) -> "Slow":
        """Waits until nginx has counted the request and reads its body (RFC 9110 §10.1.1)."""
        said = b""
        while not said.endswith(b"\r\n\r\n"):
            said += self.connection.recv(1)
        assert said.startswith(b"HTTP/1.1 100 ")
        return self

    def status(self) -> int:
        response = HTTPResponse(self.connection, method="POST")
        response.begin()
        return response.status

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


@pytest.fixture
def instance() -> Iterator[Server]:
    with Server(dies=False) as server:
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield server
        server.shutdown()


@needs_nginx
@pytest.mark.parametrize(("path", "most"), [(UPLOAD, 8), ("/wallet/close/", 100)])
def test_one_client_has_so_many_requests_on_their_way_and_others_pass(
    path: str, most: int, instance: Server, tmp_path: Path
) -> None:
    port = free_port()
    with proxy(tmp_path, port, instance.server_address[1], text=PATIENT), ExitStack() as held:
        for _ in range(most):
            held.enter_context(Slow(port, path, "127.0.0.2", 200_000).taken())
        refused = held.enter_context(Slow(port, path, "127.0.0.2", 200_000)).status()
        answer, _ = Visitor(port, HOST, address=OTHER).ask("POST", path, "a=b")

    assert (refused, answer.status) == (503, 204)


BALANCERS = {
    "a header": ("X-Forwarded-For", ""),
    "the PROXY protocol": ("proxy_protocol", " proxy_protocol"),
}


@needs_nginx
@pytest.mark.parametrize("how", BALANCERS)
def test_behind_a_balancer_each_client_counts_by_its_own_address(
    how: str, instance: Server, tmp_path: Path
) -> None:
    said_by, listening = BALANCERS[how]
    port, direct, to = free_port(), free_port(), instance.server_address[1]
    trusted = f"set_real_ip_from 127.0.0.1; real_ip_header {said_by};"
    text = PATIENT.replace("upstream presentation {", f"{trusted}\nupstream presentation {{", 1)
    here = {
        "listen 443 ssl http2;": f"listen 127.0.0.1:{direct} ssl; listen 127.0.0.1:{port} ssl{listening};",
        "listen [::]:443 ssl http2;": "",
        "listen [::]:80;": "",
        "listen 80": f"listen 127.0.0.1:{free_port()}",
        "server 127.0.0.1:8001": f"server 127.0.0.1:{to}",
        "server 127.0.0.1:8002": f"server 127.0.0.1:{to}",
        "/var/log/nginx": str(tmp_path),
    }

    def sent(address: str, length: int) -> Slow:
        """What the balancer passes on of this client."""
        if not listening:
            return Slow(port, UPLOAD, "127.0.0.1", length, X_Forwarded_For=address)
        line = f"PROXY TCP6 {address} ::1 1 2" if ":" in address else f"PROXY TCP4 {address} 127.0.0.1 1 2"
        return Slow(port, UPLOAD, "127.0.0.1", length, first=f"{line}\r\n".encode())

    with running(tmp_path, direct, text, here), ExitStack() as held:
        for host in range(8):
            held.enter_context(sent(f"2001:db8:1:2::{host}", 200_000).taken())
        same, neighbour, another = (
            held.enter_context(sent(address, 20_000)).status()
            for address in ("2001:db8:1:2::9", "2001:db8:1:3::1", "192.0.2.7")
        )

    assert (same, neighbour, another) == (503, 204, 204)


def packed(address: str) -> bytes:
    """The client's network as the service counts it, in the bytes that nginx counts by."""
    named = browser.address(RequestFactory().get("/", REMOTE_ADDR=address))
    assert named is not None
    network = ipaddress.ip_network(named)
    counted = network.network_address.packed[: network.prefixlen // 8]
    received = ipaddress.ip_address(address)
    if received.version == 6 and received.teredo:
        return b"teredo" + bytes(0xFF - byte for byte in counted)  # nginx cannot invert it
    return counted


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], bytes]]:
    """By which bytes nginx counts a client."""
    folder, port = tmp_path_factory.mktemp("counted"), free_port()
    (rule,) = re.findall(r"^map \$binary_remote_addr.*?^\}", SHIPPED, re.MULTILINE | re.DOTALL)
    site = (
        f"{rule}\nset_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n"
        f"server {{ listen 127.0.0.1:{port} ssl; default_type application/octet-stream;\n"
        "ssl_certificate /etc/ssl/presentation/fullchain.pem;\n"
        "ssl_certificate_key /etc/ssl/presentation/privkey.pem;\n"
        'location / { return 200 "$client_network"; } }\n'
        "# /srv/presentation/current /var/lib/presentation-acme /var/lib/presentation-uploads\n"
    )

    def ask(address: str) -> bytes:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
            lines = [
                "GET / HTTP/1.1",
                f"Host: {HOST}",
                f"X-Forwarded-For: {address}",
                "Connection: close",
                "",
                "",
            ]
            connection.sendall("\r\n".join(lines).encode())
            response = HTTPResponse(connection)
            response.begin()
            return response.read()

    with running(folder, port, site, {}):
        yield ask


@needs_nginx
@given(address=st.ip_addresses().filter(lambda a: a != NOBODY and client_addresses.read(str(a))))
def test_nginx_counts_a_client_by_the_network_by_which_the_service_does(
    counted: Callable[[str], bytes], address: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> None:
    assert counted(str(address)) == packed(str(address))


@needs_nginx
@pytest.mark.parametrize(
    "address",
    ["2001:db8::a0a:0a0a", "a0a:a0a::", "::1", "::ffff:192.0.2.1", "::ffff:10.10.10.10", "10.10.10.10"],
)
def test_bytes_that_are_line_ends_and_addresses_of_the_other_family_count_right(
    counted: Callable[[str], bytes], address: str
) -> None:
    assert counted(address) == packed(address)


@needs_nginx
@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::192.0.2.1",
        "64:ff9b::10.10.10.10",
        "64:ff9b:0:1::192.0.2.1",  # in no prefix
        "64:ff9b:1:7:8:9:192.0.2.1",
        "64:ff9b:1:a0a:a:a0a:a0a:a0a",
        "64:ff9b:1:7:108:9:192.0.2.1",  # bits 64 to 71 are not zero
        "64:ff9b:1:c000:2:100::",  # a prefix of /48: C0.00, 02.01
        "64:ff9b:1:0:c0:2:100:0",  # a prefix of /64
        "2002:c000:201:7::1",
        "2002:a0a:a0a:a0a:a0a:a0a:a0a:a0a",
        "2001:0:c000:201:8000:f00:3fff:fdfe",
        "2001:0:a0a:a0a:a0a:a0a:a0a:a0a",
    ],
)
def test_an_address_inside_of_another_counts_as_it_does_for_the_service(
    counted: Callable[[str], bytes], address: str
) -> None:
    assert counted(address) == packed(address)


@needs_nginx
@pytest.mark.parametrize("accepted", ["text/html,*/*", "application/json"])
def test_when_a_body_cannot_be_kept_there_is_a_calm_page(
    accepted: str, instance: Server, tmp_path: Path
) -> None:
    port = free_port()
    with proxy(tmp_path, port, instance.server_address[1]):
        shutil.rmtree(tmp_path / "uploads")  # as when there is no room: nginx cannot make the file
        answer, page = Visitor(port, HOST).ask("POST", "/wallet/close/", "x" * 200_000, Accept=accepted)
        short, _ = Visitor(port, HOST).ask("POST", "/wallet/close/", "a=b")

    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert ("It is not your fault" in page) == accepted.startswith("text/html")
    assert short.status == 204


@needs_nginx
@pytest.mark.parametrize(
    ("accepted", "words"), [("text/html", "Es demasiado largo"), ("*/*", "invalid_request")]
)
def test_who_sends_too_much_reads_so(accepted: str, words: str, instance: Server, tmp_path: Path) -> None:
    port = free_port()
    with proxy(tmp_path, port, instance.server_address[1]):
        answer, page = Visitor(port, HOST).ask("POST", "/oauth/v2/token", "x" * 300_000, Accept=accepted)

    assert answer.status == 413
    assert words in page


@needs_nginx
def test_while_no_instance_answers_the_form_with_pictures_gets_the_calm_page_too(tmp_path: Path) -> None:
    port = free_port()
    with proxy(tmp_path, port, free_port()):
        answer, page = Visitor(port, HOST).ask("POST", UPLOAD, "x" * 300_000, Accept="text/html")

    assert answer.status == 503
    assert "It is not your fault" in page
