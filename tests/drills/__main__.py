"""`make drill`: breaks one part of a running installation after the other, and counts what people met."""

import argparse
import sys
import time

from tests.benchmarks.servers import MissingProgramError
from tests.drills import changes, databases, killed, mail, surroundings, table  # noqa: F401 - they register their drills
from tests.drills.drill import DRILLS, Result
from tests.drills.place import place


def run(names: list[str]) -> list[Result]:
    """The results of these drills, in order."""
    results = []
    with place() as where:
        for name in names:
            began = time.monotonic()
            results.append(DRILLS[name](where))
            print(f"{name} ({time.monotonic() - began:.0f} s): {results[-1]}", file=sys.stderr, flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.drills", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(DRILLS)}")
    parser.add_argument("--write", action="store_true", help="write the table into docs/faults.md")
    chosen = parser.parse_args()
    try:
        results = run(chosen.names or list(DRILLS))
    except MissingProgramError as error:
        print(error, file=sys.stderr)
        return 1
    print(table.markdown(results))
    if chosen.write:
        table.write(results)
    return 0 if all(result.count.sound for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
