"""Which files of the project a build of the image is given: `.containerignore` as engines read it."""

import re
from pathlib import PurePosixPath

from tests.project_copy import ROOT


def is_copied(path: str) -> bool:
    """Whether a file is in the build context. The last rule that matches it or a folder above it decides."""
    copied = True
    for line in (ROOT / ".containerignore").read_text().splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            rule = _expression(pattern.removeprefix("!"))
            here = PurePosixPath(path)
            if any(rule.fullmatch(str(place)) for place in (here, *here.parents)):
                copied = pattern.startswith("!")
    return copied


def _expression(pattern: str) -> re.Pattern[str]:
    """`**/` is any number of folders, also none; `*` is anything within one name."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts))
