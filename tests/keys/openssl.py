"""The openssl command, as an independent tool."""

import subprocess
from pathlib import Path


def openssl(*words: str | Path, stdin: str = "") -> str:
    """What the command prints; it must succeed."""
    run = subprocess.run(["openssl", *words], input=stdin, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
