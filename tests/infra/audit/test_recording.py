"""The audit record: lines are appended in the transaction of the action, without gaps and forks."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client, RequestFactory
from django.utils import timezone

from infra import audit
from infra.audit import chain
from infra.audit.chain import Line
from infra.database.append_only import AppendOnlyError
from infra.models import AuditLine, DatabaseMark
from tests.wallet.conftest import together
from wallet.models import Wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga() -> User:
    return User.objects.create_user("olga", email="olga@example.org")


def lines() -> list[Line]:
    return [Line(*row) for row in AuditLine.objects.order_by("seq").values_list(*Line._fields)]


def test_a_line_says_who_did_what_to_which_row_and_why_by_ids_only(olga: User, alice: Wallet) -> None:
    request = RequestFactory().get("/admin/")
    request.user = olga

    line = audit.record(request, "looked_up", alice, "Ticket 12, called by alice@example.org")

    assert json.loads(line.text) == {
        "about": f"wallet.wallet:{alice.pk}",
        "action": "looked_up",
        "at": chain.microseconds(line.at),
        "operator": olga.pk,
        "previous": chain.GENESIS,
        "reason": "Ticket 12, called by [address left out]",
        "seq": 1,
    }
    assert (line.operator_id, line.action, line.about) == (olga.pk, "looked_up", f"wallet.wallet:{alice.pk}")
    assert "olga" not in line.text
    assert list(chain.faults(lines())) == []


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "⟨\u202e⟩", "two\nlines", '“quoted” \\ "', "x" * 5000])
def test_any_reason_can_be_recorded(olga: User, text: str) -> None:
    audit.record(olga, "looked_up", Wallet, text)
    audit.record(olga, "looked_up", text, text)

    assert list(chain.faults(lines())) == []
    assert lines()[0].about == "wallet.wallet"
    assert all(len(line.about) <= 200 for line in lines())


@pytest.mark.parametrize("action", ["", "Seen", "seen by alice@example.org", "x" * 41])
def test_an_action_is_one_word(olga: User, action: str) -> None:
    with pytest.raises(ValueError, match="one word"):
        audit.record(olga, action)
    assert lines() == []


def test_an_action_that_is_rolled_back_leaves_no_line_and_no_gap(olga: User) -> None:
    audit.record(olga, "seen")
    with transaction.atomic():
        audit.record(olga, "seen")
        transaction.set_rollback(True)
    audit.record(olga, "seen")

    assert [line.seq for line in lines()] == [1, 2]
    assert list(chain.faults(lines())) == []


def test_a_line_is_neither_changed_nor_deleted_through_its_model(olga: User) -> None:
    line = audit.record(olga, "seen")
    with pytest.raises(AppendOnlyError):
        line.save()
    with pytest.raises(AppendOnlyError):
        line.delete()


@pytest.mark.postgresql
@pytest.mark.parametrize(
    "change",
    [
        lambda: AuditLine.objects.update(action="changed"),
        lambda: AuditLine.objects.all().delete(),
        lambda: connection.cursor().execute("TRUNCATE infra_auditline"),
    ],
    ids=["update", "delete", "truncate"],
)
def test_the_database_refuses_to_change_and_delete_lines(olga: User, change: Callable[[], Any]) -> None:
    DatabaseMark.objects.all().delete()  # `manage.py flush` may empty the database of a sandbox
    DatabaseMark.objects.create(environment="production", marked_at=timezone.now())
    audit.record(olga, "seen")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        change()
    assert len(lines()) == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_parallel_writers_none_forks_the_chain_and_none_leaves_a_gap(olga: User) -> None:
    def write(number: int) -> None:
        for turn in range(10):
            with transaction.atomic():
                User.objects.create(username=f"new-{number}-{turn}")
                audit.record(olga, "made", f"auth.user:{number}-{turn}")
                if (number + turn) % 4 == 0:
                    transaction.set_rollback(True)

    assert together(write) == [None] * 8

    written = lines()
    assert [line.seq for line in written] == list(range(1, 61))
    assert list(chain.faults(written)) == []
    assert User.objects.filter(username__startswith="new-").count() == 60


@pytest.mark.filterwarnings("ignore:.*naive datetime")
@pytest.mark.parametrize(("since", "found"), [("2026-03-01", 1), ("2026-03-01 12:00", 0), ("1999", 1)])
def test_lines_are_filtered_by_a_time_without_an_offset(
    admin_client: Client, olga: User, since: str, found: int
) -> None:
    audit.record(olga, "seen", now=datetime(2026, 3, 1, 11, tzinfo=UTC))
    page = admin_client.get("/admin/infra/auditline/", {"at__gte": since}, follow=True)
    assert page.context["cl"].result_count == found
