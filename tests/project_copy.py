"""A copy of the project in a folder of its own, as a clone has it, with a sandbox prepared in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_project(folder: Path, *, tests: bool = False) -> Path:
    """What git tracks: without pictures, and tests only if asked. The virtual environment is this one."""
    left_out = ("docs/screenshots/",) if tests else ("tests/", "docs/screenshots/")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        if name and not name.startswith(left_out) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def in_shell(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line typed in the folder, with nothing in the environment but what is given."""
    return subprocess.run(
        ["sh", "-e", "-u", "-c", command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def recipe(target: str, folder: Path) -> str:
    """The command that `make` runs last for a target."""
    printed = in_shell(folder, f"make --no-print-directory --dry-run {target}")
    assert printed.returncode == 0, printed.stderr
    return printed.stdout.splitlines()[-1].strip()
