"""The version is that of pyproject.toml at every place, and no file names it that the tool does not know."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project_copy import ROOT
from tools.version import FILES, current, main, places, write

# Files that name a version because of what it was or will be, so that a new version does not change them.
LASTING = {
    *("CHANGELOG.md", "docs/faults.md"),  # what a version changed, and what was measured with it
    *("tools/drills/upgrade.py", "config/retired.py"),  # which version refuses which variables
    *("tools/version.py", "tests/tools/test_version.py"),  # examples
}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with copies of the files that name the version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_place_names_the_version_and_every_file_has_one() -> None:
    assert [place for place in places() if place[2] != current()] == []
    assert {name for name, _, _ in places()} == set(FILES)


def test_no_other_file_names_the_version() -> None:
    version = current()
    forms = rf"(^|[^0-9.-])({re.escape(version)}|{version.replace('.', '-')})($|[^0-9.-])"
    locked = [":!*lock.json", ":!requirements", ":!tools/products/environments", ":!tests/upgrade"]
    found = subprocess.run(
        ["git", "grep", "--untracked", "-lIE", forms, "--", ".", *locked],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.split()

    assert set(found) - set(FILES) - LASTING == set()


def test_the_newest_section_of_the_changelog_is_that_of_the_version() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)

    assert sections[0] == current()


def test_a_new_version_is_written_at_every_place_and_nowhere_else(copied: Path) -> None:
    before = {name: (copied / name).read_text() for name in FILES}

    write("12.0.1", copied)

    assert current(copied) == "12.0.1"
    assert {version for _, _, version in places(copied)} == {"12.0.1"}
    assert len(list(places(copied))) == len(list(places()))
    assert "name: migrate-12-0-1" in (copied / "deploy/kubernetes-base/migrate.yaml").read_text()
    write(current(), copied)
    assert {name: (copied / name).read_text() for name in FILES} == before


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(SystemExit, match="'next' is no version such as"):
        main(["next"])
