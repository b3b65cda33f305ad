"""`make drill`: breaks one part of a running installation after the other, and counts what people met."""

import argparse
import os
import sys
import time

from tools.benchmarks.servers import MissingProgramError
from tools.benchmarks.sites import children
from tools.drills import changes, databases, killed, mail, surroundings, table  # noqa: F401 - they register their drills
from tools.drills.drill import DRILLS, Result
from tools.drills.failover import failover
from tools.drills.place import place
from tools.drills.recovery import recovery
from tools.drills.upgrade import upgrade

# These run alone: they need more packages, have several results and tables of their own.
ALONE = {"failover": failover, "recovery": recovery, "upgrade": upgrade}


def run(names: list[str]) -> list[Result]:
    """The results of these drills, in order."""
    results = []
    with place() as where:
        if len(names) == 1 and names[0] in ALONE:
            return ALONE[names[0]](where)
        for name in names:
            began = time.monotonic()
            results.append(DRILLS[name](where))
            print(f"{name} ({time.monotonic() - began:.0f} s): {results[-1]}", file=sys.stderr, flush=True)
    return results


def short() -> list[Result]:
    """One drill with few people, which shows that drills run."""
    with place() as where:
        return [killed.worker(where, kills=1, people=2, instances=1, flows=4)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.drills", description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", help=f"{' or '.join(ALONE)}, or some of: {', '.join(DRILLS)}")
    parser.add_argument("--write", action="store_true", help="write the table into docs/faults.md")
    parser.add_argument("--short", action="store_true", help="one short drill, to see that drills run")
    chosen = parser.parse_args()
    try:
        results = short() if chosen.short else run(chosen.names or list(DRILLS))
    except MissingProgramError as error:
        print(error, file=sys.stderr)
        return 1
    print(table.markdown(results))
    if chosen.write:
        table.write(results, f" NAMES={chosen.names[0]}" if chosen.names and chosen.names[0] in ALONE else "")
    if left := children(os.getpid()):
        print(f"These processes were left behind: {left}", file=sys.stderr)
    return 0 if not left and all(result.count.sound for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
