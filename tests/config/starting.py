"""Loads the settings in a process of their own."""

import subprocess

from tests.warm_start import run

READY = "import django; django.setup();"


def start(environment: dict[str, str], code: str = "") -> subprocess.CompletedProcess[str]:
    """Loads the settings in a new process and runs `code`; `READY` loads the applications, too."""
    program = f"from django.conf import settings; settings.DEBUG; {code or READY}"
    return run({"DJANGO_SETTINGS_MODULE": "config.settings", **environment}, "-c", program)
