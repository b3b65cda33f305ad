"""What should have been cleared and is still there is a metric, and one failure keeps nothing else."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from infra import retention
from infra.models import Allowance, LastRun
from presentation.models import Interaction, RelyingParty
from sandbox.models import SelfRegistration
from sandbox.self_service import self_registrations
from tests.config.reading_metrics import TOKEN, numbers
from tests.presentation.many_rows import fill
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.wallet.attempts import attempt_in
from wallet.models import Credential, IdentityVerification, StatusList, Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOUR = timedelta(hours=1)
# Tested below: only developers make the first, and all others there are of an identity.
NOT_FILLED = {
    "registrations",
    "identity checks",
    "e-mails",
    "figures of relying parties",
    "codes",
    "reports",
    "steps",
}


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def overdue(client: Client) -> dict[str, float]:
    found = numbers(client)
    return {name[1]: value for name, value in found.items() if name[0] == "clearing_overdue_seconds"}


def fail(**_: Any) -> int:
    raise RuntimeError("a broken row")


@pytest.mark.postgresql
def test_whatever_is_due_is_overdue_until_it_is_cleared(client: Client, acme_bank: RelyingParty) -> None:
    before = timezone.now() - 2 * HOUR
    StatusList.objects.create(id=1, slot=0, opened_at=before)
    fill(1001, 1010, due=False, party=acme_bank.pk)
    nothing_yet = overdue(client)
    fill(1, 30, due=True, party=acme_bank.pk)
    expired = IdentityVerification.objects.filter(pk__in=IdentityVerification.objects.all()[:3])
    expired.update(state="expired", changed_at=timezone.now() - timedelta(days=100))
    waiting = overdue(client)

    call_command("clear_expired", stdout=StringIO())

    named = {entry.cleared_as for entry in retention.entries() if entry.clear and entry.clear.due}
    assert set(waiting) == set(nothing_yet) == named
    assert set(nothing_yet.values()) == {0}
    assert {name for name, seconds in waiting.items() if seconds < 86_400} <= NOT_FILLED
    assert set(overdue(client).values()) == {0}


def test_an_entry_says_for_how_long_its_oldest_row_has_been_due(client: Client) -> None:
    now = timezone.now()
    for hours in (-1, 2, 5):
        Allowance.objects.create(key=f"a{hours}", count=1, expires_at=now - hours * HOUR)
        Session.objects.create(session_key=f"s{hours}", session_data="", expire_date=now - 2 * hours * HOUR)

    found = overdue(client)

    assert abs(found["allowances"] - 5 * 3600) < 60
    assert abs(found["operators’ sessions"] - 10 * 3600) < 60
    call_command("clear_expired", stdout=(out := StringIO()))
    assert "2 operators’ sessions" in out.getvalue()
    assert Session.objects.get().session_key == "s-1"


def test_a_row_that_stays_for_another_reason_is_not_overdue(client: Client, alice: Wallet) -> None:
    """An attempt that is still open stays, however old it is, and so does that of the wallet's identity."""
    attempt_in("review", alice, timezone.now() - timedelta(days=3000))
    verified_by = Credential.objects.values("verification")
    identity = IdentityVerification.objects.filter(pk__in=verified_by)
    assert identity.update(changed_at=timezone.now() - timedelta(days=3000)) == 1

    assert overdue(client)["identity checks"] == 0
    attempt_in("declined", alice, timezone.now() - timedelta(days=731))
    assert abs(overdue(client)["identity checks"] - 86_400) < 60


def test_what_is_wrong_with_one_kind_of_data_does_not_keep_the_others(
    client: Client, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    now = timezone.now()
    Allowance.objects.create(key="old", count=1, expires_at=now - 5 * HOUR)
    Session.objects.create(session_key="old", session_data="", expire_date=now - 5 * HOUR)
    of_sessions = next(e.clear for e in retention.entries() if e.cleared_as == "operators’ sessions")
    monkeypatch.setattr(type(of_sessions), "__call__", clear_unless_it_is(of_sessions))

    with pytest.raises(CommandError, match=r"^Failed: not_cleared \(1\)\. The log says why\. "):
        call_command("clear_expired", stdout=StringIO())

    assert not Allowance.objects.exists()
    assert Session.objects.exists()
    (event,) = [each for each in logged if each["event"] == "not_cleared"]
    assert (event["data"], event["why"]) == ("operators’ sessions", "RuntimeError")
    assert LastRun.objects.get(command="clear_expired").failures == 1
    assert LastRun.objects.get(command="clear_expired").at < now, "it did not run to its end"
    assert abs(overdue(client)["operators’ sessions"] - 5 * 3600) < 60


def clear_unless_it_is(broken: Any) -> Any:
    def clear(self: retention.Clearing, **given: Any) -> int:
        return fail() if self is broken else self.clear(**given)

    return clear


def test_a_registration_that_ends_takes_its_requests_along_in_batches(acme_bank: RelyingParty) -> None:
    """Thousands of them in one transaction would lock their rows for seconds."""
    for number in range(5):
        Client().get(PATH, asked(acme_bank, nonce=f"a-nonce-of-16-characters-{number}"))
    assert Interaction.objects.count() == 5
    Interaction.objects.update(created_at=timezone.now() - self_registrations.KEPT - HOUR)
    SelfRegistration.objects.create(
        relying_party=acme_bank, owner="ada@example.org", expires_at=timezone.now() - HOUR
    )
    deleted: list[int] = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if sql.startswith('DELETE FROM "presentation_interaction"'):
            deleted.append(rest[-1]["cursor"].rowcount)
        return result

    with connection.execute_wrapper(count):
        call_command("clear_expired", batch=2, stdout=StringIO())

    assert not RelyingParty.objects.exists()
    assert (sum(deleted), max(deleted)) == (5, 2)
