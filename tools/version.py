"""`python -m tools.version` lists every place that names the version; with a new one, it writes that there.

The version is that of pyproject.toml. tests/tools/test_version.py compares all other places with it.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The files that name this version. The changelog is not among them: tools/changelog.py writes its headings.
FILES = (
    "pyproject.toml",
    "clients/python/pyproject.toml",
    "clients/node/package.json",
    "Containerfile",
    "compose.yaml",
    *(f"deploy/kubernetes-base/{name}.yaml" for name in ("audit", "front", "migrate", "web", "worker")),
    "deploy/restart",
    "docs/kubernetes.md",
    "docs/operate.md",
)
# What stands before a version in them. The name of the Job `migrate` has hyphens in place of the dots.
PLACE = re.compile(
    r'(^version = "|"version": "|presentation:|migrate-|deploy/restart |releases/|newTag: )'
    r"(\d+([.-])\d+\3\d+)\b",
    re.M,
)


def current(root: Path = ROOT) -> str:
    """The version of the service."""
    version: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return version


def places(root: Path = ROOT) -> Iterator[tuple[str, int, str]]:
    """Each place: its file, its line, and the version there, with dots."""
    for name in FILES:
        text = (root / name).read_text()
        for place in PLACE.finditer(text):
            yield name, text.count("\n", 0, place.start(2)) + 1, place[2].replace("-", ".")


def write(version: str, root: Path = ROOT) -> None:
    """Writes this version at every place."""
    for name in FILES:
        path = root / name
        path.write_text(PLACE.sub(lambda place: place[1] + version.replace(".", place[3]), path.read_text()))


def main(arguments: list[str]) -> int:
    """Writes the version that is given, and prints every place. The exit status is 1 if they differ."""
    if arguments:
        if not re.fullmatch(r"\d+\.\d+\.\d+", arguments[0]):
            sys.exit(f"{arguments[0]!r} is no version such as {current()}.")
        write(arguments[0])
    for name, line, version in places():
        print(f"{name}:{line}: {version}")
    return 0 if {version for _, _, version in places()} == {current()} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
