"""The table of promises has every promise of the documents and names what exists. `make ledger` runs it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project_copy import ROOT
from tools.drills.every import DRILLS
from tools.ledger import report
from tools.ledger.attacks import ATTACKS
from tools.ledger.promises import PROMISES, Promise
from tools.mutants.tables import MUTANTS

ARCHITECTURE, SECURITY = "docs/architecture.md", "SECURITY.md"


def in_the_documents() -> Iterator[tuple[str, str]]:
    """Number and text of every promise, without emphasis."""
    section = (ROOT / ARCHITECTURE).read_text().split("\n## What must never break\n")[1].split("\n## ")[0]
    table = (ROOT / SECURITY).read_text().split("\n## What the service promises\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\* (.*(?:\n  .*)*)", section, re.M)
    rows = [row for row in re.findall(r"^\| (.*) \|$", table, re.M) if row != "| promise"]
    for entry in [*listed, *rows]:
        number, _, text = entry.replace("**", "").replace(" | ", ". ", 1).partition(". ")
        yield number, " ".join(text.split())


def test_every_promise_of_the_documents_is_in_the_table_and_the_reverse() -> None:
    assert list(in_the_documents()) == [(promise.number, promise.text) for promise in PROMISES]
    assert [promise.number for promise in PROMISES] == [f"P{n}" for n in range(1, len(PROMISES) + 1)]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.number)
def test_what_a_promise_names_exists(promise: Promise) -> None:
    for place in promise.places:
        path, _, name = place.partition(":")
        defined = rf"^(?:(?:def|class) {name}\b|{name}\b.* =)"
        assert (ROOT / path).exists(), place
        assert not name or re.search(defined, (ROOT / path).read_text(), re.M), place
    for beginning in promise.mutants:
        assert any(mutant.name.startswith(beginning) for mutant in MUTANTS), beginning
    assert set(promise.attacks) <= set(ATTACKS)
    assert set(promise.drills) <= set(DRILLS)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.number)
def test_every_promise_has_places_mutants_and_an_attack_or_the_reason_why_none_is_possible(
    promise: Promise,
) -> None:
    assert promise.places
    assert promise.mutants
    assert bool(promise.attacks) != bool(promise.no_attack)


def test_every_attack_belongs_to_a_promise_and_says_what_it_does() -> None:
    assert {name for promise in PROMISES for name in promise.attacks} == set(ATTACKS)
    assert all(attack.__doc__ for attack in ATTACKS.values())


def test_the_document_is_what_the_table_and_the_stored_results_make() -> None:
    """`make ledger PARTS=none` writes it, which a new mutant needs because it was not run yet."""
    assert report.DOCUMENT.read_text() == report.render(report.load())


def test_what_was_not_run_is_called_so_and_what_was_not_refused_is_named() -> None:
    attack = {"tried": 7, "not refused": ["a way in"], "date": "2026-02-03", "commit": "abc"}
    text = report.render({"attacks": {"sign_in": attack}})

    assert "| attacks | 2026-02-03 | abc | 6 of 7 refused, by 1 of" in text
    assert "**not refused: a way in**" in text
    assert "| drills |  |  | not run |" in text


def test_each_result_keeps_the_commit_at_which_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STORED", tmp_path / "results.json")
    monkeypatch.setattr(report, "DOCUMENT", tmp_path / "ledger.md")
    report.STORED.write_text("{}")
    one, two = (mutant.name for mutant in MUTANTS[:2])
    for commit, mutant, verdict in (("abc", one, "killed"), ("abc", two, "SURVIVED"), ("def", two, "killed")):
        report.keep(commit, "mutants", {mutant: {"verdict": verdict}})

    assert report.load()["mutants"][one]["commit"] == "abc"
    written = report.DOCUMENT.read_text()
    assert "abc (1)" in written
    assert "def (1)" in written
    assert f"2 of 2 killed, {len(MUTANTS) - 2} not run" in written
