"""The variables that docs/settings.md describes."""

import re

from tests.project_copy import ROOT

TABLE = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
VARIABLES = re.findall(r"`([A-Z0-9_]+)`", " ".join(TABLE))
