"""The database is away, or hangs: pages and endpoints answer 503, and no restart is needed.

A PostgreSQL of its own that is stopped, started and suspended, behind a gunicorn as in production.
"""

import json
import re
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import urlencode

import psycopg
import pytest

from tests.alert_rules import fires
from tests.config.site_addresses import ADDRESSES
from tests.pgcluster import Cluster, binaries
from tests.warm_start import WarmSite
from tools.benchmarks.browsers import HOST, ORIGIN, Browser
from tools.benchmarks.flows import AUTHORIZE, SCOPE
from tools.benchmarks.servers import Work

pytestmark = pytest.mark.postgresql
JWKS = "/openid-connect/jwks"
TOKEN = secrets.token_urlsafe(32)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


class Service:
    """A gunicorn with its own database, and the requests of a signed-in holder's browser."""

    def __init__(self, site: WarmSite, facts: dict[str, Any]) -> None:
        self.site, self.facts = site, facts

    def ask(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.site.port, timeout=30)
        cookies = "; ".join(f"{name}={value}" for name, value in self.facts["cookies"][0].items())
        base = {"Host": HOST, "X-Forwarded-Proto": "https", "Cookie": cookies, "Origin": ORIGIN}
        base["Sec-Fetch-Site"] = "same-origin"
        if body:
            base["Content-Type"] = "application/x-www-form-urlencoded"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body or None, {**base, **named})
        response = connection.getresponse()
        answer = Answer(
            response.status, dict(response.getheaders()), response.read().decode(errors="replace")
        )
        connection.close()
        return answer

    def request(self) -> str:
        """The address of a new authorization request for this holder."""
        parameters = {
            "response_type": "vp_token",
            "client_id": self.facts["client_id"],
            "redirect_uri": self.facts["redirect_uri"],
            "scope": SCOPE,
            "nonce": secrets.token_urlsafe(24),
            "state": secrets.token_urlsafe(12),
            "login_hint": self.facts["emails"][0],
        }
        return f"{AUTHORIZE}?{urlencode(parameters)}"

    def presents(self) -> str:
        """Runs a complete flow; returns the address of the final redirect."""
        with Browser(self.site.port, self.facts["cookies"][0]) as browser:
            return browser.give(self.request(), ("decision", "share"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    bindir = binaries()
    if bindir is None:
        pytest.skip("could not run without PostgreSQL's programs")
    running = Cluster(bindir, synchronous_commit="on")  # otherwise it could lose answers when it is shut down
    yield running
    running.stop()


@pytest.fixture(scope="module")
def environment(cluster: Cluster, tmp_path_factory: Any) -> dict[str, str]:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE service")
    return {
        "ENVIRONMENT": "sandbox",
        "BASE_URL": ORIGIN,
        "DATABASE_URL": cluster.url.replace("/postgres?", "/service?"),
        "SECRET_KEY": secrets.token_urlsafe(32),
        "KEY_SEALING_KEYS": secrets.token_urlsafe(32),
        "STATE_DIRECTORY": str(tmp_path_factory.mktemp("state")),
        "TRUSTED_PROXY_COUNT": "1",
        "METRICS_TOKEN": TOKEN,
        "LOG_LEVEL": "ERROR",
    }


@pytest.fixture(scope="module")
def facts(environment: dict[str, str]) -> dict[str, Any]:
    with Work(["-m", "tools.benchmarks.holders", "4"], environment) as filling:
        return json.loads(filling.done())


@pytest.fixture(scope="module")
def service(environment: dict[str, str], facts: dict[str, Any]) -> Iterator[Service]:
    with WarmSite("config.wsgi", environment, ready=JWKS) as site:
        yield Service(site, facts)


# --- Away -------------------------------------------------------------------------------------------------

LOGO = "/relying-parties/x/logo"
SECRET = "a" * 32  # as a cookie: a CSRF token, and an operator's session ID that is unknown


def is_an_outage_page(answer: Answer) -> bool:
    return (
        answer.status == 503
        and int(answer.headers["Retry-After"]) > 0
        and answer.headers["Cache-Control"] == "no-store"
        and "default-src 'none'" in answer.headers["Content-Security-Policy"]
        and answer.headers["Content-Type"].startswith("text/html")
        and "The service is not available right now" in answer.body
        and re.search("give this reference: <strong[^>]*>[0-9A-F]{8}<", answer.body) is not None
    )


def is_json_503(answer: Answer) -> bool:
    return (
        answer.status == 503
        and int(answer.headers["Retry-After"]) > 0
        and answer.headers["Cache-Control"] == "no-store"
        and json.loads(answer.body)["error"] == "temporarily_unavailable"
    )


def pages(service: Service) -> dict[str, Answer]:
    """The answers of every page to GET and POST; those of the admin with an operator's session."""
    admin = [
        "/admin/",
        *(f"/admin/{path}/" for path in ("login", "presentation/webhookevent", "keys/signingkey")),
    ]
    # A second holder, because a form below signs this one out.
    cookies = "; ".join(f"{name}={value}" for name, value in service.facts["cookies"][1].items())
    cookies += f"; __Host-operator={SECRET}; __Host-csrf={SECRET}"
    form = urlencode(
        {"csrfmiddlewaretoken": SECRET, "email": "a@b.example", "username": "a", "password": "b"}
    )
    asked = {}
    for path in [*ADDRESSES, *admin, service.request()]:
        if path.startswith("/health/"):  # see `probes`
            continue
        asked[f"GET {path}"] = service.ask(path, Cookie=cookies)
        asked[f"POST {path}"] = service.ask(path, "POST", form, Cookie=cookies, Referer=f"{ORIGIN}/the/form/")
    return asked


def machines(service: Service) -> dict[str, Answer]:
    """The answers of every endpoint for machines."""
    presentation, bearer = "/verifiable-credentials/v1/presentation", "Bearer a.b.c"
    client_id, client_secret = service.facts["clients"][0]
    form = {"client_id": client_id, "client_secret": client_secret, "grant_type": "client_credentials"}
    call = json.dumps({"authorize_url": ORIGIN + service.request()})
    as_json = {"Content_Type": "application/json"}
    return {
        "token": service.ask("/oauth/v2/token", "POST", urlencode(form)),
        "push": service.ask(f"{presentation}/par", "POST", urlencode(form)),
        "verify": service.ask(f"{presentation}/verify", "POST", "{}", Authorization=bearer, **as_json),
        "outcome": service.ask(f"{presentation}/outcome?nonce=x", Authorization=bearer),
        "holder": service.ask("/sandbox/holder", "POST", call, **as_json),
        "metrics": service.ask("/metrics", Authorization=f"Bearer {TOKEN}"),
        "answers": service.ask("/playground/answers/", "POST", "state=x&error=y"),
        "read": service.ask("/playground/answers/read/", "POST", "response_code=x&state=y"),
    }


def probes(service: Service) -> tuple[int, int, dict[str, str]]:
    """The statuses of `/health/live` and `/health/ready`, and what the latter says of each check."""
    alive, ready = service.ask("/health/live"), service.ask("/health/ready")
    return alive.status, ready.status, json.loads(ready.body)["checks"]


def test_while_the_database_is_away_pages_and_endpoints_answer_503_and_work_again_afterwards(
    service: Service, cluster: Cluster
) -> None:
    assert service.presents().startswith(service.facts["redirect_uri"])
    before = {name: answer.status for name, answer in {**pages(service), **machines(service)}.items()}
    assert {name for name, status in before.items() if status >= 500} == set()
    assert probes(service)[:2] == (200, 200)

    cluster.shut_down()
    try:
        answered, told = pages(service), machines(service)
        until(service, "/health/ready", 503)  # the result of a moment ago is given for a second
        probed = probes(service)
    finally:
        cluster.start()

    assert (*probed[:2], probed[2]["database"], probed[2]["static_files"]) == (200, 503, "failed", "ok")
    failed = {name: answer for name, answer in answered.items() if answer.status >= 500}
    strange = {n: a for n, a in failed.items() if not is_an_outage_page(a) and not is_json_503(a)}
    assert strange == {}
    calm = {name for name, answer in failed.items() if is_an_outage_page(answer)}
    assert {"GET /", "GET /admin/", "POST /admin/login/", "GET /wallet/history/", "GET /playground/"} <= calm
    assert {f"GET {LOGO}", "POST /wallet/sign-in/"} <= calm
    assert len(calm) > 20
    for name in calm:
        honest = "We cannot tell whether your last step was saved" in failed[name].body
        assert honest == name.startswith("POST"), name
        assert (f'href="{ORIGIN}/the/form/"' in failed[name].body) == name.startswith("POST"), name
    figures = told.pop("metrics")
    assert figures.status == 200
    assert "\ndatabase_answers 0.0\n" in figures.body
    assert 'route="home",status="503"' in figures.body
    assert {name: answer for name, answer in told.items() if not is_json_503(answer)} == {}
    assert service.presents().startswith(service.facts["redirect_uri"])
    until(service, "/health/ready", 200)


# --- Hanging ----------------------------------------------------------------------------------------------

CONSTANT = [
    "/.well-known/openid-configuration",
    "/.well-known/jwt-vc-issuer",
    "/credential-types/identity/v1",
]
MANY = 16  # more requests at once than a worker has threads


def published(service: Service) -> list[str]:
    """The addresses of all published documents, including a status list."""
    lists = json.loads(service.ask("/status-lists").body)["status_lists"]
    assert lists
    from_database = [JWKS, "/trust/root.pem", "/trust/root.der", "/status-lists"]
    return [*CONSTANT, *from_database, *(address.removeprefix(ORIGIN) for address in lists)]


def until(service: Service, path: str, status: int) -> None:
    """Waits until this page has this status, with a limit."""
    for _ in range(600):
        if service.ask(path).status == status:
            return
        sleep(0.2)
    raise AssertionError(f"{path} is not answered with {status}")


def test_while_the_database_hangs_documents_are_served_and_pages_answer_503_and_work_again_afterwards(
    service: Service, cluster: Cluster
) -> None:
    service.presents()
    documents = published(service)
    served = {path: [service.ask(path)] for path in documents}
    history, token = "/wallet/history/", "grant_type=client_credentials&client_id=a&client_secret=b"
    with ThreadPoolExecutor(2 * MANY) as pool, cluster.hanging():
        waiting = [pool.submit(service.ask, history) for _ in range(MANY)]
        waiting += [pool.submit(service.ask, "/oauth/v2/token", "POST", token) for _ in range(MANY)]
        while not all(one.done() for one in waiting):
            for path in documents:
                served[path].append(service.ask(path))
        pages, told = [one.result() for one in waiting[:MANY]], [one.result() for one in waiting[MANY:]]
        at_last = service.ask("/", "POST", "a=b"), service.ask(history)
        until(service, "/health/ready", 503)
        probed = probes(service)

    assert (*probed[:2], probed[2]["database"]) == (200, 503, "failed")
    assert {answer.status for answers in served.values() for answer in answers} == {200}
    assert all(len({answer.body for answer in answers}) == 1 for answers in served.values())
    assert all(len(answers) > 2 for answers in served.values())
    assert [answer for answer in [*pages, at_last[1]] if not is_an_outage_page(answer)] == []
    assert [answer for answer in told if not is_json_503(answer)] == []
    until(service, history, 200)
    assert service.presents().startswith(service.facts["redirect_uri"])
    assert {service.ask(path).status for path in documents} == {200}


def test_after_a_start_with_a_hung_database_only_constant_documents_are_served(
    environment: dict[str, str], facts: dict[str, Any], cluster: Cluster
) -> None:
    with cluster.hanging(), WarmSite("config.wsgi", environment, ready=CONSTANT[0]) as site:
        service = Service(site, facts)
        constant = {path: service.ask(path).status for path in CONSTANT}
        others = [service.ask(path) for path in (JWKS, "/trust/root.pem", "/status-lists", "/status-lists/1")]

    assert set(constant.values()) == {200}
    assert [(answer.status, int(answer.headers["Retry-After"]) > 0) for answer in others] == [(503, True)] * 4


# --- Writes are refused -----------------------------------------------------------------------------------


@contextmanager
def refusing(url: str, reason: str) -> Iterator[None]:
    """PostgreSQL refuses new interactions. `read_only` is real; for the others a trigger raises the code."""
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as owner:
        if reason == "read_only":
            do = ["ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"]
            undo = ["ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"]
        else:
            raising = f"LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{reason}'; END $$"
            do = [
                f"CREATE FUNCTION refuse() RETURNS trigger {raising}",
                "CREATE TRIGGER refuse BEFORE INSERT ON presentation_interaction EXECUTE FUNCTION refuse()",
            ]
            undo = ["DROP FUNCTION refuse CASCADE"]
        for statement in do:
            owner.execute(statement)
        try:
            yield
        finally:
            for statement in undo:
                owner.execute(statement)


@pytest.mark.promtool
@pytest.mark.parametrize("reason", ["read_only", "disk_full", "out_of_memory"])
def test_a_refused_write_is_counted_and_the_instance_is_not_ready_while_it_still_reads(
    service: Service, environment: dict[str, str], tmp_path: Path, reason: str
) -> None:
    bearer = f"Bearer {TOKEN}"
    service.presents()
    documents = published(service)
    assert {service.ask(path).status for path in documents} == {200}  # from now on they are in memory
    before = service.ask("/metrics", Authorization=bearer).body
    with refusing(environment["DATABASE_URL"], reason):
        for _ in range(600):  # the server reads its configuration anew a moment later
            if (refused := service.ask(service.request())).status == 503:
                break
            sleep(0.1)
        assert is_an_outage_page(refused)
        assert service.ask("/wallet/history/").status == 200
        assert {service.ask(path).status for path in documents} == {200}
        until(service, "/health/ready", 503)
        alive, ready, checks = probes(service)
        after = service.ask("/metrics", Authorization=bearer).body

    assert (alive, ready) == (200, 503)
    assert {name for name, said in checks.items() if said == "failed"} == {"database_writes"}
    assert f'database_refused_writes_total{{reason="{reason}"}} 0.0' in before
    assert fires("DatabaseRefusesWrites", before, after, tmp_path)
    assert not fires("DatabaseRefusesWrites", before, before, tmp_path)
    assert service.presents().startswith(service.facts["redirect_uri"]), "no restart is needed"


def test_requests_have_limits_and_commands_have_none(service: Service, environment: dict[str, str]) -> None:
    """The server ends a request's wait for a lock before the client closes the connection."""
    with psycopg.connect(environment["DATABASE_URL"]) as locker:
        locker.execute("LOCK TABLE consent_consent IN ACCESS EXCLUSIVE MODE")
        refused = service.ask("/wallet/history/")
        locker.rollback()
        assert is_an_outage_page(refused)
        until(service, "/wallet/history/", 200)
        asked = "SELECT current_setting('lock_timeout')"
        with psycopg.connect(environment["DATABASE_URL"]) as plain:
            assert plain.execute(asked).fetchone() == ("0",)
