"""`/health/live` and `/health/ready`: what they say, to whom, and what they never say."""

import json
import threading
from time import monotonic
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from config import health
from config.health import FailedCheckError, Readiness
from infra.database import refused_writes
from infra.models import DatabaseMark
from keys import issuer_key
from keys.models import SigningKey
from keys.rotation import transitions
from keys.rotation.states import State, in_state

ALL = {
    "database": "ok",
    "database_writes": "ok",
    "migrations": "ok",
    "signing_key": "ok",
    "static_files": "ok",
}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused_writes, "_until", 0.0)  # a test before this one may have met a refused write
    health.readiness.forget()


def said(client: Client, path: str = "/health/ready") -> tuple[int, dict[str, Any]]:
    health.readiness.forget()
    response = client.get(path)
    assert response["Cache-Control"] == "no-store"
    assert response["Content-Type"] == "application/json"
    return response.status_code, json.loads(response.content)


def test_a_live_process_says_so_without_a_statement_or_a_cookie(client: Client) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("the database was asked")

    with connection.execute_wrapper(refuse):
        response = client.get("/health/live")

    assert (response.status_code, response.json()) == (200, {"status": "live"})
    assert response["Cache-Control"] == "no-store"
    assert not response.cookies


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_that_can_work_is_ready(client: Client) -> None:
    assert said(client) == (200, {"status": "ready", "checks": ALL})


@pytest.mark.django_db
def test_an_instance_without_a_signing_key_is_not_ready_until_there_is_one(client: Client) -> None:
    assert said(client) == (503, {"status": "not ready", "checks": ALL | {"signing_key": "failed"}})


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_whose_only_key_was_withdrawn_is_not_ready(client: Client, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    key = in_state(State.ACTIVE)
    assert key
    transitions.withdraw(key.pk, reason="compromised", now=timezone.now())
    issuer_key.forget()

    assert said(client)[1]["checks"]["signing_key"] == "failed"


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_whose_chain_was_damaged_is_not_ready(client: Client) -> None:
    SigningKey.objects.update(chain_pem="damaged")
    issuer_key.forget()

    assert said(client)[1]["checks"]["signing_key"] == "failed"


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_newer_than_its_database_is_not_ready(client: Client) -> None:
    newest = max(name for app, name in health._newest_migrations() if app == "wallet")
    MigrationRecorder(connection).migration_qs.filter(app="wallet", name=newest).delete()

    assert said(client) == (503, {"status": "not ready", "checks": ALL | {"migrations": "failed"}})


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_older_than_its_database_is_ready(client: Client) -> None:
    MigrationRecorder(connection).record_applied("wallet", "9999_of_a_later_release")

    assert said(client)[0] == 200


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_an_instance_with_the_database_of_another_environment_is_not_ready(client: Client) -> None:
    DatabaseMark.objects.update(environment="production")

    assert said(client)[1]["checks"]["database"] == "failed"


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
@pytest.mark.parametrize(("code", "status"), [("53100", 503), ("25006", 503), ("23505", 200), (None, 200)])
def test_an_instance_whose_write_was_refused_is_not_ready_until_it_is_forgotten(
    client: Client, monkeypatch: pytest.MonkeyPatch, code: str | None, status: int
) -> None:
    refused_writes.note(code)

    assert said(client)[0] == status
    monkeypatch.setattr(refused_writes, "_until", monotonic())
    assert said(client) == (200, {"status": "ready", "checks": ALL})


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_probes_and_metrics_need_neither_tls_nor_the_name_of_the_service(
    client: Client, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT, settings.METRICS_TOKEN = True, "m" * 40
    settings.ALLOWED_HOSTS = ["wallet.example"]
    at = {"host": "127.0.0.1:8001"}

    for path, status in (("/health/live", 200), ("/health/ready", 200), ("/metrics", 401)):
        assert client.get(path, headers=at).status_code == status
        assert client.get(path, headers={"host": "evil.example"}).status_code == status
    for path in ("/", "/wallet/", "/health/", "/health/live/", "/health/ready/", "/metrics/"):
        assert client.get(path, headers={"host": "wallet.example"}).status_code == 301
    settings.SECURE_SSL_REDIRECT = False
    assert client.get("/wallet/", headers=at).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_probes_only_read(client: Client, path: str) -> None:
    assert client.head(path).status_code in (200, 503)
    for method in ("POST", "PUT", "DELETE"):
        assert client.generic(method, path).status_code == 405


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_many_probes_within_a_second_ask_the_database_once(
    client: Client, statements: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = health.monotonic()
    monkeypatch.setattr(health, "monotonic", lambda: began)  # however busy the machine is
    said(client)
    with statements() as asked:
        for _ in range(5):
            assert client.get("/health/ready").status_code == 200
    assert asked.texts == []


def test_probes_that_come_together_run_the_checks_once() -> None:
    runs, begun, go = [], threading.Event(), threading.Event()

    def slow() -> None:
        runs.append(1)
        begun.set()
        go.wait(30)

    readiness, found = Readiness({"slow": slow}), []
    threads = [threading.Thread(target=lambda: found.append(readiness.results())) for _ in range(5)]
    for thread in threads:
        thread.start()
    begun.wait(30)
    go.set()
    for thread in threads:
        thread.join(30)

    assert found == [{"slow": True}] * 5
    assert runs == [1]


def test_a_probe_does_not_wait_for_checks_that_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_PATIENCE", 0.05)
    begun, go = threading.Event(), threading.Event()

    def hangs() -> None:
        begun.set()
        go.wait(30)

    readiness = Readiness({"hangs": hangs})
    thread = threading.Thread(target=readiness.results)
    thread.start()
    begun.wait(30)
    assert readiness.results() == {"hangs": False}
    go.set()
    thread.join(30)
    assert readiness.results() == {"hangs": True}


def test_a_failure_is_logged_once_and_without_its_text(logged: list[dict[str, Any]]) -> None:
    broken = True

    def check() -> None:
        if broken:
            raise FailedCheckError("postgresql://user:password@host nora@example.org")

    readiness = Readiness({"database": check})
    for _ in range(3):
        assert readiness.results() == {"database": False}
        readiness.forget()
    broken = False
    assert readiness.results() == {"database": True}

    changes = [event["event"] for event in logged if event["event"] in ("not_ready", "ready")]
    assert changes == ["not_ready", "ready"]
    assert "password" not in str(logged)
    assert "nora" not in str(logged)
