"""`python -m tests.recorded`: compares the answers with the record. `--write` replaces the record."""

import argparse
import sys
from pathlib import Path

from tests.recorded import runs


def _before(environment: str) -> dict[str, str]:
    """The whole texts of the record; none where a merge has left a reference that leads nowhere."""
    try:
        return runs.recorded(environment)
    except KeyError as error:
        print(f"The record of the {environment} cannot be read, so all of it counts as changed: {error}")
        return {}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__, allow_abbrev=False)
    parser.add_argument("--write", action="store_true", help="keep what is answered now")
    parser.add_argument("--environment", choices=runs.ENVIRONMENTS, help="one only; both when left out")
    parser.add_argument(
        "--whole", type=Path, metavar="FOLDER", help="write whole pages there, to compare by hand"
    )
    asked = parser.parse_args()
    changed = False
    environments = [asked.environment] if asked.environment else runs.ENVIRONMENTS
    # All of it now: the record of the production refers to that of the sandbox, which may be written below.
    before = {environment: _before(environment) for environment in environments}
    for environment in environments:
        print(f"Asking every address of the {environment}. This takes up to a minute …", flush=True)
        run = runs.run(environment, whole=asked.whole)
        found = runs.differences(before[environment], run.texts)
        changed = changed or bool(found)
        print(found or f"Nothing has changed in the {environment} ({run.requests} requests).")
        if asked.write:
            runs.write(environment, run)
            print(f"The record of the {environment} is written to {runs.TEXTS / environment}.", flush=True)
    return 1 if changed and not asked.write else 0


if __name__ == "__main__":
    sys.exit(main())
