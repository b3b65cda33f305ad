"""Jobs of the worker: who runs what is due, when a job stops, and what happens to one that hangs."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from infra import jobs, runs
from infra.jobs import Job, JobThread, Stopped
from infra.models import DatabaseMark, LastRun
from presentation.jobs import JOBS
from tests.processes import ROOT, environment
from tests.wallet.conftest import together

pytestmark = pytest.mark.django_db
NAME, HOUR = "clear_expired", timedelta(hours=1)
LONGEST = 60.0  # seconds


@pytest.fixture
def made() -> datetime:
    """When the database was made."""
    at = timezone.now() - 9 * 24 * HOUR
    DatabaseMark.objects.update_or_create(only=True, defaults={"environment": "sandbox", "marked_at": at})
    return at


def hourly(run: Callable[[], object] = lambda: None, **facts: Any) -> Job:
    def recorded() -> None:
        with runs.recording(NAME):
            run()

    return Job(NAME, HOUR, recorded, **facts)


def worker(job: Job) -> JobThread:
    """A worker's thread that has not been started."""
    return JobThread(job, Event())


def due_in(job: Job, **later: float) -> bool:
    """Whether a worker runs the job at that time."""
    return worker(job).run_if_due(now=timezone.now() + timedelta(**later))


def row() -> LastRun:
    return LastRun.objects.get(command=NAME)


# --- Once in each period ----------------------------------------------------------------------------------


def test_a_job_runs_at_the_first_start_and_then_once_in_each_period(made: datetime) -> None:
    job = hourly()

    assert [due_in(job, minutes=minutes) for minutes in (0, 0, 59, 61)] == [True, False, False, True]
    assert row().leased_until is None


def test_what_a_timer_or_an_operator_has_run_is_not_run_again_in_that_period(made: datetime) -> None:
    """Such as a timer of the release before, during the upgrade."""
    due_in(hourly(), hours=-2)
    LastRun.objects.update(at=timezone.now() - 2 * HOUR)
    call_command(NAME)

    assert not due_in(hourly())


def test_while_one_worker_runs_a_job_an_operator_may_and_another_worker_does_not(made: datetime) -> None:
    seen: list[bool] = []

    def run() -> None:
        call_command(NAME)
        LastRun.objects.update(at=timezone.now() - 2 * HOUR)
        seen.append(due_in(hourly()))

    assert due_in(hourly(run))
    assert seen == [False]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_eight_workers_at_once_one_runs_it(made: datetime) -> None:
    job = hourly(lambda: time.sleep(0.2))

    assert sorted(together(lambda _number: due_in(job))) == [False] * 7 + [True]


# --- The first start, failures, and what is seen of them --------------------------------------------------


def test_until_a_job_has_run_to_its_end_its_age_is_that_of_the_database(made: datetime) -> None:
    def run() -> None:
        assert runs.ages(now=made + 3 * HOUR)[NAME] == 3 * HOUR
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        due_in(hourly(run))

    assert runs.ages(now=made + 3 * HOUR)[NAME] == 3 * HOUR


def test_a_job_that_fails_is_tried_again_after_its_period_and_the_metrics_show_it(made: datetime) -> None:
    def run() -> None:
        raise CommandError("No disk.")

    with pytest.raises(CommandError):
        due_in(hourly(run))

    metrics = {family.name: family for family in runs.run_metrics()}
    failed = {each.labels["command"]: each.value for each in metrics["last_run_failed"].samples}
    assert failed[NAME] == 1
    assert [due_in(hourly(), minutes=minutes) for minutes in (1, 59, 61)] == [False, False, True]
    assert runs.failures()[NAME] == 0


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_job_that_fails_disturbs_no_other_and_the_log_has_no_personal_data(
    made: datetime, logged: list[dict[str, Any]]
) -> None:
    person, ran = "Petronella", Event()

    def fail() -> None:
        raise ValueError(f"of {person}")

    stopped = Event()
    every = timedelta(seconds=0.05)
    threads = jobs.start([hourly(fail), Job("queue", every, ran.set, shared=True)], stopped)
    until(lambda: ran.is_set() and runs.failures()[NAME] == 1 and "job_failed" in str(logged))
    stopped.set()
    for thread in threads:
        thread.join()

    assert "ValueError" in str(logged)
    assert person not in str(logged)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_after_a_lost_connection_the_next_run_gets_another() -> None:
    answers: list[int] = []

    def run() -> None:
        with connection.cursor() as cursor:
            if len(answers) == 1:
                answers.append(0)
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            cursor.execute("SELECT 1")
            answers.append(1)

    stopped = Event()
    (thread,) = jobs.start([Job("queue", timedelta(seconds=0.05), run, shared=True)], stopped)
    until(lambda: answers.count(1) >= 3)
    stopped.set()
    thread.join()


