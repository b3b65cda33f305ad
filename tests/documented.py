"""Commands that the documents show, as scripts."""

import re
import subprocess
import textwrap
from pathlib import Path

from tests.project_copy import ROOT

KEYS = (ROOT / "docs" / "keys.md").read_text()


def commands_of(section: str) -> str:
    """The commands of root's console in a section, as a script."""
    blocks = re.findall(r"^( *)```console\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    lines = [line for indent, block in blocks for line in textwrap.dedent(block).splitlines()]
    assert all(line.startswith(("# ", "  ")) for line in lines), lines
    return "".join(f"{line.removeprefix('# ')}\n" for line in lines)


def authority(folder: Path) -> None:
    """Makes an authority for signing keys, by the commands of docs/keys.md; without passphrases."""
    section = KEYS.partition("### An authority of your own")[2].partition("\n## ")[0]
    made, _certified = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    script = made.replace("-newkey ec", "-nodes -newkey ec")
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, capture_output=True)
