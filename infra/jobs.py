"""Work in the background: the threads of `manage.py worker`, and which of several workers runs what is due.

Any number of workers may run. A *shared* job, a queue whose rows have leases of their own, runs in all of
them. Every other job is *due* from time to time and runs in one worker, which takes the job's lease, a column
of `LastRun`, with one conditional update: it needs no session of the database. If that worker dies, the lease
ends and another worker runs the job, so every job must bear being run twice.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread, current_thread

from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from infra import runs
from infra.models import DatabaseMark, LastRun

PAUSE = 3.0  # seconds in which a job is left alone after a failure
LOOK = 15.0  # seconds between two looks at a job that is not due
RENEWED = timedelta(seconds=5)  # after which a lease is renewed
MARGIN = timedelta(minutes=1)  # by which a lease is longer than the limit


class Stopped(BaseException):
    """The job has to end here, between two batches, and is still due."""


@dataclass(frozen=True)
class Job:
    """every: for a shared job, the pause between two runs. run: returns True to be left alone for a while.

    failed: the event in the log if it raises. limit: the longest time between two calls of `must_stop`.
    """

    name: str
    every: timedelta
    run: Callable[[], object]
    failed: str = "job_failed"
    shared: bool = False
    threads: int = 1
    limit: timedelta = timedelta(minutes=15)


def beat() -> None:
    """Records that a worker is there."""
    runs.record(runs.WORKER, now=timezone.now())


HEARTBEAT = Job("heartbeat", timedelta(seconds=15), beat, shared=True)


def must_stop() -> bool:
    """Jobs call this between two batches: it renews the lease, and returns whether the job has to end.

    Outside a worker's thread it returns False.
    """
    thread = current_thread()
    return isinstance(thread, JobThread) and not thread.may_go_on()


def next_batch() -> None:
    """As `must_stop`, but raises Stopped."""
    if must_stop():
        raise Stopped


class JobThread(Thread):
    """Runs one job again and again until `stopped` is set."""

    def __init__(self, job: Job, stopped: Event) -> None:
        super().__init__(name=job.name, daemon=True)
        self.job, self.stopped = job, stopped
        self.leased_until: datetime | None = None
        self.seen = time.monotonic()

    def run(self) -> None:
        every = self.job.every.total_seconds()
        while not self.stopped.is_set():
            self.seen = time.monotonic()
            pause = max(every, PAUSE)
            with suppress(Stopped), runs.isolated(self.job.failed, job=self.job.name):
                if not self.job.shared:
                    self.run_if_due(now=timezone.now())
                elif self.job.run() is not True:
                    pause = every
            if self.job.shared:
                connection.close_if_unusable_or_obsolete()
            else:
                connection.close()  # it is not needed again soon
            self.stopped.wait(min(pause, LOOK))
        connection.close()

    def run_if_due(self, *, now: datetime) -> bool:
        """Runs the job unless it was run in its time or another worker runs it; returns whether it ran."""
        # A job that never ran is due. Its age counts from when the database was made, as in `runs.ages`.
        never = DatabaseMark.objects.get().marked_at
        LastRun.objects.get_or_create(command=self.job.name, defaults={"at": never})
        due = Q(at__lte=now - self.job.every) | Q(at=never)
        if not self._lease(due & (Q(leased_until=None) | Q(leased_until__lte=now)), now):
            return False
        try:
            self.job.run()
        except Stopped:
            self._release(None)
            raise
        except Exception:
            self._release(timezone.now() + self.job.every)  # the next try
            raise
        self._release(None)
        return True

    def may_go_on(self) -> bool:
        self.seen, now, leased_until = time.monotonic(), timezone.now(), self.leased_until
        renews = leased_until and now + self.job.limit + MARGIN > leased_until + RENEWED
        kept = not renews or self._lease(Q(leased_until=leased_until), now)  # or another worker has the job
        return kept and not self.stopped.is_set()

    def _lease(self, condition: Q, now: datetime) -> bool:
        self.leased_until = now + self.job.limit + MARGIN
        taken = LastRun.objects.filter(condition, command=self.job.name)
        return taken.update(leased_until=self.leased_until) == 1

    def _release(self, until: datetime | None) -> None:
        own = LastRun.objects.filter(command=self.job.name, leased_until=self.leased_until)
        own.update(leased_until=until)


def start(jobs: Iterable[Job], stopped: Event) -> list[JobThread]:
    """Starts the threads of these jobs."""
    threads = [JobThread(job, stopped) for job in jobs for _ in range(job.threads)]
    for thread in threads:
        thread.start()
    return threads


def work(jobs: Iterable[Job], stopped: Event) -> None:
    """Runs the jobs until `stopped` is set, and waits for what is under way.

    All the while a thread records that a worker is there. Raises CommandError when a thread is past its limit
    or has ended by itself, so that systemd starts the process again.
    """
    threads = start([*jobs, HEARTBEAT], stopped)
    _tell_systemd("READY=1")
    while not stopped.is_set() or any(thread.is_alive() for thread in threads):
        for thread in threads:
            hangs = thread.is_alive() and time.monotonic() > thread.seen + thread.job.limit.total_seconds()
            if hangs or not (thread.is_alive() or stopped.is_set()):
                raise CommandError(f"The job {thread.name} hangs or has ended, so this process ends.")
        _tell_systemd("WATCHDOG=1")
        time.sleep(0.5)  # not a wait for `stopped`: the handler of a signal sets it in this thread


def _tell_systemd(state: str) -> None:
    """As sd_notify(3) does, if systemd started this process."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.sendto(state.encode(), address.replace("@", "\0", 1))
