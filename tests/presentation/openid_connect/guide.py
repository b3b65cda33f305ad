"""The snippets of docs/openid-connect.md."""

import re
from pathlib import Path

from tests.source_modules import ROOT

GUIDE = (Path(ROOT) / "docs" / "openid-connect.md").read_text()


def printed(language: str) -> str:
    """The guide's only snippet in a language."""
    (snippet,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return str(snippet)
