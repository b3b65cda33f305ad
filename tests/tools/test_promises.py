"""The table of promises has every promise of the documents, and names what exists."""

import re
from collections.abc import Iterator

import pytest

from tests.project_copy import ROOT
from tools.attacks.every import ATTACKS
from tools.drills.every import DRILLS
from tools.mutants.tables import MUTANTS
from tools.promises import PROMISES, Promise

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
