"""The guide to statuses names existing endpoints and commands, and its numbers are those of the code."""

import re
from pathlib import Path

from django.core.management import load_command_class

from wallet.management.commands.set_credential_status import ACTIONS
from wallet.models.status import SIZE
from wallet.status_lists import endpoints, token

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "credential-status.md").read_text()


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_way_to_set_a_status_is_in_the_guide_and_every_way_there_exists() -> None:
    parser = load_command_class("wallet", "set_credential_status").create_parser("manage.py", "x")
    common = load_command_class("wallet", "sweep_identity_verifications").create_parser("manage.py", "x")
    options = set(parser._option_string_actions) - set(common._option_string_actions)
    assert set(re.findall(r"(--[a-z]+)", GUIDE)) == {o for o in options if o.startswith("--")}
    assert all(f"`{status}`" in GUIDE for status in ACTIONS)


def test_the_numbers_in_the_guide_are_those_of_the_code() -> None:
    assert f"`ttl` seconds ({token.TTL.seconds})" in GUIDE
    assert re.search(rf"{endpoints.MAX_AGE}\s+seconds \(`max-age`\)", GUIDE)
    assert token.TTL.seconds == 2 * 150
    assert "every two and a half minutes" in GUIDE
    assert token.LIFETIME.seconds == 4 * 3600
    assert "four hours after they were signed" in GUIDE
    assert (SIZE, SIZE * token.BITS // 8) == (2**20, 256 * 1024)
    assert "2^20 entries" in GUIDE
    assert "256 kB" in GUIDE


def test_links_from_the_guide_and_to_it_lead_somewhere() -> None:
    links = re.findall(r"\(([\w-]+\.md)?(?:#([^)]+))?\)", GUIDE)
    assert len(links) >= 5
    for file, anchor in links:
        text = (DOCS / file).read_text() if file else GUIDE
        assert not anchor or anchor in anchors(text), (file, anchor)
    for name in ("protocol.md", "operate.md", "keys.md", "../README.md"):
        for anchor in re.findall(r"credential-status\.md(?:#([^)]+))?\)", (DOCS / name).read_text()):
            assert not anchor or anchor in anchors(GUIDE)
        assert "credential-status.md" in (DOCS / name).read_text()
