"""What `check` says before the first `migrate`."""

import os
from pathlib import Path

from tests.warm_start import run


def test_the_check_of_an_empty_database_says_what_to_run(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/new.sqlite3"
    surroundings = {**os.environ, "ENVIRONMENT": "sandbox", "DATABASE_URL": database}
    said = run(surroundings, "manage.py", "check", "--deploy")
    assert "(infra.I003) The database has no tables yet." in said.stderr
    assert "Run manage.py migrate." in said.stderr
