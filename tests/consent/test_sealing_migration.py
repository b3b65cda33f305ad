"""Records from before transactions were sealed: migrated, they say the same and nothing in clear."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from consent import transactions
from consent.models import Consent
from consent.question import Transaction
from tests.consent.questions import WIRE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BEFORE = [("consent", "0003_names_of_fields")]
SECRETS = ("DE89", "12,500.00", "Invoice 2026-114", "Coffee")


def migrate(targets: list[tuple[str, str]]) -> Any:
    """The models as they are after these migrations."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


@pytest.fixture
def latest() -> Iterator[list[tuple[str, str]]]:
    """The newest migration of the app; afterwards the database is there again."""
    targets = [
        node for node in MigrationExecutor(connection).loader.graph.leaf_nodes() if node[0] == "consent"
    ]
    yield targets
    migrate(targets)


def records(apps: Any, number: int) -> list[Any]:
    """Answered records of before: every second one with transactions."""
    now = timezone.now()
    wallet = apps.get_model("wallet", "Wallet").objects.create(email="alice@example.org", created_at=now)
    made = apps.get_model("consent", "Consent").objects.bulk_create(
        apps.get_model("consent", "Consent")(
            wallet=wallet,
            requester_id="acme",
            requester={"name": "Acme Bank"},
            claims=[["given_name"]],
            transactions=[WIRE, WIRE | {"title": "Ünïcode"}] if at % 2 else [],
            request_hash="a" * 64,
            return_to="/back/",
            decision="granted",
            asked_at=now - timedelta(days=at),
            expires_at=now,
            decided_at=now,
        )
        for at in range(number)
    )
    return list(made)


def dump() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM consent_consent")
        return repr([[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in cursor])


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    monkeypatch.setattr(import_module("consent.migrations.0006_seal_transactions"), "BATCH", 3)


@pytest.mark.usefixtures("_small_batches")
def test_every_record_from_before_is_sealed_and_says_the_same(latest: list[tuple[str, str]]) -> None:
    before = records(migrate(BEFORE), 21)
    assert all(secret in dump() for secret in SECRETS)

    migrate(latest)

    assert not any(secret in dump() for secret in SECRETS)
    assert Consent.objects.count() == 21
    for row in before:
        consent = Consent.objects.get(id=row.id)
        assert [shown.to_json() for shown in transactions.shown(consent)] == row.transactions
        assert [(one.title, one.hash) for one in transactions.kept(consent)] == [
            (one["title"], "") for one in row.transactions
        ]
        assert (consent.decided_at, consent.decision) == (row.decided_at, "granted")
    with_content = Consent.objects.filter(sealed_transactions__isnull=False)
    assert with_content.count() == 10


@pytest.mark.usefixtures("_small_batches")
def test_a_migration_that_was_interrupted_goes_on_where_it_was(latest: list[tuple[str, str]]) -> None:
    before = records(migrate(BEFORE), 9)
    migrate(latest)
    half = Consent.objects.filter(id=before[1].id)
    half.update(transactions=before[1].transactions, sealed_transactions=None)  # as if it had not come so far
    others = list(Consent.objects.exclude(id=before[1].id).order_by("id").values())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'consent' AND name LIKE '0006%'")

    migrate(latest)

    assert transactions.shown(half.get()) == tuple(map(Transaction.from_json, before[1].transactions))
    assert list(Consent.objects.exclude(id=before[1].id).order_by("id").values()) == others


@pytest.mark.usefixtures("_small_batches")
def test_going_back_shows_again_what_is_left(latest: list[tuple[str, str]]) -> None:
    before = records(migrate(BEFORE), 9)
    migrate(latest)
    Consent.objects.filter(id=before[3].id).update(sealed_transactions=None, erased_at=timezone.now())
    Consent.objects.filter(id=before[5].id).update(sealed_transactions=b"")

    old = migrate(BEFORE).get_model("consent", "Consent")

    for at, row in enumerate(before):
        said = old.objects.get(id=row.id).transactions
        if at in (3, 5):
            assert [(one["title"], one["blocks"]) for one in said] == [
                ("Wire transfer", []),
                ("Ünïcode", []),
            ]
            assert json.dumps([Transaction.from_json(one).to_json() for one in said])
        else:
            assert said == row.transactions
