"""Processes of the service on the test's database: real instances, and commands to kill."""

import os
import sys
from typing import Any
from urllib.parse import urlsplit

from django.db import connection

from tests.benchmarks.browsers import ORIGIN


def environment(settings: Any, folder: Any) -> dict[str, str]:
    """What a process needs to be this service: the sandbox, reached as `ORIGIN` behind a proxy."""
    url = urlsplit(os.environ["DATABASE_URL"])
    return {
        "PATH": os.environ["PATH"],
        "ENVIRONMENT": "sandbox",
        "BASE_URL": ORIGIN,
        "DATABASE_URL": url._replace(path=f"/{connection.settings_dict['NAME']}").geturl(),
        "SECRET_KEY": settings.SECRET_KEY,
        "KEY_SEALING_KEYS": ",".join(settings.KEY_SEALING_KEYS),
        "STATE_DIRECTORY": str(folder),
        "TRUSTED_PROXY_COUNT": "1",
        "LOG_LEVEL": "WARNING",
    }


def manage(*words: str) -> list[str]:
    """The command line of a management command."""
    return [sys.executable, "manage.py", *words]
