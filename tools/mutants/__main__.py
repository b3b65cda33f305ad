"""`python -m tools.mutants [--jobs 2] [--promises P1 …] [words of a name …]`: try every mutant.

`--random 20 [--seed …]` draws mutants of modules that no table names. They meet the quick tests near their
module; those that survive meet all quick tests of their layer, and the trials of limits.
"""

import argparse
import secrets
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from time import monotonic

from tests.project_copy import ROOT
from tools.mutants.copies import LONGEST, Outcome, ProjectCopy, Verdict, copies, database_server
from tools.mutants.drawn import drawn, farther
from tools.mutants.mutant import Mutant, diff, problems
from tools.mutants.tables import MUTANTS
from tools.promises import NUMBERS, numbered

Row = tuple[Mutant, Outcome, float]  # with the duration in seconds


def main() -> int:
    """Prints the table; 0 when every mutant was killed."""
    arguments = _arguments()
    if arguments.random:
        print(f"seed {arguments.seed}", flush=True)
        chosen = drawn(arguments.random, arguments.seed)
    else:
        chosen = _chosen(arguments.words, arguments.promises)
    if stale := [problem for mutant in chosen for problem in problems(mutant, ROOT)]:
        print("\n".join(stale), file=sys.stderr)
        return 1
    begun = monotonic()
    with database_server() as cluster, copies(arguments.jobs, cluster) as made:
        if not pass_as_they_are(made, chosen, quick=bool(arguments.random)):
            return 1
        rows = list(tried(chosen, made, quick=bool(arguments.random)))
        if arguments.random:
            rows = _tried_again(rows, made)
    return _report(rows, monotonic() - begun)


def _chosen(words: list[str], numbers: list[str]) -> list[Mutant]:
    """The mutants whose name contains one of the words, if there are any, and that break these promises."""
    promises = numbered(numbers)
    return [
        mutant
        for mutant in MUTANTS
        if any(word in mutant.name for word in words or [""])
        and (not numbers or any(promise.has(mutant) for promise in promises))
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__, allow_abbrev=False)
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tried at a time")
    parser.add_argument(
        "--promises",
        nargs="*",
        default=[],
        choices=NUMBERS,
        metavar="P1",
        help="only mutants that break these",
    )
    parser.add_argument("--random", type=int, default=0, metavar="20", help="draw this many mutants")
    parser.add_argument(
        "--seed", default=secrets.token_hex(4), help="printed, so that a draw can be repeated"
    )
    parser.add_argument("words", nargs="*", help="only mutants whose name contains one of these")
    return parser.parse_args()


def pass_as_they_are(made: list[ProjectCopy], chosen: Sequence[Mutant], *, quick: bool = False) -> bool:
    """Checks that the tests pass without a mutant; otherwise they would seem to detect every mutant."""
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    shares = [tests[index :: len(made)] for index in range(len(made))]
    print(f"The tests of {len(chosen)} mutants as they are …", file=sys.stderr, flush=True)
    run = partial(ProjectCopy.run, quick=quick, longest=LONGEST * max(1, len(chosen)))
    with ThreadPoolExecutor(len(made)) as threads:
        outcomes = list(threads.map(run, made, shares))
    for before in outcomes:
        if before.verdict is not Verdict.SURVIVED:
            print(f"The tests do not pass as they are:\n{before.about}", file=sys.stderr)
    return all(before.verdict is Verdict.SURVIVED for before in outcomes)


def tried(chosen: Iterable[Mutant], made: list[ProjectCopy], *, quick: bool = False) -> Iterable[Row]:
    """Tries each mutant in the next free copy, with its tests or those of them that `make quick` runs."""
    free: SimpleQueue[ProjectCopy] = SimpleQueue()
    for copy in made:
        free.put(copy)

    def try_out(mutant: Mutant) -> Row:
        copy, begun = free.get(), monotonic()
        try:
            return mutant, copy.try_out(mutant, quick=quick), monotonic() - begun
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(made)) as threads:
        for row in threads.map(try_out, chosen):
            print(".", end="", file=sys.stderr, flush=True)
            yield row
    print(file=sys.stderr)


def _tried_again(rows: list[Row], made: list[ProjectCopy]) -> list[Row]:
    """The same, where each mutant that survived met the tests that are `farther` away."""
    survivors = [mutant for mutant, outcome, _ in rows if outcome.verdict is Verdict.SURVIVED]
    wider = [replace(mutant, tests=farther(mutant.file.replace("/", "."))) for mutant in survivors]
    again = {row[0].name: row for row in tried(wider, made, quick=True)}
    return [again.get(row[0].name, row) for row in rows]


def _report(rows: list[Row], seconds: float) -> int:
    width = max((len(mutant.name) for mutant, _, _ in rows), default=0)
    for mutant, outcome, took in rows:
        print(f"{mutant.name:{width}}  {outcome.verdict.value:8}  {took:5.1f} s  {mutant.file}")
    alive = [row for row in rows if row[1].verdict is not Verdict.KILLED]
    for mutant, outcome, _ in alive:
        print(f"\n{outcome.verdict.value}: {mutant.name} ({mutant.file})\n{outcome.about}\n{diff(mutant)}")
    print(f"\n{len(rows) - len(alive)} of {len(rows)} mutants were killed, in {seconds:.0f} seconds.")
    return 1 if alive or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
