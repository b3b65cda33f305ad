"""Copies of the project in other folders, like a clone, and commands in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODE_PACKAGES = "tests/node/node_modules"


def copy_project(folder: Path, *, tests: bool = False) -> Path:
    """Copies the tracked files, without pictures; links this virtual environment.

    With the tests also the packages of Node.js: without them the tests that need them would be skipped.
    """
    left_out = ("docs/screenshots/",) if tests else ("tests/", "tools/", "docs/screenshots/")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        if name and not name.startswith(left_out) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    if tests and (ROOT / NODE_PACKAGES).is_dir():
        (folder / NODE_PACKAGES).symlink_to(ROOT / NODE_PACKAGES)
    return folder


def in_shell(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line in the folder, with PATH and the given environment only."""
    return subprocess.run(
        ["sh", "-e", "-u", "-c", command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def recipe(target: str, folder: Path) -> str:
    """The last command that `make` runs for a target."""
    printed = in_shell(folder, f"make --no-print-directory --dry-run {target}")
    assert printed.returncode == 0, printed.stderr
    return printed.stdout.splitlines()[-1].strip()
