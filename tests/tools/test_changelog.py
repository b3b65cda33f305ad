"""The files of changelog/ are items of the changelog, and are joined with the section of the version."""

from pathlib import Path

import pytest

from tests.project_copy import ROOT
from tools.changelog import HEADINGS, changes, fault, joined, main

BEGUN = """# Changelog

What changed.

## 7.1.0

### Pages

* One.

### Development

* Two,
  in two lines.

## 7.0.0

### Pages

* Old.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a changelog whose newest section is begun, and no changes."""
    (tmp_path / "CHANGELOG.md").write_text(BEGUN)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "7.1.0"\n')
    (tmp_path / "changelog").mkdir()
    (tmp_path / "changelog" / "README.md").write_text("# Changes\n")
    return tmp_path


def test_every_change_that_waits_can_be_joined() -> None:
    assert {path.name: what for path in changes(ROOT / "changelog") if (what := fault(path))} == {}


def test_the_document_names_every_heading() -> None:
    document = (ROOT / "changelog" / "README.md").read_text()

    assert [line for line in HEADINGS.items() if "| `{}` | {} |".format(*line) not in document] == []


def test_changes_come_to_the_end_of_their_headings_and_their_files_go(project: Path) -> None:
    folder = project / "changelog"
    (folder / "pages.b.md").write_text("* Four.\n")
    (folder / "pages.a.md").write_text("* Three.")
    (folder / "update.sooner.md").write_text("* Do this.\n")

    main(project)

    assert (project / "CHANGELOG.md").read_text() == BEGUN.replace(
        "* One.\n", "* One.\n* Three.\n* Four.\n"
    ).replace("  in two lines.\n", "  in two lines.\n\n### Before you update\n\n* Do this.\n")
    assert [path.name for path in folder.iterdir()] == ["README.md"]


def test_without_changes_nothing_is_written(project: Path) -> None:
    main(project)

    assert (project / "CHANGELOG.md").read_text() == BEGUN


def test_a_new_version_gets_a_section_in_the_order_of_the_headings() -> None:
    added = {"Before you update": "* Do this.\n", "Pages": "* New.\n"}

    assert joined(BEGUN, "7.2.0", added) == BEGUN.replace(
        "## 7.1.0", "## 7.2.0\n\n### Before you update\n\n* Do this.\n\n### Pages\n\n* New.\n\n## 7.1.0"
    )


@pytest.mark.parametrize("version", ["7.1.0", "7.0.0"])
def test_items_come_into_the_section_of_the_version_alone(version: str) -> None:
    old = "* One." if version == "7.1.0" else "* Old."

    assert joined(BEGUN, version, {"Pages": "* New.\n"}) == BEGUN.replace(old, f"{old}\n* New.")


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("other.a.md", "* One.\n", "its name"),
        ("pages.md", "* One.\n", "its name"),
        ("pages.a.txt", "* One.\n", "its name"),
        ("pages.a.md", "One.\n", "items"),
        ("pages.a.md", "", "items"),
    ],
)
def test_what_is_no_change_is_refused_and_nothing_is_moved(
    project: Path, name: str, text: str, what: str
) -> None:
    (project / "changelog" / name).write_text(text)
    (project / "changelog" / "pages.good.md").write_text("* Good.\n")

    with pytest.raises(SystemExit, match=f"{name}: .*{what}"):
        main(project)

    assert (project / "CHANGELOG.md").read_text() == BEGUN
    assert (project / "changelog" / "pages.good.md").exists()
