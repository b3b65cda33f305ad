"""Copies packages of this environment into another one, in place of pip, which needs a network.

python -m tests.offline_install FOLDER/.venv requirements/production.txt
"""

import os
import re
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path


def install(environment: Path, requirements: Path) -> None:
    """Copies every package that the file names. Programs start with the other environment's Python."""
    [site] = environment.glob("lib/python*/site-packages")
    for name in re.findall(r"^([a-zA-Z0-9._-]+)(?:\[\S*\])?==", requirements.read_text(), re.MULTILINE):
        package = distribution(name)
        for file in package.files or ():
            source, target = Path(package.locate_file(file)), Path(os.path.normpath(site / file))
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
                if target.parent == environment / "bin":
                    program = target.read_text().partition("\n")[2]
                    target.write_text(f"#!{environment}/bin/python\n{program}")


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sys.argv[2]))
