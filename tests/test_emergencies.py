"""docs/emergencies.md: each entry has all that somebody needs at night, and its commands can be given so."""

import re
import shlex
from uuid import uuid4

import pytest
from django.core.management import get_commands, load_command_class

from tests.own_databases import ROOT

PAGE = (ROOT / "docs" / "emergencies.md").read_text()
ENTRIES = {
    entry.partition("\n")[0].removeprefix("## "): entry
    for entry in re.split(r"^(?=## )", PAGE, flags=re.M)[1:]
}
PARTS = ["**It is this if**", "**Do**", "**Takes**", "**Tell**", "**Drill**"]
EXPECTED = [
    *("SECRET_KEY", "database", "signing key", "laptop", "audit record", "not me", "court", "lied"),
    *("is away", "another domain", "ends"),
]
COMMANDS = re.findall(r"^# (manage\.py .*)$", PAGE, re.M)


def test_the_page_has_an_entry_for_each_emergency() -> None:
    assert [word for word in EXPECTED if not any(word in name for name in ENTRIES)] == []
    assert len(ENTRIES) == len(EXPECTED)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_an_entry_has_every_part_in_order(entry: str) -> None:
    places = [entry.find(part) for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("line", sorted(set(COMMANDS)))
def test_a_command_can_be_given_as_it_is_printed(line: str) -> None:
    filled = line.replace("<kid>", str(uuid4())).replace("<id>", str(uuid4()))
    filled = filled.replace("<user name>", "olga").replace("<name>", "provider")
    _manage, name, *words = shlex.split(filled)
    command = load_command_class(get_commands()[name], name)

    command.create_parser("manage.py", name).parse_args(words)
