"""Commands that have to run regularly: when they last did, and who says so when they do not."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.utils import timezone

from infra import runs
from infra.models import DatabaseMark, LastRun
from presentation.jobs import DUE

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _made_long_ago() -> None:
    """The database was made nine days ago."""
    made = {"environment": "sandbox", "marked_at": timezone.now() - 9 * DAY}
    DatabaseMark.objects.update_or_create(only=True, defaults=made)


def test_a_database_without_a_mark_is_not_judged() -> None:
    DatabaseMark.objects.all().delete()
    assert runs.ages(now=timezone.now()) == {}


def test_each_run_takes_the_place_of_the_one_before() -> None:
    now = timezone.now()
    for hours in (5, 3):
        runs.record("clear_expired", now=now - timedelta(hours=hours))
    assert LastRun.objects.get().at == now - timedelta(hours=3)


@pytest.fixture
def audit_key_is_missing(settings: Any, tmp_path: Path) -> None:
    """`sign_audit_record` fails."""
    settings.AUDIT_FOLDER, settings.AUDIT_KEY_FILE = str(tmp_path), str(tmp_path / "nowhere.pem")


@pytest.mark.usefixtures("audit_key_is_missing")
def test_a_run_that_fails_is_remembered_until_one_ends_well(settings: Any) -> None:
    made = DatabaseMark.objects.get().marked_at
    with pytest.raises(CommandError, match="is not signed"):
        call_command("sign_audit_record")

    assert runs.failures()["sign_audit_record"] == 1
    assert LastRun.objects.get(command="sign_audit_record").at == made, "it never ran to its end"
    settings.AUDIT_FOLDER = ""
    call_command("sign_audit_record", stdout=StringIO())
    assert runs.failures() == dict.fromkeys([*runs.COMMANDS, runs.AUDIT_RECORD], 0)
    assert runs.ages(now=timezone.now())["sign_audit_record"] < DAY


@pytest.mark.usefixtures("audit_key_is_missing")
def test_a_run_that_fails_does_not_change_when_the_command_last_ran_to_its_end() -> None:
    before = timezone.now() - timedelta(hours=2)
    runs.record("sign_audit_record", now=before)
    with pytest.raises(CommandError):
        call_command("sign_audit_record")

    assert LastRun.objects.get(command="sign_audit_record").at == before


@pytest.mark.parametrize("failure", [ValueError("x"), DatabaseError("x"), CommandError("x")])
def test_any_exception_that_leaves_a_command_is_a_failed_run(failure: Exception) -> None:
    class Command(BaseCommand):
        @runs.recording("clear_expired")
        def handle(self, *args: Any, **options: Any) -> None:
            raise failure

    with pytest.raises(type(failure)):
        call_command(Command())

    assert runs.failures()["clear_expired"] == 1


@pytest.mark.usefixtures("audit_key_is_missing")
def test_in_a_database_without_a_mark_the_failure_itself_is_raised() -> None:
    DatabaseMark.objects.all().delete()

    with pytest.raises(CommandError, match="is not signed"):
        call_command("sign_audit_record")

    assert not LastRun.objects.exists()


def test_a_rehearsal_is_no_run(signing_key: Any) -> None:
    call_command("rotate_signing_keys", dry_run=True, stdout=StringIO())
    assert not LastRun.objects.exists()
    call_command("rotate_signing_keys", stdout=StringIO())
    assert LastRun.objects.get().command == "rotate_signing_keys"


def test_the_worker_runs_what_is_watched() -> None:
    assert {job.name for job in DUE} == runs.COMMANDS.keys()
    assert runs.COMMANDS.keys() - get_commands().keys() == {"send_share_emails"}


def failing(*events: str) -> None:
    """A run of a command in which these fail."""
    with runs.run():
        for event in events:
            fail(event)


def fail(event: str) -> None:
    person = "Petronella"
    with runs.isolated(event, row="wallet.wallet:7"):
        raise ValueError(f"of {person}")


def test_a_run_with_a_failure_ends_with_an_error() -> None:
    with pytest.raises(CommandError, match=r"^Failed: row_failed \(2\), job_failed \(1\)\. The log says why"):
        failing("row_failed", "job_failed", "row_failed")
    failing()


def test_the_log_names_the_class_and_the_place_of_a_failure_but_not_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail("row_failed")
    log = capsys.readouterr().err
    assert "Petronella" not in log
    for part in ("row_failed", "wallet.wallet:7", "ValueError", "test_runs.py"):
        assert part in log


def in_threads() -> None:
    with runs.run(), ThreadPoolExecutor(3) as pool:
        contexts = [copy_context() for _ in range(3)]
        list(pool.map(lambda context: context.run(fail, "thread_failed"), contexts))


def test_failures_in_threads_that_work_for_a_run_are_counted() -> None:
    with pytest.raises(CommandError, match=r"thread_failed \(3\)"):
        in_threads()


def test_a_process_that_ends_ends_within_a_row_as_well() -> None:
    with pytest.raises(SystemExit), runs.isolated("row_failed"):
        raise SystemExit


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_after_a_lost_connection_the_next_row_gets_another() -> None:
    with runs.isolated("row_failed"), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert LastRun.objects.count() == 0
