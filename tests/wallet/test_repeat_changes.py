"""`manage.py repeat_changes`: what the log and the audit record say is done again after a restore."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone
from structlog import DropEvent
from structlog.testing import capture_logs

from config.logs import structlog_config
from infra.audit.recording import record
from infra.models import AuditLine
from keys.models import SigningKey
from keys.rotation import transitions
from tests.wallet.statuses import INVALID, SUSPENDED, VALID, presented, status_of
from wallet.account.closing import closures, sweeping
from wallet.identity import recoveries
from wallet.models import Credential, Passkey, Recovery, StatusEntry, StatusList, Wallet, WalletClosure
from wallet.operations import suspension
from wallet.passkeys import registration
from wallet.status_lists import changes
from wallet.status_lists.changes import Action

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
SAID = {"actor": "olga", "reason": "Lost phone"}
BEFORE = timezone.now() - timedelta(minutes=1)


@pytest.fixture
def log() -> Iterator[list[str]]:
    """Lines as the service writes them."""
    lines: list[str] = []

    def keep(_logger: Any, _method: str, line: Any) -> Any:
        lines.append(f"{line}\n")
        raise DropEvent

    with capture_logs([*structlog_config(level="INFO", as_json=True)["processors"], keep]):
        yield lines


def undone(act: Callable[[], object]) -> list[str]:
    """Does it, and takes it back as a restore does. Returns the audit record's lines, which stay outside."""
    with transaction.atomic():
        act()
        lines = [f"{line.text}\n" for line in AuditLine.objects.order_by("seq")]
        transaction.set_rollback(True)
    return lines


def repeat(monkeypatch: pytest.MonkeyPatch, lines: list[str], *words: str, after: datetime = BEFORE) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(lines)))
    out = StringIO()
    words = words or ("--yes",)
    call_command("repeat_changes", "--after", after.isoformat(), "--reason", "Restored", *words, stdout=out)
    return out.getvalue()


def test_what_the_log_says_is_done_again_in_its_order(
    log: list[str], monkeypatch: pytest.MonkeyPatch, alice: Wallet, bob: Wallet
) -> None:
    taken_back, other = (presented(alice, reference=uuid4()) for _ in range(2))
    suspended = presented(bob)
    now = timezone.now()

    def after_the_moment() -> None:
        assert taken_back.reference
        changes.take_back(alice, taken_back.reference, now=now)
        changes.change_presented(other, Action.SUSPENDED, now=now, **SAID)
        changes.change_presented(other, Action.REINSTATED, now=now, **SAID)
        suspension.suspend(bob, now=now, **SAID)

    undone(after_the_moment)
    lines = list(log)
    said = repeat(monkeypatch, [*lines, "Booting worker\n", "{broken\n", '"text"\n', '{"event": 3}\n'])

    assert said.count(": done") == 4
    assert [status_of(each) for each in (taken_back, other, suspended)] == [INVALID, VALID, SUSPENDED]
    bob.refresh_from_db()
    assert bob.state == Wallet.State.SUSPENDED
    assert repeat(monkeypatch, lines).count("Nothing was changed") == 2


def test_nothing_is_done_without_yes_and_nothing_from_before_the_moment(
    log: list[str], monkeypatch: pytest.MonkeyPatch, alice: Wallet
) -> None:
    entry = presented(alice)
    undone(lambda: changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID))

    with pytest.raises(CommandError, match="Add --yes"):
        repeat(monkeypatch, log, "--verbosity=1")
    assert repeat(monkeypatch, log, after=timezone.now()) == ""
    assert status_of(entry) == VALID


def test_a_closing_keeps_its_times_its_reason_and_its_operator(
    log: list[str], monkeypatch: pytest.MonkeyPatch, alice: Wallet, bob: Wallet
) -> None:
    olga = User.objects.create(username="olga")
    yesterday = timezone.now() - timedelta(days=1, minutes=1)

    def after_the_moment() -> None:
        closures.ask(alice, now=yesterday, operator_id=olga.pk, reason=closures.Reason.DECEASED)
        closures.ask(bob, now=yesterday)
        closures.undo(bob, now=yesterday)

    undone(after_the_moment)
    at = yesterday.astimezone(UTC).isoformat().replace("+00:00", "Z")
    lines = [json.dumps(json.loads(line) | {"timestamp": at}) + "\n" for line in log]
    repeat(monkeypatch, lines, after=yesterday - timedelta(minutes=1))

    fact = WalletClosure.objects.get(wallet=alice.pk)
    assert (fact.reason, fact.operator_id, fact.asked_at) == ("deceased", olga.pk, yesterday)
    assert sweeping.sweep(now=timezone.now())["closed wallets"] == 1
    bob.refresh_from_db()
    assert (bob.closes_at, bob.closed_at) == (None, None)


