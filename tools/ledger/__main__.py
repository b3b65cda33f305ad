"""`make ledger`: tries to break every promise, and writes what came of it into docs/ledger.md."""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.pgcluster import Cluster
from tools.benchmarks.servers import MissingProgramError
from tools.drills import __main__ as drilling
from tools.drills.drill import DRILLS
from tools.fuzz import __main__ as fuzzing
from tools.fuzz.table import Sum
from tools.ledger import report
from tools.ledger.attacks import ATTACKS
from tools.ledger.promises import PROMISES, Promise
from tools.ledger.site import Site, site
from tools.mutants.__main__ import pass_as_they_are, tried
from tools.mutants.copies import copies, database_server
from tools.mutants.tables import MUTANTS

Keep = Callable[[str, dict[str, Any]], Any]  # stores results of a part


def main() -> int:
    chosen = _arguments()
    wanted = [promise for promise in PROMISES if promise.number in (chosen.promises or promise.number)]
    keep: Keep = (lambda part, of: None) if chosen.short else partial(report.keep, report.commit())
    try:
        good = [RUN[part](wanted, chosen, keep) for part in chosen.parts.split(",")]
    except MissingProgramError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if all(good) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.ledger", description=__doc__)
    parser.add_argument("--parts", default=",".join(report.PARTS), help="some of: " + ",".join(report.PARTS))
    parser.add_argument(
        "--promises", nargs="*", default=[], help="only the attacks, mutants and drills of these"
    )
    parser.add_argument("--count", type=int, help="how many requests are fuzzed")
    parser.add_argument("--short", action="store_true", help="little of each part, and nothing is written")
    return parser.parse_args()


def attacks(wanted: list[Promise], _: argparse.Namespace, keep: Keep) -> bool:
    """Runs the attacks against one installation."""
    names = {name: None for promise in wanted for name in promise.attacks}
    with site() as where:
        of = {name: _attacked(name, where) for name in names}
    keep("attacks", of)
    return not any(one["not refused"] for one in of.values())


def _attacked(name: str, where: Site) -> dict[str, Any]:
    tried_out, through = 0, []
    try:
        for what, refused in ATTACKS[name](where):
            tried_out += 1
            through += [] if refused else [what]
    except Exception as error:  # noqa: BLE001 - the ledger says that the attack did not end
        tried_out, through = tried_out + 1, [*through, f"the attack did not end: {error!r}"[:300]]
    print(f"{name}: {tried_out - len(through)} of {tried_out} refused {through or ''}", flush=True)
    return {"tried": tried_out, "not refused": through}


def mutants(wanted: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Tries the mutants; each verdict is stored at once, because all of them take long."""
    ours = [one for one in MUTANTS if any(promise.has(one) for promise in wanted)]
    ours = ours[:1] if chosen.short else ours if chosen.promises else list(MUTANTS)
    killed = 0
    with database_server() as cluster, copies(2, cluster) as made:
        if not pass_as_they_are(made, ours):
            return False
        for mutant, outcome, seconds in tried(ours, made):
            print(f"{outcome.verdict.value} {mutant.name} ({seconds:.0f} s) {outcome.about}", flush=True)
            keep("mutants", {mutant.name: outcome.verdict.value})
            killed += outcome.verdict.value == "killed"
    print(f"{killed} of {len(ours)} mutants were killed.")
    return killed == len(ours)


def fuzz(_: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Sends malformed requests to every address."""
    count = chosen.count or (1000 if chosen.short else fuzzing.FULL)
    asked = argparse.Namespace(seed=secrets.token_hex(4), count=count, processes=2, scenario=None)
    asked.only, asked.fault = "", "nothing"
    bindir = fuzzing.binaries()
    if bindir is None:
        raise MissingProgramError("Fuzzing needs PostgreSQL’s programs (Debian’s postgresql).")
    cluster = Cluster(bindir)
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            total = Sum.of(fuzzing.played(asked, cluster, Path(folder)))
    finally:
        cluster.stop()
    errors = sum(n for key, n in total.replies.items() if key.endswith((" 5xx", " escaped")))
    said = {"requests": total.requests, "5xx": errors, "failures": len(total.failures), "seed": asked.seed}
    print(said, *total.failures, sep="\n")
    keep("fuzz", said)
    return not total.failures


def drills(wanted: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Runs the drills, each of which must be sound."""
    named = {name for promise in wanted for name in promise.drills}
    results = drilling.short() if chosen.short else drilling.run(names := [n for n in DRILLS if n in named])
    if not chosen.short:
        sound = zip(names, results, strict=True)
        keep("drills", {name: {"flows": one.count.flows, "sound": one.count.sound} for name, one in sound})
    return all(one.count.sound for one in results)


RUN = {"attacks": attacks, "mutants": mutants, "fuzz": fuzz, "drills": drills}

if __name__ == "__main__":
    sys.exit(main())
