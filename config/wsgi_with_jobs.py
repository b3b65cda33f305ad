"""The WSGI application of `make sandbox`, whose processes run the jobs of `manage.py worker` in threads."""

import os
from dataclasses import replace
from threading import Event

from config.wsgi import application
from infra import jobs
from presentation.jobs import JOBS

__all__ = ["application"]


def _start_jobs() -> None:
    jobs.start([replace(job, threads=1) for job in (*JOBS.values(), jobs.HEARTBEAT)], Event())


os.register_at_fork(after_in_child=_start_jobs)  # gunicorn forks its workers; threads would not come along
