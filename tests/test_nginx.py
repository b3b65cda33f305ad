"""The configurations of nginx and gunicorn in deploy/, as in production, on a port other than 443."""

import ipaddress
import json
import re
import runpy
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Thread
from time import sleep
from urllib.parse import urlencode

import pytest

from tests.nginx_in_front import HOST, ID, SHIPPED, TOKEN, Server, Visitor, proxy
from tests.own_databases import ROOT, manage, own_database, production
from tests.ports import free_port
from tools.benchmarks.sites import Site
from tools.fuzz.routes import routes as every_route

pytestmark = [pytest.mark.nginx, pytest.mark.postgresql]


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


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/wallet/", {"Cookie": "a=" + "x" * 17_000}, 431),
        ("/wallet/", {"Cookie": "; ".join(f"c{n}=" + "x" * 4000 for n in range(180))}, 431),
        ("/wallet/?q=" + "x" * 8200, {}, 414),
        ("/wallet/?q=" + "x" * 20_000, {}, 414),
    ],
)
def test_more_cookies_or_a_longer_address_than_the_service_reads_get_a_page_that_says_what_to_do(
    alone: int, path: str, headers: dict[str, str], status: int
) -> None:
    answer, page = Visitor(alone, HOST).ask("GET", path, Accept="text/html", **headers)

    assert (answer.status, answer.headers["Content-Type"]) == (status, "text/html")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Delete the cookies of this website" in page
    assert "Borre las cookies de este sitio web" in page

    answer, text = Visitor(alone, HOST).ask("GET", "/wallet/?q=" + "x" * 8200, Accept="application/json")
    assert (answer.status, answer.headers["Content-Type"]) == (414, "application/json")
    assert json.loads(text) == {
        "error": "invalid_request",
        "error_description": "The address or the headers of the request are too long.",
    }


def test_what_nginx_accepts_the_service_reads(port: int) -> None:
    """15 kB of cookies, and an address of 8 kB: more than gunicorn takes by default."""
    cookies = "; ".join(f"c{number}=" + "x" * 3000 for number in range(5))
    for path in ("/wallet/sign-in/", "/wallet/sign-in/?q=" + "x" * 8100):
        answer, _page = Visitor(port, HOST).ask("GET", path, Cookie=cookies)
        assert answer.status == 200, path


def test_the_limits_of_nginx_and_gunicorn_fit_together() -> None:
    """Everything that nginx passes on must be within gunicorn's limits, which has no pages for people."""
    gunicorn = runpy.run_path(str(ROOT / "deploy" / "gunicorn.conf.py"))
    for text in (SHIPPED, (ROOT / "deploy" / "nginx.conf.template").read_text()):
        [(number, kilobytes)] = re.findall(r"large_client_header_buffers (\d+) (\d+)k;", text)
        assert int(number) * int(kilobytes) * 1024 <= gunicorn["limit_request_field_size"]
        [longest] = re.findall(r'"~\^0\.\{(\d+)\}" 1;', text)
        around = len("DELETE ") + len(" HTTP/1.1") + len("\r\n")
        assert int(longest) + around <= gunicorn["limit_request_line"]


def test_nginx_listens_on_ipv6_wherever_it_listens_on_ipv4() -> None:
    listens = re.findall(r"^\s*listen (.*?);", SHIPPED, re.MULTILINE)

    assert sorted(words for words in listens if words.startswith("[::]:")) == sorted(
        f"[::]:{words}" for words in listens if not words.startswith("[")
    )
    assert len(listens) == 4


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
