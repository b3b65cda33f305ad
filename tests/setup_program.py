"""Runs `deploy/setup`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.project_copy import ROOT

SETUP = ROOT / "deploy" / "setup"
ANSWERS = {
    "BASE_URL": "https://id.example",
    "OPERATOR_NAME": "Example Trust Ltd",
    "OPERATOR_PRIVACY_NOTICE": "https://operator.example/privacy",
    "OPERATOR_HELP": "help@operator.example",
    "EMAIL_URL": "smtp+tls://user:pass%24word@mail.example:587",
}
Setup = Callable[..., subprocess.CompletedProcess[str]]


def started(script: Path, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The finished program, in an empty environment, after these words and what was typed."""
    command = [sys.executable, "-I", str(script), *words]
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"]}, input=typed, capture_output=True, text=True
    )
