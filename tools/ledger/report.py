"""The results of `make ledger`, kept in results.json, and docs/ledger.md, which is written from them."""

import json
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from tools.drills.every import DRILLS
from tools.ledger.attacks import ATTACKS
from tools.ledger.promises import PROMISES, Promise
from tools.mutants.tables import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT, STORED = ROOT / "docs" / "ledger.md", Path(__file__).parent / "results.json"
Results = dict[str, dict[str, dict[str, Any]]]  # by part and name, each with its date and commit
PARTS = ("attacks", "mutants", "fuzz", "drills")
HEAD = """# The ledger of promises

`make ledger` tries to break every promise of [SECURITY.md](../SECURITY.md) and of
[What must never break](architecture.md#what-must-never-break), and writes this document. The promises are in
`tools/ledger/promises.py`.

* **Attacks** (`tools/ledger/attacks.py`) are requests to the shipped form: nginx, gunicorn, PostgreSQL.
* **Mutants** (`make mutants`) remove one check from the code. Each is killed if a test fails.
* **Fuzzed requests** (`make fuzz`) are malformed requests to every address.
* **Drills** (`make drill`) break one part of a running installation; see [faults.md](faults.md).

| part | date | commit | result |
|---|---|---|---|"""
NOT_RUN = {"verdict": "not run"}
NAMES: dict[str, Collection[str]] = {
    "attacks": ATTACKS,
    "mutants": {mutant.name for mutant in MUTANTS},
    "fuzz": {"run"},
    "drills": DRILLS,
}
EVERY = "\n## Every promise\n\n| | promise | attacks | mutants | drills |\n|---|---|---|---|---|"


def load() -> Results:
    """The stored results."""
    found: Results = json.loads(STORED.read_text())
    return found


def keep(commit: str, part: str, found: dict[str, dict[str, Any]]) -> Results:
    """Stores results of a part in place of older ones of the same names, and writes the document."""
    results, now = load(), {"date": date.today().isoformat(), "commit": commit}
    results.setdefault(part, {}).update({name: one | now for name, one in found.items()})
    STORED.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    DOCUMENT.write_text(render(results))
    return results


def commit() -> str:
    """The commit that is checked out, and whether anything but the results differs from it."""
    ours = [f":!{path.relative_to(ROOT)}" for path in (DOCUMENT, STORED)]
    commands = (["rev-parse", "--short=8", "HEAD"], ["status", "--porcelain", "--", ".", *ours])
    said = [subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip() for words in commands]
    return said[0] + (" with changes" if said[1] else "")


def render(results: Results) -> str:
    """The document."""
    of = {
        part: {name: one for name, one in results.get(part, {}).items() if name in NAMES[part]}
        for part in PARTS
    }
    lines = [HEAD]
    for part in PARTS:
        dates = sorted({one["date"] for one in of[part].values()})
        commits = Counter(one["commit"] for one in of[part].values())
        at = ", ".join(
            f"{commit} ({count})" if len(commits) > 1 else commit for commit, count in commits.items()
        )
        lines.append(f"| {part} | {' to '.join(dates)} | {at} | {_total(part, of[part])} |")
    lines.append(EVERY)
    for promise in PROMISES:
        link, first = (
            f"[{promise.number}](#{promise.number.lower()})",
            promise.text.split(". ")[0].rstrip("."),
        )
        lines.append(f"| {link} | {first} | {' | '.join(_counts(promise, of))} |")
    for promise in PROMISES:
        lines += ["", f"## {promise.number}", "", promise.text, "", *_details(promise, of)]
    return "\n".join(lines) + "\n"


def _total(part: str, of: dict[str, Any]) -> str:
    if not of:
        return "not run"
    if part == "attacks":
        return f"{_refused(of.values())}, by {len(of)} of {len(ATTACKS)} attacks"
    if part == "mutants":
        return _killed([mutant.name for mutant in MUTANTS], of)
    if part == "fuzz":
        (run,) = of.values()
        counts = f"{run['5xx']} answers with 5xx, {run['failures']} kinds of failure"
        return f"{run['requests']:,} requests, {counts}; seed {run['seed']}"
    sound = sum(drill["sound"] for drill in of.values())
    return f"{sound} of {len(of)} sound, with {sum(drill['flows'] for drill in of.values())} flows"


def _refused(found: Iterable[dict[str, Any]]) -> str:
    found = list(found)
    tried, through = sum(one["tried"] for one in found), sum(len(one["not refused"]) for one in found)
    return f"{tried - through} of {tried} refused" if found else "not run"


def _killed(names: list[str], of: dict[str, Any]) -> str:
    ran = [of[name]["verdict"] for name in names if name in of]
    left = f", {len(names) - len(ran)} not run" if len(ran) < len(names) else ""
    return f"{ran.count('killed')} of {len(ran)} killed{left}" if ran else f"{len(names)}, not run"


def _counts(promise: Promise, of: dict[str, dict[str, Any]]) -> tuple[str, str, str]:
    attacks = [of["attacks"][name] for name in promise.attacks if name in of["attacks"]]
    ours = [mutant.name for mutant in MUTANTS if promise.has(mutant)]
    states = {None: "not run", True: "sound", False: "**not sound**"}
    drills = [f"`{name}` {states[of['drills'].get(name, {}).get('sound')]}" for name in promise.drills]
    refused = "not possible" if promise.no_attack else _refused(attacks)
    return refused, _killed(ours, of["mutants"]), ", ".join(drills) or "–"


def _details(promise: Promise, of: dict[str, dict[str, Any]]) -> Iterable[str]:
    refused, killed, drills = _counts(promise, of)
    yield "* **Places**: " + ", ".join(f"`{place}`" for place in promise.places)
    yield f"* **Attacks**: {f'none. {promise.no_attack}' if promise.no_attack else refused}"
    for name in promise.attacks:
        yield f"  * `{name}`: {(ATTACKS[name].__doc__ or '').splitlines()[0]}"
        through = of["attacks"].get(name, {}).get("not refused", ())
        yield from (f"    * **not refused: {what}**" for what in through)
    yield f"* **Mutants**: {killed}"
    names = [mutant.name for mutant in MUTANTS if promise.has(mutant)]
    yield from (f"  * {name} ({of['mutants'].get(name, NOT_RUN)['verdict']})" for name in names)
    if promise.number == "P19":
        yield f"* **Fuzzed requests**: {_total('fuzz', of['fuzz'])}"
    yield f"* **Drills**: {drills}"
