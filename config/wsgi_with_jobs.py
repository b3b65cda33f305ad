"""The WSGI application of `make sandbox`, whose processes run the jobs of `manage.py worker` in threads."""

from dataclasses import replace
from threading import Event

from config.wsgi import application
from infra import jobs
from presentation.jobs import JOBS

__all__ = ["application"]

jobs.start([replace(job, threads=1) for job in JOBS.values()], Event())
