"""The public page of what is kept, and that it says something about every entry that concerns people."""

import html
from typing import Any

import pytest
from django.test import Client

from infra import retention

# Entries about others than holders, or about nobody.
ABOUT_OTHERS = {
    "keys.SigningKey",
    "keys.StatementKey",
    "keys.IdTokenKey",
    "keys.KeyEvent",
    "presentation.UsedAssertion",
    "presentation.WebhookSecret",
    "presentation.RelyingParty",
    "presentation.RelyingPartyEvent",
    "presentation.RequestCount",
    "auth.User",
    "admin.LogEntry",
    "sessions.Session",
    "infra.SecondFactor",
    "infra.RecoveryCode",
    "infra.OperatorPasskey",
    "sandbox.SelfRegistration",
    "sandbox.LoggedStep",
    "sandbox.PlaygroundAnswer",
    "sandbox.MailboxEmail",
    "wallet.StatusList",
}


def test_every_entry_that_concerns_holders_has_words_for_them() -> None:
    silent = {entry.model for entry in retention.entries() if entry.people is None}

    assert silent == ABOUT_OTHERS


@pytest.mark.parametrize("hold", [True, False])
def test_the_page_lists_every_entry(client: Client, settings: Any, hold: bool) -> None:
    settings.TRANSACTION_LEGAL_HOLD = hold

    text = html.unescape(client.get("/what-is-kept/").content.decode())

    for row in retention.for_people():
        for words in (row.what, row.why, row.until):
            assert str(words) in text
    assert ("The law demands it" in text) is hold
    assert len(retention.for_people()) > 15


def test_every_page_links_to_it(client: Client) -> None:
    assert 'href="/what-is-kept/"' in client.get("/").content.decode()
    assert client.post("/what-is-kept/").status_code == 405
