"""Runs the whole table in this process, in the environment and on the empty database that it is given.

Writes one file for each group.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--whole", type=Path)
    asked = parser.parse_args()
    from tests.recorded import random_values
    from tests.recorded.clock import clock

    clock.install()
    random_values.install()
    import django

    django.setup()
    from tests.recorded.installation import Installation

    service = Installation()
    reached: Counter[str] = Counter()
    for number, (name, group) in enumerate(_groups(service.sandbox)):
        _run(service, number, name, group, reached, asked)
    from tests.recorded.installation import routes

    found = sorted({key.split(" ")[0] for key in reached})
    said = {"routes": routes(), "reached": found, "requests": reached.total()}
    said |= {"metrics": service.metrics(), "secrets": random_values.secrets_made()}
    print(json.dumps(said))


def _groups(sandbox: bool) -> list[tuple[str, Any]]:
    from tests.recorded.groups import GROUPS, LAST_GROUPS, SANDBOX_GROUPS

    return [*{**GROUPS, **(SANDBOX_GROUPS if sandbox else {}), **LAST_GROUPS}.items()]


def _run(service: Any, number: int, name: str, group: Any, reached: Counter[str], asked: Any) -> None:
    from tests.recorded.clock import clock
    from tests.recorded.recorder import Recorder

    service.number_of_group = number + 1
    clock.set(days=7 * (number + 1))
    recorder = Recorder(service, usual=service.usual_headers(), reached=reached)
    group(recorder)
    (asked.into / f"{name}.txt").write_text(recorder.text())
    if asked.whole:
        asked.whole.mkdir(parents=True, exist_ok=True)
        parts = (f"\n\n==== {place}\n\n{text}" for place, text in recorder.whole)
        (asked.whole / f"{name}.txt").write_text("".join(parts))


if __name__ == "__main__":
    sys.exit(main())
