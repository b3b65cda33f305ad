"""`make drill`: breaks one part of a running installation after the other, and counts what people met."""

import argparse
import signal
import sys

from tools.drills import table
from tools.drills.drill import Drill
from tools.drills.every import DRILLS, TRIAL
from tools.drills.running import Outcome, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.drills", description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", help="drills to run, in this order; without names all of them")
    parser.add_argument("--list", action="store_true", help="list the drills, with their bounds in seconds")
    parser.add_argument("--write", action="store_true", help="write the results into docs/faults.md")
    parser.add_argument("--short", action="store_true", help="one short drill, to see that drills run")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join(f"{drill.name:<14}{drill.bound:>4} s  {drill.about}" for drill in DRILLS.values()))
        return 0
    try:
        drills = [TRIAL] if chosen.short else named(chosen.names)
    except ValueError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("The drills were ended."))  # as Ctrl+C does
    outcomes = []
    for outcome in run(drills):
        report(outcome)
        outcomes.append(outcome)
    print(table.markdown(outcomes))
    if chosen.write:
        table.write(outcomes)
    return 0 if all(outcome.sound for outcome in outcomes) else 1


def named(names: list[str]) -> list[Drill]:
    """The drills with these names, in this order; all drills without names. Raises ValueError."""
    if unknown := [name for name in names if name not in DRILLS]:
        raise ValueError(f"There is no drill {', '.join(unknown)}. The drills are {', '.join(DRILLS)}.")
    return [DRILLS[name] for name in names or DRILLS]


def report(outcome: Outcome) -> None:
    """Prints the results of a drill as soon as it ends, because all drills together take long."""
    for result in outcome.results:
        print(f"{outcome.drill.name} ({outcome.seconds:.0f} s): {result}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
