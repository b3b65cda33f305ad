"""`manage.py worker`: does all work in the background."""

import signal
from argparse import ArgumentParser
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand

from infra import jobs, runs
from presentation.jobs import JOBS


class Command(BaseCommand):
    help = (
        "Do all work in the background, until the process is stopped: send e-mails and webhooks, and run "
        "what is due every minute or hour. Any number of workers may run, on as many machines as you like."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = ", ".join(JOBS)
        parser.add_argument("--jobs", nargs="+", choices=JOBS, metavar="JOB", help=f"only these: {names}")
        parser.add_argument("--once", action="store_true", help="run each job once, due or not, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = [JOBS[name] for name in options["jobs"] or JOBS]
        if options["once"]:
            with runs.run():
                for job in (*chosen, jobs.HEARTBEAT):
                    with runs.isolated(job.failed, job=job.name):
                        job.run()
            return
        stopped = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        jobs.work(chosen, stopped)
