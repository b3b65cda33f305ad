"""The results of `make ledger`, kept in results.json, and docs/ledger.md, which is written from them."""

import json
import subprocess
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from tools.ledger.attacks import ATTACKS
from tools.ledger.promises import PROMISES, Promise
from tools.mutants.tables import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT, STORED = ROOT / "docs" / "ledger.md", Path(__file__).parent / "results.json"
Results = dict[str, dict[str, Any]]  # by part: its date, its commit, and `of`: the results by name
PARTS = ("attacks", "mutants", "fuzz", "drills")
HEAD = """# The ledger of promises

`make ledger` tries to break every promise of [SECURITY.md](../SECURITY.md) and of
[What must never break](architecture.md#what-must-never-break), and writes this document. The promises are in
`tools/ledger/promises.py`.

* **Attacks** (`tools/ledger/attacks.py`) are requests to the shipped form: nginx, gunicorn, PostgreSQL.
* **Mutants** (`make mutants`) remove one check from the code. Each is killed if a test fails.
* **Fuzzed requests** (`make fuzz`) are malformed requests to every address.
* **Drills** (`make drill`) break one part of a running installation; see [faults.md](faults.md).
"""


def load() -> Results:
    """The stored results."""
    found: Results = json.loads(STORED.read_text())
    return found


def keep(commit: str, part: str, of: dict[str, Any]) -> Results:
    """Stores results of a part and writes the document. Those of another commit are replaced."""
    results, now = load(), {"date": date.today().isoformat(), "commit": commit}
    before = results.get(part, {})
    known = before["of"] if before.get("commit") == now["commit"] else {}
    results[part] = now | {"of": known | of}
    STORED.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    DOCUMENT.write_text(render(results))
    return results


def commit() -> str:
    """The commit that is checked out, and whether anything but the results differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    ours = [f":!{path.relative_to(ROOT)}" for path in (DOCUMENT, STORED)]
    changed = git("status", "--porcelain", "--", ".", *ours).strip()
    return git("rev-parse", "--short=8", "HEAD").strip() + (" with changes" if changed else "")


def render(results: Results) -> str:
    """The document."""
    lines = [HEAD, "| part | date | commit | result |", "|---|---|---|---|"]
    for part in PARTS:
        found = results.get(part, {})
        text = _total(part, found["of"]) if found else "not run"
        lines.append(f"| {part} | {found.get('date', '')} | {found.get('commit', '')} | {text} |")
    lines += [
        "",
        "## Every promise",
        "",
        "| | promise | attacks | mutants | drills |",
        "|---|---|---|---|---|",
    ]
    for promise in PROMISES:
        link, first = (
            f"[{promise.number}](#{promise.number.lower()})",
            promise.text.split(". ")[0].rstrip("."),
        )
        cells = (_attacks(promise, results), _mutants(promise, results), _drills(promise, results))
        lines.append(f"| {link} | {first} | {' | '.join(cells)} |")
    for promise in PROMISES:
        lines += ["", f"## {promise.number}", "", promise.text, "", *_details(promise, results)]
    return "\n".join(lines) + "\n"


def _of(results: Results, part: str) -> dict[str, Any]:
    found: dict[str, Any] = results.get(part, {}).get("of", {})
    return found


def _total(part: str, of: dict[str, Any]) -> str:
    if part == "attacks":
        return f"{_refused(of.values())}, by {len(of)} of {len(ATTACKS)} attacks"
    if part == "mutants":
        killed = sum(verdict == "killed" for verdict in of.values())
        return f"{killed} of {len(of)} killed; {len(MUTANTS) - len(of)} of {len(MUTANTS)} not run"
    if part == "fuzz":
        return f"{of['requests']:,} requests, {of['5xx']} answers with 5xx, {of['failures']} kinds of failure"
    return f"{len(of)} run: {sum(one['flows'] for one in of.values())} flows; " + (
        f"not sound: {', '.join(bad)}"
        if (bad := [name for name, one in of.items() if not one["sound"]])
        else "all sound"
    )


def _refused(found: Iterable[dict[str, Any]]) -> str:
    found = list(found)
    tried = sum(one["tried"] for one in found)
    return f"{tried - sum(len(one['not refused']) for one in found)} of {tried} refused"


def _attacks(promise: Promise, results: Results) -> str:
    if not promise.attacks:
        return "not possible"
    of = _of(results, "attacks")
    done = [of[name] for name in promise.attacks if name in of]
    return _refused(done) if done else "not run"


def _mutants(promise: Promise, results: Results) -> str:
    of, ours = _of(results, "mutants"), [mutant for mutant in MUTANTS if promise.has(mutant)]
    verdicts = [of[mutant.name] for mutant in ours if mutant.name in of]
    if not verdicts:
        return f"{len(ours)}, not run"
    left = f", {len(ours) - len(verdicts)} not run" if len(verdicts) < len(ours) else ""
    return f"{verdicts.count('killed')} of {len(verdicts)} killed{left}"


def _drills(promise: Promise, results: Results) -> str:
    of = _of(results, "drills")
    states = {
        name: ("sound" if of[name]["sound"] else "NOT SOUND") if name in of else "not run"
        for name in promise.drills
    }
    return ", ".join(f"`{name}` {state}" for name, state in states.items()) or "–"


def _details(promise: Promise, results: Results) -> Iterable[str]:
    attacks, mutants = _of(results, "attacks"), _of(results, "mutants")
    yield "* **Places**: " + ", ".join(f"`{place}`" for place in promise.places)
    for name in promise.attacks:
        about = (ATTACKS[name].__doc__ or "").splitlines()[0]
        yield f"* **Attack** `{name}`: {about} {_refused([attacks[name]]) if name in attacks else 'not run'}"
        yield from (f"  * **not refused: {what}**" for what in attacks.get(name, {}).get("not refused", ()))
    if promise.no_attack:
        yield f"* **Attack**: none. {promise.no_attack}"
    yield f"* **Mutants**: {_mutants(promise, results)}"
    for mutant in MUTANTS:
        if promise.has(mutant):
            yield f"  * {mutant.name} ({mutants.get(mutant.name, 'not run')})"
    if promise.number == "P19" and (fuzz := _of(results, "fuzz")):
        yield f"* **Fuzzed requests**: {_total('fuzz', fuzz)}, seed {fuzz['seed']}"
    yield f"* **Drills**: {_drills(promise, results)}"
