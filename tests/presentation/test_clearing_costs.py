"""What a batch of clearing reads does not depend on how many rows stay. Plans and counts, no times."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from infra import retention
from presentation.models import Interaction, RelyingParty
from tests.presentation.many_rows import fill
from wallet.identity import pictures
from wallet.models import StatusList

pytestmark = pytest.mark.postgresql

DUE, BATCH = 60, 20
FEW, MANY = 2000, 8000  # rows that stay in each table
# Only a sandbox has registrations. E-mails are found by indexes of the few that wait, failed or ended.
NOT_MEASURED = {"registrations", "late e-mails", "e-mails"}


def scanned(plan: dict[str, Any]) -> Iterator[float]:
    """How many rows or entries of an index each scan of the plan looked at."""
    if "Relation Name" in plan or "Index Name" in plan:
        rows = plan["Actual Rows"] + sum(
            count for key, count in plan.items() if key.startswith("Rows Removed")
        )
        yield rows * plan["Actual Loops"]
    for below in plan.get("Plans", ()):
        yield from scanned(below)


def read_by(what: str) -> dict[tuple[str, str], float]:
    """The most rows that a statement of each clearing looks at. What it clears is there again afterwards.

    what: "clear", or "overdue" for the statements that find how long something has been due. Asserts that no
    statement changes more rows than a batch has.
    """
    most: dict[tuple[str, str], float] = defaultdict(float)
    current = ""

    def explained(execute: Any, sql: str, params: Any, *more: Any) -> Any:
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            with (
                connection.connection.transaction(force_rollback=True),
                connection.connection.cursor() as raw,
            ):
                found = raw.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params).fetchone()[0]
            plan = found[0]["Plan"]
            assert plan["Node Type"] != "ModifyTable" or plan["Plans"][0]["Actual Rows"] <= BATCH
            rows = sum(scanned(plan))
            statement = " ".join(sql.split(" WHERE ")[0].split()[-1:]) + " " + sql.split()[0]
            most[current, statement] = max(most[current, statement], rows)
        return execute(sql, params, *more)

    with retention.planned_with_values(), transaction.atomic():
        for entry in retention.entries():
            if entry.clear and entry.cleared_as not in NOT_MEASURED:
                current = entry.cleared_as
                with connection.execute_wrapper(explained):
                    if what == "clear":
                        entry.clear(now=timezone.now(), batch=BATCH)
                    else:
                        entry.clear.overdue(now=timezone.now())
        transaction.set_rollback(True)
    return dict(most)


@pytest.mark.parametrize("what", ["clear", "overdue"])
def test_a_batch_reads_as_much_where_many_rows_stay_as_where_few_do(
    what: str, acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGES", 1)  # so that each query shows what one batch needs
    monkeypatch.setattr(retention, "LOOKED_AT", 5 * BATCH)
    monkeypatch.setattr(pictures, "LOOKED_AT", 5 * BATCH)
    before = timezone.now() - timedelta(hours=2)
    StatusList.objects.create(id=1, slot=0, opened_at=before, closed_at=before)
    fill(1, DUE, due=True, party=acme_bank.pk)
    fill(1001, 1000 + FEW, due=False, party=acme_bank.pk)
    where_few_stay = read_by(what)
    fill(1001 + FEW, 1000 + MANY, due=False, party=acme_bank.pk)
    where_many_stay = read_by(what)

    cleared = {
        entry.cleared_as
        for entry in retention.entries()
        if entry.clear and (what == "clear" or entry.clear.due)
    }
    assert {clearing for clearing, _ in where_many_stay} == cleared - NOT_MEASURED
    grown = {
        statement: (where_few_stay.get(statement), rows)
        for statement, rows in where_many_stay.items()
        if rows > max(where_few_stay.get(statement, 0), 10 * BATCH)
    }
    assert grown == {}


def test_statements_of_clearing_are_planned_for_their_values(acme_bank: RelyingParty) -> None:
    """A plan for any values could not use an index of the interactions without a token."""
    fill(1, 30, due=True, party=acme_bank.pk)
    call_command("clear_expired", batch=1, stdout=StringIO())

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%DELETE%%'", ())
        assert cursor.fetchone() == (0,)
    assert not Interaction.objects.exists()