# --- Between two batches ----------------------------------------------------------------------------------


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> JobThread:
    """This test runs as a worker's thread."""
    made = worker(hourly())
    monkeypatch.setattr(jobs, "current_thread", lambda: made)
    return made


def runs_in(thread: JobThread, run: Callable[[], object]) -> None:
    thread.job = hourly(run)
    thread.run_if_due(now=timezone.now())


def test_the_lease_is_renewed_with_each_batch(
    made: datetime, thread: JobThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "RENEWED", timedelta(0))
    ends: list[datetime | None] = []

    def run() -> None:
        for _ in range(3):
            jobs.next_batch()
            ends.append(row().leased_until)

    runs_in(thread, run)

    assert None not in ends
    assert ends[0] < ends[1] < ends[2]  # type: ignore[operator]


def test_a_lease_outlives_the_longest_time_between_two_batches() -> None:
    """A process in which a batch takes longer has ended by then."""
    assert jobs.RENEWED < jobs.MARGIN


def test_told_to_stop_a_job_ends_before_its_next_batch_and_is_still_due(
    made: datetime, thread: JobThread
) -> None:
    def run() -> None:
        thread.stopped.set()
        jobs.next_batch()

    with pytest.raises(Stopped):
        runs_in(thread, run)

    assert (row().leased_until, row().failures, row().at) == (None, 0, made)
    assert due_in(hourly())


def test_clearing_stops_between_two_batches(made: datetime, thread: JobThread) -> None:
    thread.stopped.set()

    with pytest.raises(Stopped):
        call_command(NAME)

    assert not LastRun.objects.exists()


def test_a_worker_that_lost_its_lease_ends_the_job_and_leaves_the_lease_of_the_other(
    made: datetime, thread: JobThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "RENEWED", timedelta(0))
    others = timezone.now() + 2 * HOUR

    def run() -> None:
        LastRun.objects.update(leased_until=others)
        jobs.next_batch()

    with pytest.raises(Stopped):
        runs_in(thread, run)

    assert row().leased_until == others


# --- A job that hangs -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)  # a thread records that a worker is there
@pytest.mark.parametrize("ends_by_itself", [True, False])
def test_a_thread_past_its_limit_or_gone_ends_the_process_with_an_error(
    ends_by_itself: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    stopped = Event()

    def run() -> None:
        if ends_by_itself:
            raise SystemExit
        stopped.wait(LONGEST)

    limit = timedelta(seconds=30 if ends_by_itself else 0.1)
    job = Job("queue", timedelta(seconds=0.1), run, shared=True, limit=limit)
    others = set(threading.enumerate())
    try:
        with pytest.raises(CommandError, match="The job queue hangs or has ended"):
            jobs.work([job], stopped)
    finally:
        stopped.set()
        for thread in set(threading.enumerate()) - others:
            thread.join(LONGEST)


@pytest.mark.django_db(transaction=True)
def test_systemd_hears_that_the_worker_is_ready_and_then_that_it_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{os.urandom(8).hex()}")
        systemd.settimeout(LONGEST)
        monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname().decode().replace("\0", "@"))
        stopped, runs_left = Event(), iter(range(10))

        def run() -> None:
            if next(runs_left) == 9:
                stopped.set()

        jobs.work([Job("queue", timedelta(seconds=0.1), run, shared=True)], stopped)

        assert [systemd.recv(100) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]


# --- Processes --------------------------------------------------------------------------------------------


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def start(settings: Any, tmp_path: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    started: list[subprocess.Popen[str]] = []

    def run() -> "subprocess.Popen[str]":
        command = [sys.executable, "manage.py", "worker", "--jobs", NAME]
        surroundings = environment(settings, tmp_path) | {"LOG_LEVEL": "INFO"}
        started.append(
            subprocess.Popen(command, cwd=ROOT, env=surroundings, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_workers_run_a_job_once_and_if_one_is_killed_the_other_takes_over(
    made: datetime, start: Callable[[], "subprocess.Popen[str]"]
) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE infra_outgoingemail IN ACCESS EXCLUSIVE MODE")  # so that the job lasts
        killed = start()
        until(lambda: LastRun.objects.filter(command=NAME).exclude(leased_until=None).exists())
        killed.send_signal(signal.SIGKILL)
        killed.wait(LONGEST)
    taken = row()
    assert taken.leased_until
    assert taken.leased_until > timezone.now() + JOBS[NAME].limit
    assert not due_in(hourly()), "its lease has not ended"
    LastRun.objects.update(leased_until=timezone.now())

    both = [start(), start()]
    until(lambda: row().at > made)
    time.sleep(3)
    said = ""
    for process in both:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) == 0
        said += process.communicate()[1]

    assert said.count("job_done") == 1
    assert row().leased_until is None