def test_a_move_that_was_stopped_and_a_removed_passkey_do_not_come_back(
    log: list[str], monkeypatch: pytest.MonkeyPatch, alice: Wallet, bob: Wallet
) -> None:
    """A thief's: else the sweep that follows would hand the wallet over."""
    now = timezone.now()
    move = Recovery.objects.create(old=alice, new=bob, state="waiting", asked_at=now, due_at=now)
    key, other = (
        Passkey.objects.create(
            wallet=alice, credential_id=name, public_key=b"", sign_count=0, backed_up=False, created_at=now
        )
        for name in ("stolen", "kept")
    )

    def after_the_moment() -> None:
        recoveries.stop(move, by="old mailbox", reason="It is not me", now=now)
        registration.remove(key)

    undone(after_the_moment)
    facts = {"timestamp": f"{now.astimezone(UTC):%FT%TZ}", "wallet": str(bob.pk)}
    address = json.dumps({"event": "address_change_undone"} | facts) + "\n"
    damaged = [json.dumps(json.loads(line) | {"passkey": "x", "recovery": "x"}) + "\n" for line in log]
    said = repeat(monkeypatch, [*damaged, *log, address])

    assert said.count(": done") == 2
    assert f"address_change_undone {bob.pk}: repeat it by hand if it is still wanted" in said
    move.refresh_from_db()
    assert (move.state, move.decided_by) == ("stopped", "old mailbox")
    assert list(Passkey.objects.all()) == [other]
    again = repeat(monkeypatch, log)
    assert "Passkey matching query does not exist." in again


def test_a_withdrawn_key_is_withdrawn_again(
    log: list[str], monkeypatch: pytest.MonkeyPatch, signing_key: SigningKey
) -> None:
    undone(lambda: transitions.withdraw(signing_key.pk, reason="Stolen", now=timezone.now()))

    assert f"withdraw_signing_key {signing_key.pk} --yes: done" in repeat(monkeypatch, log)
    signing_key.refresh_from_db()
    assert signing_key.state == SigningKey.State.WITHDRAWN


def test_commands_of_the_audit_record_are_repeated_if_they_were_confirmed(
    monkeypatch: pytest.MonkeyPatch, alice: Wallet, bob: Wallet
) -> None:
    def run(wallet: Wallet, *yes: str) -> None:
        words = ("invalid", "--wallet", str(wallet.pk), "--reason", "Stolen", *yes)
        call_command("set_credential_status", *words, stdout=StringIO())

    def after_the_moment() -> None:
        run(alice, "--yes")
        with pytest.raises(CommandError, match="Add --yes"):
            run(bob)
        record(None, "added", "auth.user:7")
        record(None, "page_seen", "auth.user:7")
        record(None, "signed_in")
        record(None, "suspend", f"wallet.wallet:{alice.pk}")  # the log has it
        record(None, "claim", "wallet.identityverification:5")
        record(None, "decline", "wallet.identityverification:5")

    said = repeat(monkeypatch, undone(after_the_moment)).splitlines()

    assert [line[20:] for line in said] == [
        f"set_credential_status invalid --wallet {alice.pk} --yes: done",
        f"set_credential_status invalid --wallet {bob.pk}: repeat it by hand if it is still wanted",
        "added auth.user:7: repeat it by hand if it is still wanted",
        "decline wallet.identityverification:5: repeat it by hand if it is still wanted",
    ]
    states = dict(Credential.objects.values_list("wallet", "state"))
    assert states == {alice.pk: Credential.State.REVOKED, bob.pk: Credential.State.VALID}


def _line(event: str, **facts: str) -> str:
    return (
        json.dumps({"event": event, "timestamp": f"{timezone.now().astimezone(UTC):%FT%TZ}"} | facts) + "\n"
    )


@pytest.mark.postgresql
def test_no_number_of_a_list_is_given_twice_after_a_dump(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump does not know the lists that were opened since, whose numbers are in tokens."""
    before = set(StatusList.objects.values_list("id", flat=True))
    repeat(monkeypatch, [])

    assert min(set(StatusList.objects.values_list("id", flat=True)) - before) > max(before, default=0) + 999


def test_what_is_gone_is_named_and_no_place_in_a_list_is_given_twice(
    log: list[str], monkeypatch: pytest.MonkeyPatch, alice: Wallet
) -> None:
    lists = set(StatusList.objects.filter(closed_at=None))

    def after_the_moment() -> None:
        entry = presented(alice)
        changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)
        closures.ask(Wallet.objects.create(email="new@example.org", created_at=BEFORE), now=timezone.now())

    undone(after_the_moment)
    said = repeat(monkeypatch, log)

    assert "There is no such presented credential, or it has expired." in said
    assert "Wallet matching query does not exist." in said
    presented(alice)
    assert StatusEntry.objects.get().status_list not in lists
