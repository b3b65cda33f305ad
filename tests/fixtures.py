"""Fixtures for all tests, such as Chromium, and the list of tests that could not run.

The end of a run lists them. With REQUIRE_EVERYTHING=1 (as in CI) they fail instead.
"""

import gc
import os
import re
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# Playwright's synchronous API keeps an event loop in the thread; Django would refuse the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

import pytest
from django.db import connection
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests import booted, docker, emptying, pgbouncer, softhsm
from tests.pgcluster import binaries
from tests.programs import (
    acme,
    apache,
    chromium,
    firefox,
    kubectl,
    minibrowser,
    nginx,
    pgbackrest,
    promtool,
)
from tests.quick_tests import APART, is_left_out
from tools.benchmarks import provider

QUICK = os.environ.get("QUICK")  # "1", or "sqlite" for the part of it that can differ on SQLite
REQUIRE_EVERYTHING = os.environ.get("REQUIRE_EVERYTHING") == "1"

# No deadline, because tests do not measure time. Every run draws other examples, so that many runs with few
# examples find what one run with many does. Hypothesis's default is 100.
hypothesis_settings.register_profile(
    "budget",
    hypothesis_settings.default,
    deadline=None,
    max_examples=int(os.environ.get("EXAMPLES", "6" if QUICK else "30")),
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("budget")

PATIENCE = 30_000  # milliseconds for Chromium on a busy machine; a test that passes does not wait that long
NODE_PACKAGES = Path(__file__).parent / "node" / "node_modules"


def _missing(item: pytest.Item) -> str | None:
    if item.get_closest_marker("postgresql") and "postgresql" not in os.environ.get("DATABASE_URL", ""):
        return "PostgreSQL"
    if item.get_closest_marker("browser") and not chromium():
        return "Chromium"
    if item.get_closest_marker("firefox") and not firefox():
        return "Firefox (Debian's firefox-esr)"
    if item.get_closest_marker("webkit") and not minibrowser():
        return "WebKit (Debian's webkit2gtk-driver and xvfb)"
    if item.get_closest_marker("node") and not (shutil.which("node") and NODE_PACKAGES.is_dir()):
        return "Node.js with the packages of tests/node"
    if item.get_closest_marker("node_provider") and not provider.INSTALLED:
        return provider.MISSING
    if item.get_closest_marker("curl") and not shutil.which("curl"):
        return "curl"
    if item.get_closest_marker("gettext") and not shutil.which("xgettext"):
        return "gettext"
    if item.get_closest_marker("nginx") and not nginx():
        return "nginx"
    if item.get_closest_marker("systemd") and (lacking := booted.missing()):
        return lacking
    if item.get_closest_marker("apache") and not apache():
        return "Apache's mod_auth_openidc (Debian's libapache2-mod-auth-openidc)"
    if item.get_closest_marker("promtool") and not promtool():
        return "promtool (Debian's prometheus)"
    if item.get_closest_marker("kubectl") and not kubectl():
        return "kubectl (Debian's kubernetes-client)"
    if item.get_closest_marker("acme") and not acme():
        return "an ACME client and server (Debian's certbot and pebble)"
    if item.get_closest_marker("docker") and not docker.installed():
        return "root and Docker (Debian's docker.io, docker-compose and mmdebstrap)"
    if item.get_closest_marker("softhsm") and not softhsm.INSTALLED:
        return "SoftHSM 2 and p11-kit's server (Debian's softhsm2, p11-kit and p11-kit-modules)"
    if item.get_closest_marker("pgbouncer") and not pgbouncer.program():
        return "PgBouncer (Debian's pgbouncer)"
    if item.get_closest_marker("pgbackrest") and not (pgbackrest() and binaries()):
        return "pgBackRest (Debian's pgbackrest) and PostgreSQL"
    return None


# `make test` also runs on SQLite the modules with one of these in their text or name: SQL of their own,
# questions for the kind of database, and complete requests.
CAN_DIFFER = re.compile(
    r"cursor\(|tamper\(|tests\.personal_data|\.vendor|\.prepared|\.migrations"
    r"|(limits|allocation|issuer_key|database_takes|flow)\.py$"
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves a module out by its text, because importing and collecting all of them takes ten seconds."""
    if not QUICK or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text()
    if QUICK == "sqlite" and not CAN_DIFFER.search(text + collection_path.name):
        return True
    return is_left_out(text) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if QUICK:
        apart = [item for item in items if APART & {mark.name for mark in item.iter_markers()}]
        config.hook.pytest_deselected(items=apart)
        left_out = set(apart)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """The garbage collector skips what lives as long as the run, modules and tests, and runs less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two processes more than there are cores, because some always wait for servers, Docker or Chromium."""
    return None if QUICK else (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import ByModuleFixture

    return ByModuleFixture(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if missing := _missing(item):
        (pytest.fail if REQUIRE_EVERYTHING else pytest.skip)(f"could not run without {missing}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section(f"NOT RUN: {len(skipped)} tests", sep="!")
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {reason}")


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Leaves the databases at the end of a run whose cluster is deleted with all of them (`pgcluster`)."""
    return "pgtest-" in os.environ["DATABASE_URL"]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """The migrated database. From now on `emptying` empties it after each test."""
    with django_db_blocker.unblock():
        emptying.begin()
    if connection.vendor == "sqlite":
        # A database in memory lives as long as its connection, so requests of tests that may not use it find
        # it open. pytest-django takes their question whether a transaction is open for use of the database.
        connection.get_autocommit = lambda: connection.autocommit


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for the run, confined to loopback; `page` gives each test a context of its own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium(),
            # Playwright turns the back/forward cache off, but real browsers use it.
            ignore_default_args=["--disable-back-forward-cache"],
            args=[
                "--disable-gpu",  # a tenth of the CPU, since the machine of the tests has none
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
            ],
        )
        yield running
        running.close()


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A new page. The test fails on script errors and violations of the CSP."""
    context = browser.new_context(locale="en-GB", viewport={"width": 390, "height": 844})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems: list[str] = []

    def watch(page: Any) -> None:
        page.on("pageerror", lambda error: problems.append(f"pageerror: {error}"))
        page.on(
            "console",
            lambda message: (
                problems.append(message.text) if "Content Security Policy" in message.text else None
            ),
        )

    watch(page)
    context.on("page", watch)
    yield page
    report = getattr(request.node, "report_of_call", None)
    if report is not None and report.failed:
        Path("test-artifacts").mkdir(exist_ok=True)
        page.screenshot(path=f"test-artifacts/{request.node.name[:80]}.png", full_page=True)
    context.close()
    assert not problems, problems


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.when == "call":
        item.report_of_call = report  # type: ignore[attr-defined]


@pytest.fixture
def statements() -> Any:
    """A context manager that collects SQL statements, without those that control transactions."""
    from django.test.utils import CaptureQueriesContext

    class Statements(CaptureQueriesContext):
        control = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")

        @property
        def texts(self) -> list[str]:
            return [q["sql"] for q in self.captured_queries if not q["sql"].startswith(self.control)]

    return lambda: Statements(connection)


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    """The events that our own code logs, with the facts of the request. They are not written.

    For what is written, also by libraries, use pytest's `capsys`.
    """
    from structlog.stdlib import add_logger_name
    from structlog.testing import capture_logs

    from infra import log_context

    with capture_logs([log_context.merge, add_logger_name]) as events:
        yield events


@pytest.fixture(scope="session", autouse=True)
def _forms_of_our_own_pages() -> Iterator[None]:
    """Test clients say what browsers say of forms on our pages; with `enforce_csrf_checks`, nothing."""
    from django.test import Client

    made = Client.__init__

    def begin(
        self: Any,
        enforce_csrf_checks: bool = False,
        raise_request_exception: bool = True,
        *,
        headers: dict[str, str] | None = None,
        **defaults: Any,
    ) -> None:
        said = {} if enforce_csrf_checks else {"Sec-Fetch-Site": "same-origin"}
        made(self, enforce_csrf_checks, raise_request_exception, headers=said | (headers or {}), **defaults)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "__init__", begin)
        yield


@pytest.fixture(autouse=True)
def _no_remembered_key() -> None:
    """Clears the caches of keys, which would outlive the test's database."""
    from keys import issuer_key, key_set
    from presentation.relying_parties.authentication import fetched_keys

    for module in (issuer_key, key_set, fetched_keys):
        module.forget()


@pytest.fixture(scope="session", autouse=True)
def _no_page_of_other_settings() -> Iterator[None]:
    """Empties the cache of fragments of pages when a test changes a setting, which processes never do."""
    from django.core.cache import caches
    from django.test.signals import setting_changed

    def forget(**_facts: object) -> None:
        caches["template_fragments"].clear()

    setting_changed.connect(forget)
    yield
    setting_changed.disconnect(forget)


@pytest.fixture
def windows_just_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of all limits begin with the test; otherwise one could end in its middle."""
    from infra.limits import Limit

    began = time.time() - 5  # a test may have noted the time a moment before

    def index(self: Limit, now: datetime) -> int:
        return int((now.timestamp() - began) // self.window.total_seconds())

    def renewed_at(self: Limit, now: datetime) -> datetime:
        return datetime.fromtimestamp(began + (index(self, now) + 1) * self.window.total_seconds(), UTC)

    monkeypatch.setattr(Limit, "_index", index)
    monkeypatch.setattr(Limit, "renewed_at", renewed_at)


@pytest.fixture
def service(transactional_db: None, live_server: Any, settings: Any) -> Any:
    """The live server with its own address as BASE_URL, and its documents rebuilt."""
    from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES

    settings.BASE_URL = live_server.url
    settings.MAIL_BACKEND = "sandbox.mailbox.EmailBackend"  # the page shows the code, as in the sandbox
    for published in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        published.refresh()
    return live_server


from tests.emails import _emails_in_memory, _emails_sent_at_once  # noqa: E402, F401
from tests.people import (  # noqa: E402, F401
    acme_bank,
    alice,
    bob,
    corner_shop,
    holder,
    rsa_key,
    sign_in,
    signing_key,
)
from tests.savings import _quick_passwords, _static_files_found_once  # noqa: E402, F401
from tests.softhsm import server, token  # noqa: E402, F401
