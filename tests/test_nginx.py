"""The configurations of nginx and gunicorn in deploy/, as in production, on a port other than 443."""

import ipaddress
import json
import os
import re
import signal
import ssl
import subprocess
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from http.client import HTTPResponse, HTTPSConnection
from http.cookies import SimpleCookie
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from time import sleep
from urllib.parse import urlencode

import pytest

from tests.own_databases import ROOT, manage, own_database, production
from tests.ports import free_port
from tests.programs import nginx
from tools.benchmarks.sites import Site
from tools.fuzz.routes import routes as every_route

pytestmark = [pytest.mark.nginx, pytest.mark.postgresql]
HOST = "wallet.example"
ID = "0c6b4f3e-0000-4000-8000-000000000000"
SHIPPED = (ROOT / "deploy" / "nginx.conf").read_text()
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """A minimal browser: cookies, `Origin`, and the host with its port."""

    def __init__(self, port: int, name: str, *, address: str = "127.0.0.1") -> None:
        self.port, self.name, self.cookies, self.source = port, name, SimpleCookie(), (address, 0)

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[HTTPResponse, str]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sent = {"Host": self.name, "Cookie": self.cookies.output(attrs=[], header="", sep=";").strip()}
        to_nginx = HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=context, source_address=self.source
        )
        with closing(to_nginx) as connection:
            connection.request(method, path, body, sent | headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            self.cookies.load(cookie)
        return answer, text

    def submit(self, path: str, **fields: str) -> tuple[HTTPResponse, str]:
        """Open the page with the form, then send it as a browser would."""
        answer, page = self.ask("GET", path)
        assert answer.status == 200, page
        token, origin = TOKEN.search(page), f"https://{self.name}"  # only forms of the admin have a token
        body = urlencode(({"csrfmiddlewaretoken": token[1]} if token else {}) | fields)
        form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        return self.ask("POST", path, body, **form, Origin=origin, Referer=f"{origin}{path}")


@contextmanager
def proxy(
    folder: Path, port: int, *instances: int, plain: int | None = None, text: str = SHIPPED
) -> Iterator[None]:
    """Runs nginx with deploy/nginx.conf and the paths, ports and certificate of this test.

    instances: the ports of one instance or two. plain: the port without TLS.
    """
    here = {
        "listen 443 ssl http2": f"listen 127.0.0.1:{port} ssl http2",
        "listen 80": f"listen 127.0.0.1:{plain or free_port()}",
        "server 127.0.0.1:8001": f"server 127.0.0.1:{instances[0]}",
        "server 127.0.0.1:8002": f"server 127.0.0.1:{instances[-1]}",
        "/var/log/nginx": str(folder),
    }
    with running(folder, port, text, here):
        yield


@contextmanager
def running(folder: Path, port: int, text: str, here: dict[str, str]) -> Iterator[None]:
    """Runs nginx with this configuration until it answers at the port; `here` replaces parts of the text."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={HOST}"
    subprocess.run(
        [*made.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    paths_here = {
        "/srv/presentation/current": str(ROOT),
        "/etc/ssl/presentation/fullchain.pem": str(certificate),
        "/etc/ssl/presentation/privkey.pem": str(key),
        "/var/lib/presentation-acme": str(folder / "acme"),
        "/var/lib/presentation-uploads": str(folder / "uploads"),
    }
    for shipped, replacement in (here | paths_here).items():
        assert shipped in text
        text = text.replace(shipped, replacement)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    (folder / "site.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ {paths} include {folder}/site.conf; }}\n"
    )
    command = [str(nginx()), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    if os.geteuid() == 0:
        command += ["-g", "user root;"]  # www-data could not write here
    process = subprocess.Popen(command)
    try:
        for _ in range(1200):
            assert process.poll() is None
            with suppress(OSError):
                Visitor(port, HOST).ask("GET", "/nowhere")
                break
            sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that nginx writes to."""
    return tmp_path_factory.mktemp("nginx")


@pytest.fixture(scope="module")
def port(logs: Path) -> Iterator[int]:
    """The port of nginx in front of a service whose base address names that port."""
    folder, port = logs, free_port()
    with own_database() as url:
        environment = production(url, folder) | {
            "BASE_URL": f"https://{HOST}:{port}",
            "TRUSTED_PROXY_COUNT": "1",
            "DJANGO_SUPERUSER_PASSWORD": "a-long-enough-password",
        }
        operator = ("createsuperuser", "--no-input", "--username", "operator", "--email", "o@wallet.example")
        for words in (("migrate", "--verbosity", "0"), ("collectstatic", "--no-input"), operator):
            done = manage(environment, *words)
            assert done.returncode == 0, done.stderr
        with (
            Site("config.wsgi", environment, ready="/.well-known/openid-configuration") as site,
            proxy(folder, port, site.port),
        ):
            yield port


def test_an_operator_signs_in_through_nginx_on_a_port_other_than_443(port: int) -> None:
    answer, page = Visitor(port, f"{HOST}:{port}").submit(
        "/admin/login/?next=/admin/", username="operator", password="a-long-enough-password"
    )

    assert (answer.status, answer.headers["Location"]) == (302, "/admin/"), page


def test_the_admin_is_only_for_the_networks_in_the_configuration() -> None:
    block = SHIPPED.split("location /admin/ {")[1].split("}")[0]
    rules = re.findall(r"^ *(allow|deny) (\S+);", block, re.MULTILINE)

    assert rules[-1] == ("deny", "all")
    networks = [ipaddress.ip_network(network) for rule, network in rules[:-1] if rule == "allow"]
    assert len(networks) == len(rules) - 1
    assert all(network.is_private for network in networks)


def test_a_holders_form_is_accepted_through_nginx_on_a_port_other_than_443(port: int) -> None:
    answer, page = Visitor(port, f"{HOST}:{port}").submit("/wallet/sign-in/", email="no address")

    assert answer.status == 422, page


@pytest.mark.parametrize("origin", ["https://evil.example", f"https://{HOST}", f"https://{HOST}:1"])
def test_a_form_of_another_origin_is_still_refused(port: int, origin: str) -> None:
    visitor = Visitor(port, f"{HOST}:{port}")
    _answer, page = visitor.ask("GET", "/admin/login/")
    token = TOKEN.search(page)
    assert token
    body = urlencode({"csrfmiddlewaretoken": token[1], "username": "operator", "password": "x"})

    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin}
    answer, _page = visitor.ask("POST", "/admin/login/", body, **form)

    assert answer.status == 403


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 422),
        ({"Origin": "{base}"}, 422),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": f"https://{HOST}"}, 403),
        ({"Origin": "{base}", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "{base}", "Sec-Fetch-Site": ""}, 403),
        ({"Origin": "{base}", "Sec_Fetch_Site": "same-origin", "Sec-Fetch-Site": "none"}, 403),
        ({}, 403),
    ],
)
def test_what_a_browser_says_of_a_holders_form_arrives_through_nginx(
    port: int, said: dict[str, str], status: int
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    headers |= {name: value.format(base=f"https://{HOST}:{port}") for name, value in said.items()}
    visitor = Visitor(port, f"{HOST}:{port}")
    answer, _page = visitor.ask("POST", "/wallet/sign-in/", urlencode({"email": "no address"}), **headers)
    assert answer.status == status


@pytest.mark.parametrize("name", ["evil.example", f"{HOST}.evil.example", f"{HOST}@evil.example", "[::1]"])
def test_an_unknown_host_is_refused_and_does_not_appear_in_the_answer(port: int, name: str) -> None:
    answer, page = Visitor(port, name).ask("GET", "/wallet/")

    assert answer.status == 400
    assert "evil" not in page + str(answer.headers)


def test_an_unknown_port_changes_no_address_in_the_answer(port: int) -> None:
    answer, page = Visitor(port, f"{HOST}:1").ask("GET", "/.well-known/openid-configuration")

    assert answer.status == 200
    assert f"https://{HOST}:{port}/" in page
    assert f"{HOST}:1/" not in page


def test_neither_a_query_nor_the_secret_of_a_link_is_logged(port: int, logs: Path) -> None:
    visitor = Visitor(port, f"{HOST}:{port}")

    visitor.ask("GET", f"/wallet/link/{'s' * 22}/?q=nora%40example.org")

    for _ in range(1200):
        written = (logs / "wallet.log").read_text()
        if "/wallet/link/" in written:
            break
        sleep(0.05)
    assert "GET /wallet/link/(secret)" in written
    assert "s" * 22 not in written
    assert "nora" not in written


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_the_state_of_an_instance_is_not_for_outsiders(port: int, path: str) -> None:
    inside, _text = Visitor(port, f"{HOST}:{port}").ask("GET", path)
    outside, text = Visitor(port, f"{HOST}:{port}", address="127.0.0.2").ask("GET", path)

    assert inside.status != 403
    assert outside.status == 403
    assert "checks" not in text


def test_one_id_is_in_the_log_of_nginx_and_in_the_answer_whatever_the_client_sends(
    port: int, logs: Path
) -> None:
    answer, page = Visitor(port, f"{HOST}:{port}").ask("GET", "/nowhere/", **{"X-Request-ID": "a" * 32})

    used = answer.headers["X-Request-ID"]
    assert used != "a" * 32
    assert used[:8].upper() in page
    for _ in range(1200):
        if used in (written := (logs / "wallet.log").read_text()):
            break
        sleep(0.05)
    assert used in written


AWAY = ("GET", "POST")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of nginx in front of instances that are not there."""
    port = free_port()
    with proxy(tmp_path_factory.mktemp("alone"), port, free_port(), free_port()):
        yield port


def test_one_client_cannot_ask_the_admin_without_end_and_holders_notice_nothing(alone: int) -> None:
    """Without an instance, so that answers come faster than the rate allows, however busy the machine is."""
    with ThreadPoolExecutor(8) as threads:
        asked = threads.map(lambda _: Visitor(alone, HOST).ask("GET", "/admin/")[0].status, range(200))
        statuses = Counter(asked)

    assert set(statuses) == {503, 429}
    assert statuses[503] >= 30
    assert Visitor(alone, HOST).ask("GET", "/wallet/sign-in/")[0].status == 503


@pytest.mark.parametrize("method", AWAY)
def test_while_no_instance_answers_people_see_a_calm_page_and_may_come_back_in_seconds(
    alone: int, method: str
) -> None:
    answer, page = Visitor(alone, HOST).ask(method, "/wallet/?q=nora%40example.org", Accept="text/html,*/*")

    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert answer.headers["Content-Type"] == "text/html"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Location" not in answer.headers  # the address in the bar is the one to open again
    assert "It is not your fault" in page
    assert "No es culpa suya" in page
    assert "nora" not in page


@pytest.mark.parametrize("method", AWAY)
@pytest.mark.parametrize("accepted", ["*/*", "application/json"])
def test_while_no_instance_answers_programs_get_the_error_that_the_service_itself_gives(
    alone: int, method: str, accepted: str
) -> None:
    answer, body = Visitor(alone, HOST).ask(method, "/oauth/v2/token", Accept=accepted)

    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(body)["error"] == "temporarily_unavailable"


class Server(ThreadingTCPServer):
    """An instance that reads each request and then either says 204 or is killed; `seen` counts requests.

    `says` is another status that it says.
    """

    daemon_threads = True

    def __init__(self, *, dies: bool, says: str = "204 No Content") -> None:
        self.dies, self.says, self.seen = dies, says, 0
        super().__init__(("127.0.0.1", 0), Exchange)


class Exchange(StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        length = re.search(rb"(?i)content-length: (\d+)", head)
        self.rfile.read(int(length[1]) if length else 0)
        self.server.seen += 1
        if not self.server.dies:
            self.wfile.write(f"HTTP/1.1 {self.server.says}\r\nConnection: close\r\n\r\n".encode())


# Parameters that may stand in a log: what is public, and the IDs of rows, which are of no use to others.
NO_SECRETS = ("uuid:", "int:", "slug:", "str:client_id", "str:requester_id", "str:name")


def secret_paths() -> dict[str, str]:
    """The beginning of each path of this service that has a secret, with an example of the path."""
    found = {}
    for route in (route for route in every_route() if not route.startswith("/admin/")):
        parameters = re.findall(r"(?<!P)<([^>]+)>", route)
        if not all(parameter.startswith(NO_SECRETS) for parameter in parameters):
            example = re.sub("<slug:[a-z_]+>", "eu_wallet", route)
            found[example.partition("<")[0]] = re.sub("<[^>]+>", "request/" + "s" * 32, example)
    assert len(found) >= 5
    return found


def test_no_secret_of_any_address_is_logged(tmp_path: Path) -> None:
    asked, port = secret_paths(), free_port()
    with Server(dies=False) as instance:
        Thread(target=instance.serve_forever, daemon=True).start()
        with proxy(tmp_path, port, instance.server_address[1]):
            for path in asked.values():
                Visitor(port, HOST).ask("GET", path)
                Visitor(port, HOST).ask("GET", path.replace("/", "//", 1).replace("ss", "s%73", 1))
        instance.shutdown()

    written = (tmp_path / "wallet.log").read_text()  # nginx has ended, so all of it is there
    assert "s" * 10 not in written
    for before in asked:
        assert written.count(f"GET {before}(secret)") == 2


@pytest.mark.parametrize("dies", [True, False])
@pytest.mark.parametrize(
    ("method", "path", "sent_again"),
    [
        ("GET", "/wallet/", True),
        ("POST", f"/verifiable-credentials/v1/presentation/interactions/{ID}/", True),
        ("POST", f"/wallet/errands/{ID}/code/", True),
        ("POST", f"/wallet/errands/{ID}/identity/upload/", False),
        ("POST", "/wallet/close/", False),
        ("POST", "/admin/", False),
        ("POST", "/oauth/v2/token", False),
        ("POST", "/verifiable-credentials/v1/presentation/par", False),
    ],
)
def test_when_an_instance_dies_over_a_request_or_has_no_database_only_what_does_no_harm_goes_to_the_next(
    dies: bool, method: str, path: str, sent_again: bool, tmp_path: Path
) -> None:
    with Server(dies=dies, says="503 Service Unavailable") as dying, Server(dies=False) as other:
        statuses = six_answers(tmp_path, method, path, dying, other)

    assert dying.seen
    assert other.seen == statuses.count(204)
    assert set(statuses) == ({204} if sent_again else {204, 503})


def test_an_answer_that_says_that_another_server_is_away_is_not_asked_for_twice(tmp_path: Path) -> None:
    with Server(dies=False, says="502 Bad Gateway") as first, Server(dies=False) as other:
        statuses = six_answers(tmp_path, "POST", f"/wallet/errands/{ID}/identity/start/", first, other)

    assert (statuses.count(502), statuses.count(204)) == (first.seen, other.seen)
    assert first.seen


def six_answers(folder: Path, method: str, path: str, *instances: Server) -> list[int]:
    """The statuses of six requests to these instances behind nginx."""
    port = free_port()
    for server in instances:
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    with proxy(folder, port, *(server.server_address[1] for server in instances)):
        for server in instances:
            server.seen = 0
        statuses = [Visitor(port, HOST).ask(method, path, "a=b")[0].status for _ in range(6)]
    for server in instances:
        server.shutdown()
    return statuses


def test_the_calm_page_has_the_styles_that_its_policy_allows_and_loads_nothing(alone: int) -> None:
    answer, page = Visitor(alone, HOST).ask("GET", "/wallet/", Accept="text/html")

    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{hashed}'" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert not re.search(r"src=|<script|<link|<form|url\(|style=", page)


@pytest.mark.parametrize("name", ["away.html", "away.json"])
def test_the_calm_page_has_no_address_of_its_own(port: int, name: str) -> None:
    answer, page = Visitor(port, f"{HOST}:{port}").ask("GET", f"/{name}")

    assert answer.status == 404
    assert "your fault" not in page
