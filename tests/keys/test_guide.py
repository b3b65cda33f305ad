"""The operator's guide describes commands and outputs as they are."""

import re
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, get_commands, load_command_class

from keys.checks import sealed_values
from keys.issuer_key import active_issuer_key
from keys.models import SigningKey
from keys.rotation import transitions
from keys.rotation.states import State, find, in_state
from tests.keys.chains import chain_for
from tests.wallet.statuses import present
from wallet.models import StatusEntry, Wallet

pytestmark = pytest.mark.slow

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


EACH_TIME = [
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"\d+ \w+ \d{4}, \d\d:\d\d UTC",
    r"\b[0-9a-f]{8}\b",
    r"\d+(?= (values|unexpired|keys))",
]


def shape(line: str) -> str:
    """A line without its varying parts: ids, times, numbers."""
    for pattern in EACH_TIME:
        line = re.sub(pattern, "…", line)
    return line.strip()


def outputs_in_an_emergency() -> set[str]:
    """The lines that the section on emergencies shows as output of commands."""
    page = GUIDE.partition("## Emergencies")[2].partition("## What relying parties see")[0]
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    by_others = ("#", "production https://", '"kid":', "Passphrase:")
    return {shape(line) for line in lines if line and not line.startswith(by_others)}


@pytest.mark.django_db
@pytest.mark.usefixtures("at_night")
def test_the_page_for_3_am_shows_what_commands_say_and_leads_to_a_key_that_signs(
    settings: Any, alice: Wallet, now: datetime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def run(*words: str) -> None:
        out = StringIO()
        call_command(*words, stdout=out)
        said.extend(out.getvalue().replace("[y/N] ", "[y/N] y\n").splitlines())

    def answer(kid: str) -> str:
        (tmp_path / "answer.pem").write_text(chain_for(find(kid), now))
        return str(tmp_path / "answer.pem")

    # A private key may have been stolen, and possibly the sealing keys, too.
    first, second = (str(in_state(state)) for state in (State.ACTIVE, State.STAGED))
    for _presentation in range(3):
        present(alice)
    run("list_signing_keys")
    monkeypatch.setattr("sys.stdin", StringIO("y\n"))
    run("withdraw_signing_key", first, "--reason", "laptop with a copy stolen")
    assert active_issuer_key(now=now).kid == second
    # The sealing keys are lost.
    settings.KEY_SEALING_KEYS = ["another sealing key of more than thirty-two characters"]
    lost = sealed_values(None)
    said += [f"?: ({error.id}) {error.msg}" for error in lost]
    run("withdraw_signing_key", second, "--reason", "sealing key lost", "--yes")
    assert said[-1].startswith("No key signs now.")
    (key_id,) = {word for error in lost for word in re.findall(r"\b[0-9a-f]{8}\b", error.msg)}
    run("reseal", "--forget", key_id, "--reason", "disk and its copy burnt")
    assert sealed_values(None) == []
    # No key signs.
    run("stage_signing_key", "--reason", "after the theft")
    third = str(in_state(State.STAGED))
    run("certify_signing_key", "--chain", answer(third))
    run("activate_signing_key", "--reason", "after the theft")
    assert active_issuer_key(now=now).kid == third
    # The database is lost.
    transitions.stage(now=now)
    fourth = str(in_state(State.STAGED))
    run("certify_signing_key", fourth, "--chain", answer(fourth))
    (tmp_path / "passphrase").write_text("five random words stand here")
    kept = (str(tmp_path / "keys.jwe"), "--passphrase-file", str(tmp_path / "passphrase"), "--reason", "x")
    run("export_keys", *kept)
    StatusEntry.objects.all().delete()
    SigningKey.objects.all().delete()
    run("import_keys", *kept)
    run("rotate_signing_keys")
    assert active_issuer_key(now=now).kid == third

    shown = outputs_in_an_emergency()
    assert len(shown) > 10
    assert shown - {shape(line) for line in said} == set()


@pytest.fixture
def at_night(settings: Any, now: datetime) -> None:
    """Production in its normal state: an active key, and a certified staged key."""
    settings.SELF_CERTIFYING_AUTHORITY = False
    for state in ("active", "staged"):
        key = transitions.stage(now=now - timedelta(hours=1))
        transitions.certify(key.pk, chain_for(key, now), now=now)
        if state == "active":
            transitions.activate(key.pk, now=now)


def test_links_inside_the_guide_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\(#([^)]+)\)", GUIDE)) <= anchors
    for name in re.findall(r"\(([\w-]+\.md)", GUIDE):
        assert (DOCS / name).is_file()
