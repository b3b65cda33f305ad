"""`.ci/run` runs every command that `make help` and README.md show."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_PLACE = {  # of a target that `.ci/run` does not name: what does its work there
    "help": "this test reads what it prints",
    "test": "its part on PostgreSQL is one of `.ci/run`, and `make quick` there has that on SQLite in it",
    "sandbox": "tests/sandbox/test_sandbox_command.py, because it never ends",
    "sbom": "tests/tools/test_sbom.py, which writes the documents and validates them",
    "clients": "clients/tests, which build both packages and install them",
    "format": "`make lint`, which changes nothing",
    "texts": "`make lint`, which changes nothing",
    "screenshots": "tests/journeys/test_every_page.py; pictures differ from machine to machine",
    "lock": "nothing: it asks the package index for the newest versions",
    "clean": "nothing: it deletes what the next run needs",
}


def targets(text: str) -> set[str]:
    return set(re.findall(r"\bmake ([a-z][a-z-]*)", text))


def test_every_command_that_is_shown_is_run_or_has_its_place() -> None:
    makefile, ci = (ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text()
    shown = set(re.findall(r"^([a-z]+):.*##", makefile, re.M)) | {"help"}  # as `make help` finds them
    for document in ("README.md", "CONTRIBUTING.md"):
        shown |= targets((ROOT / document).read_text())

    assert shown == (targets(ci) - {"install", "test-postgresql"}) | set(IN_PLACE)
    assert not targets(ci) & set(IN_PLACE)
    (both,) = re.findall(r"^test: .*\n\t(.*)$", makefile, re.M)
    halves = set(re.findall(r"=\$\(MAKE\) --no-print-directory ([a-z-]+)", both))
    assert halves == {"test-sqlite", "test-postgresql"}
    assert {"quick", "test-postgresql"} <= targets(ci)
    assert re.search(r"^test-sqlite quick: .*\n\tQUICK=", makefile, re.M)  # the part and the whole
