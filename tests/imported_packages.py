"""Imports the packages that the modules of the project import, but none of the modules: see `warm_start`."""

import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = {"config", "infra", "keys", "wallet", "consent", "presentation", "operators", "sandbox"}
NEEDED_LATER = {
    "django.core.management",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gthread",
}

found = {
    name
    for package in PROJECT
    for path in (ROOT / package).rglob("*.py")
    for name in re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(), re.MULTILINE)
}
os.environ.pop("DJANGO_SETTINGS_MODULE", None)  # or packages that ask for a setting would load the project's
for name in sorted(found | NEEDED_LATER):
    if name.partition(".")[0] not in PROJECT:
        with suppress(Exception):  # of those that ask for a setting
            import_module(name)
assert not [name for name in sys.modules if name.partition(".")[0] in PROJECT]
