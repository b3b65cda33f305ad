"""`python -m tools.changelog` moves the changes of changelog/ into CHANGELOG.md, into the version's section.

changelog/README.md says what a change is. If there is no section of the version yet, it begins one.
"""

import re
import sys
from pathlib import Path

from tools.version import ROOT, current

# The first word of a change's file, and its heading, in the order of a section.
HEADINGS = {
    "update": "Before you update",
    "security": "Security and privacy",
    "integration": "Integration",
    "operators": "Operators and running it",
    "pages": "Pages",
    "development": "Development",
}
NAME = re.compile(rf"({'|'.join(HEADINGS)})\.[a-z0-9-]+\.md")


def changes(folder: Path) -> list[Path]:
    """The files of the changes, in the order of their headings and names."""
    files = [path for path in sorted(folder.iterdir()) if path.name != "README.md"]
    return sorted(files, key=lambda path: [*HEADINGS, ""].index(_word(path)))


def fault(path: Path) -> str:
    """What is wrong with the file of a change, or nothing."""
    lines = path.read_text().splitlines()
    if not NAME.fullmatch(path.name):
        return f"its name is not that of a heading ({', '.join(HEADINGS)}) and what it is about"
    if not lines or not all(line.startswith(("* ", "  ")) for line in lines):
        return "it does not consist of items that begin with “* ”"
    return ""


def joined(changelog: str, version: str, added: dict[str, str]) -> str:
    """The changelog with these items, by heading, at the end of each heading of the version's section."""
    if f"\n## {version}\n" not in changelog:
        changelog = changelog.replace("\n## ", f"\n## {version}\n\n## ", 1)
    before, section, after = re.split(
        rf"(?<=\n)(## {re.escape(version)}\n.*?)(?=\n## |\Z)", changelog, maxsplit=1, flags=re.S
    )
    section = section.rstrip("\n")
    for heading, items in added.items():
        section = _with_items(section, heading, items.rstrip("\n"))
    return f"{before}{section}\n{after}"


def _with_items(section: str, heading: str, items: str) -> str:
    """The section with items at the end of a heading. A new heading comes last."""
    found = re.search(rf"\n### {re.escape(heading)}\n.*?(?=\n\n###|\Z)", section, re.S)
    if found is None:
        return f"{section}\n\n### {heading}\n\n{items}"
    return f"{section[: found.end()]}\n{items}{section[found.end() :]}"


def _word(path: Path) -> str:
    word = path.name.partition(".")[0]
    return word if word in HEADINGS else ""


def main(root: Path = ROOT) -> None:
    """Writes the changelog and deletes the files of the changes. With a fault in one, it does neither."""
    files = changes(root / "changelog")
    if faults := [f"{path.name}: {what}" for path in files if (what := fault(path))]:
        sys.exit("\n".join(faults))
    added: dict[str, str] = {}
    for path in files:
        heading = HEADINGS[_word(path)]
        added[heading] = added.get(heading, "") + path.read_text().rstrip("\n") + "\n"
    changelog = root / "CHANGELOG.md"
    changelog.write_text(joined(changelog.read_text(), current(root), added))
    for path in files:
        path.unlink()


if __name__ == "__main__":
    main()
