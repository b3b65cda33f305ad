"""What `check` says before the first `migrate`."""

import os
import subprocess
import sys
from pathlib import Path

from tests.project_copy import ROOT


def test_the_check_of_an_empty_database_says_what_to_run(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/new.sqlite3"
    surroundings = {**os.environ, "ENVIRONMENT": "sandbox", "DATABASE_URL": database}
    command = [sys.executable, "manage.py", "check", "--deploy"]
    said = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    assert "(infra.I003) The database has no tables yet." in said.stderr
    assert "Run manage.py migrate." in said.stderr
