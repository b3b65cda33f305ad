"""The operator's guide says only what is there to be done."""

import re
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, get_commands, load_command_class

from keys import rotation
from keys.issuer_key import active_issuer_key
from keys.moves import State, in_state
from tests.keys.test_rotation import chain_for

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "keys.md").read_text()
COMMANDS = {name for name, app in get_commands().items() if app == "keys"}


def test_every_command_of_the_keys_is_in_the_guide_and_every_command_there_exists() -> None:
    operate = (DOCS / "operate.md").read_text()
    assert {name for name in COMMANDS if name not in GUIDE + operate} == set()
    named = set(re.findall(r"manage\.py (\w+)", GUIDE))
    assert named <= COMMANDS | {"check"}
    assert "keys.md" in operate


def test_every_option_in_the_guide_exists() -> None:
    options = {
        option
        for name in COMMANDS
        for action in load_command_class("keys", name).create_parser("manage.py", name)._actions
        for option in action.option_strings
    }
    assert set(re.findall(r"(--[a-z][a-z-]+)", GUIDE)) <= options | {"--deploy"}


@pytest.mark.django_db
def test_when_the_sealing_keys_are_lost_the_guide_leads_to_a_key_that_signs(
    settings: Any, now: datetime
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    for state in ("active", "staged"):
        key = rotation.stage(now=now - timedelta(hours=1))
        rotation.certify(key.pk, chain_for(key, now), now=now)
        if state == "active":
            rotation.activate(key.pk, now=now)
    settings.KEY_SEALING_KEYS = ["another sealing key of more than thirty-two characters"]
    for state in (State.STAGED, State.ACTIVE):
        lost = str(in_state(state))
        call_command("withdraw_signing_key", lost, "--reason", "sealing key lost", "--yes", stdout=StringIO())
    key = rotation.stage(now=now)
    rotation.certify(key.pk, chain_for(key, now), now=now)
    rotation.activate(key.pk, now=now)
    assert active_issuer_key(now=now).kid == str(key)


def test_links_inside_the_guide_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\(#([^)]+)\)", GUIDE)) <= anchors
    for name in re.findall(r"\(([\w-]+\.md)", GUIDE):
        assert (DOCS / name).is_file()
