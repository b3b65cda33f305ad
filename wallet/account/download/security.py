"""The parts of a holder’s download about how they sign in: browsers, passkeys and addresses.

Their members are documented in docs/data-protection.md; a test compares.
"""

from collections.abc import Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.personal_data import Entry, Person, Section, in_batches
from wallet.account.download.entries import BATCH, Members, at, described, labels, time
from wallet.identity.recoveries import STOPPERS
from wallet.models import EmailChange, FormerAddress, HolderSession, Passkey, Recovery
from wallet.sign_in.user_agents import UserAgent

BROWSER: Members = {
    "name": (_("Browser"), lambda row: str(UserAgent(row.browser_name, row.system_name))),
    "first_signed_in_at": (
        _("Signed in"),
        lambda row: time(row.first_signed_in_at or row.signed_in_at),
    ),
    "signed_in_at": (_("Confirmed that it is you"), at("signed_in_at")),
    "last_seen_at": (_("Last used"), at("last_seen_at")),
    "expires_at": (_("Signed in until"), at("expires_at")),
}
PASSKEY: Members = {
    "name": (_("Name"), attrgetter("name")),
    "created_at": (_("Added"), at("created_at")),
    "last_used_at": (_("Last used"), at("last_used_at")),
    "backed_up": (_("Copied by your password manager"), attrgetter("backed_up")),
}


_NO_CHANGE: dict[str, Any] = dict.fromkeys(
    ("state", "address_before", "new_address", "changed_at", "ends_at")
)


def browser_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The browsers that are signed in. Their cookies are not in it."""
    living = HolderSession.objects.filter(wallet=person.id, expires_at__gt=now)
    for session in in_batches(living, "-signed_in_at", "pk", batch=BATCH):
        yield described(session, BROWSER)


def passkey_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The passkeys without their keys, which say nothing to the holder."""
    for passkey in in_batches(Passkey.objects.filter(wallet=person.id), "created_at", "pk", batch=BATCH):
        yield described(passkey, PASSKEY)


def address_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The change of address that waits for its code, and the former addresses that are stored."""
    for change in EmailChange.objects.filter(wallet=person.id, used_at=None, expires_at__gt=now):
        said = {"state": "asked", "new_address": change.email, "ends_at": time(change.expires_at)}
        yield _NO_CHANGE | said
    for former in in_batches(FormerAddress.objects.filter(wallet=person.id), "-left_at", "pk", batch=BATCH):
        yield _NO_CHANGE | {
            "state": "changed" if former.closed_at is None else "ended",
            "address_before": former.email,
            "changed_at": time(former.left_at),
            "ends_at": time(former.expires_at),
        }


def recovery_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The moves after a lost mailbox, of this wallet or to it. Operators are not named."""
    moves = Recovery.objects.filter(Q(old=person.id) | Q(new=person.id))
    for move in in_batches(moves, "-asked_at", "pk", batch=BATCH):
        decided_by = move.decided_by if move.decided_by in STOPPERS else move.decided_by and "operator"
        yield {
            "direction": "here" if move.new_id == person.id else "away",
            "state": move.state,
            "asked_at": time(move.asked_at),
            "found_at": time(move.matched_at),
            "due_at": time(move.due_at),
            "ended_at": time(move.ended_at),
            "decided_by": decided_by or None,
            # Left out for a person who named a wallet that is not theirs, as is the text of an operator.
            "reason": move.reason if move.old_id == person.id and decided_by != "operator" else None,
        }


SECTIONS = (
    Section(
        "browsers",
        _("Signed-in browsers"),
        browser_entries,
        labels(BROWSER),
    ),
    Section(
        "passkeys",
        _("Your passkeys"),
        passkey_entries,
        labels(PASSKEY),
    ),
    Section(
        "address_changes",
        _("Changes of your e-mail address"),
        address_entries,
        {
            "state": _("State"),
            "address_before": _("Address before"),
            "new_address": _("New address"),
            "changed_at": _("Changed"),
            "ends_at": _("Can be confirmed or undone until"),
        },
        codes={
            "state": {
                "asked": _("Waits for the code from the new mailbox"),
                "changed": _("Changed"),
                "ended": _("Undone, or replaced by another change"),
            }
        },
    ),
    Section(
        "recoveries",
        _("Moves of a wallet after a lost mailbox"),
        recovery_entries,
        {
            "direction": _("Which wallet"),
            "state": _("State"),
            "asked_at": _("Asked for"),
            "found_at": _("Wallet found"),
            "due_at": _("Moves"),
            "ended_at": _("Ended"),
            "decided_by": _("Decided by"),
            "reason": _("Reason"),
        },
        codes={
            "direction": {
                "here": _("Another wallet, to this one"),
                "away": _("This wallet, to another address"),
            },
            "state": dict(Recovery.State.choices),
            "decided_by": {
                "old mailbox": _("a person who reads the old mailbox"),
                "holder": _("you, in your wallet"),
                "new wallet": _("the person who asked for it"),
                "sweep": _("this service, by its rules"),
                "operator": _("the operator of this service"),
            },
        },
    ),
)
