"""`make ledger`: tries to break every promise, and writes what came of it into docs/ledger.md."""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.pgcluster import Cluster, binaries
from tools.benchmarks.servers import MissingProgramError
from tools.drills import running
from tools.drills.every import DRILLS, TRIAL
from tools.fuzz import __main__ as fuzzing
from tools.fuzz.table import Sum
from tools.ledger import report
from tools.ledger.attacks import ATTACKS
from tools.ledger.promises import PROMISES, Promise
from tools.ledger.site import Site, site
from tools.mutants.__main__ import pass_as_they_are, tried
from tools.mutants.copies import copies, database_server
from tools.mutants.tables import MUTANTS

Keep = Callable[[str, dict[str, dict[str, Any]]], Any]  # stores results of a part


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.ledger", description=__doc__, allow_abbrev=False)
    parser.add_argument("--parts", default=",".join(report.PARTS), help="some of these, or none")
    parser.add_argument(
        "--promises", nargs="*", default=[], help="only the attacks, mutants and drills of these"
    )
    parser.add_argument("--count", type=int, help="how many requests are fuzzed")
    parser.add_argument("--short", action="store_true", help="little of each part, and nothing is written")
    chosen = parser.parse_args()
    wanted = [promise for promise in PROMISES if promise.number in (chosen.promises or promise.number)]
    keep: Keep = (lambda part, of: None) if chosen.short else partial(report.keep, report.commit())
    try:
        good = [RUN[part](wanted, chosen, keep) for part in chosen.parts.split(",") if part != "none"]
    except MissingProgramError as error:
        sys.exit(str(error))
    report.DOCUMENT.write_text(report.render(report.load()))
    return 0 if all(good) else 1


def attacks(wanted: list[Promise], _: argparse.Namespace, keep: Keep) -> bool:
    """Runs the attacks against one installation."""
    names = dict.fromkeys(name for promise in wanted for name in promise.attacks)
    with site() as where:
        of = {name: _attacked(name, where) for name in names}
    keep("attacks", of)
    return not any(one["not refused"] for one in of.values())


def _attacked(name: str, where: Site) -> dict[str, Any]:
    count, through = 0, []
    try:
        for count, (what, refused) in enumerate(ATTACKS[name](where), 1):  # noqa: B007
            through += [] if refused else [what]
    except Exception as error:  # noqa: BLE001 - the ledger says that the attack did not end
        count, through = count + 1, [*through, f"the attack did not end: {error!r}"[:300]]
    print(f"{name}: {count - len(through)} of {count} refused", *through, sep="\n  ", flush=True)
    return {"tried": count, "not refused": through}


def mutants(wanted: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Tries the mutants; each verdict is stored at once, because all of them take long."""
    ours = [one for one in MUTANTS if not chosen.promises or any(promise.has(one) for promise in wanted)]
    ours, alive = ours[: 1 if chosen.short else None], 0
    with database_server() as cluster, copies(2, cluster) as made:
        if not pass_as_they_are(made, ours):
            return False
        for mutant, outcome, seconds in tried(ours, made):
            print(f"{outcome.verdict.value} {mutant.name} ({seconds:.0f} s) {outcome.about}", flush=True)
            keep("mutants", {mutant.name: {"verdict": outcome.verdict.value}})
            alive += outcome.verdict.value != "killed"
    return not alive


def fuzz(_: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Sends malformed requests to every address."""
    seed, count = secrets.token_hex(4), chosen.count or (1000 if chosen.short else fuzzing.FULL)
    asked = {"seed": seed, "count": count, "processes": 2, "scenario": None, "only": "", "fault": "nothing"}
    bindir = binaries()
    if bindir is None:
        raise MissingProgramError("Fuzzing needs PostgreSQL’s programs (Debian’s postgresql).")
    cluster = Cluster(bindir)
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            total = Sum.of(fuzzing.played(argparse.Namespace(**asked), cluster, Path(folder)))
    finally:
        cluster.stop()
    errors = sum(n for key, n in total.replies.items() if key.endswith((" 5xx", " escaped")))
    said = {"requests": total.requests, "5xx": errors, "failures": len(total.failures), "seed": seed}
    print(said, *total.failures, sep="\n")
    keep("fuzz", {"run": said})
    return not total.failures


def drills(wanted: list[Promise], chosen: argparse.Namespace, keep: Keep) -> bool:
    """Runs the drills, each of which must be sound."""
    names = list(dict.fromkeys(name for promise in wanted for name in promise.drills))
    outcomes = list(running.run([TRIAL] if chosen.short else [DRILLS[name] for name in names]))
    keep("drills", {one.drill.name: {"flows": one.flows, "sound": one.sound} for one in outcomes})
    return all(one.sound for one in outcomes)


RUN = {"attacks": attacks, "mutants": mutants, "fuzz": fuzz, "drills": drills}

if __name__ == "__main__":
    sys.exit(main())
