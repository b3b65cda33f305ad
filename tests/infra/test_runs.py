"""Commands that have to run regularly: when they last did, and who says so when they do not."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.checks import WARNING
from django.core.management import call_command, get_commands
from django.utils import timezone

from infra import checks, runs
from infra.models import DatabaseMark, LastRun

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def checked() -> str:
    out = StringIO()
    call_command("check", "--deploy", "--tag", "security", "--fail-level", "CRITICAL", stderr=out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _made_long_ago() -> None:
    """The database was made nine days ago."""
    made = {"environment": "sandbox", "marked_at": timezone.now() - 9 * DAY}
    DatabaseMark.objects.update_or_create(only=True, defaults=made)


def test_the_check_names_each_command_that_has_not_run_for_a_day() -> None:
    assert "manage.py clear_expired has not run for 216 hours" in checked()
    runs.record("clear_expired", now=timezone.now() - timedelta(hours=23))
    found = checked()
    assert "clear_expired" not in found
    assert "manage.py sweep_identity_verifications has not run for 216 hours" in found
    runs.record("sweep_identity_verifications", now=timezone.now() - timedelta(hours=25))
    assert "sweep_identity_verifications has not run for 25 hours" in checked()
    assert "(infra.I002)" in checked()


def test_the_service_starts_all_the_same() -> None:
    found = checks.regular_commands(None)
    assert len(found) == 3
    assert not any(message.is_serious(WARNING) for message in found)


def test_in_a_new_database_nothing_is_overdue() -> None:
    DatabaseMark.objects.update(marked_at=timezone.now())
    assert "infra.I002" not in checked()


def test_a_database_without_a_mark_is_not_judged() -> None:
    DatabaseMark.objects.all().delete()
    assert runs.ages(now=timezone.now()) == {}


def test_each_run_takes_the_place_of_the_one_before() -> None:
    now = timezone.now()
    for hours in (5, 3):
        runs.record("clear_expired", now=now - timedelta(hours=hours))
    assert LastRun.objects.get().at == now - timedelta(hours=3)


def test_the_commands_exist() -> None:
    assert runs.COMMANDS.keys() <= get_commands().keys()
