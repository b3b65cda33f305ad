"""Status changes by the command and by the use cases, each with its row in the history."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from infra.database.append_only import AppendOnlyError
from keys.models import SigningKey
from keys.rotation import usage
from tests.wallet.conftest import together
from tests.wallet.statuses import INVALID, SAID, SUSPENDED, VALID, presented, status_of
from wallet.credential import credentials
from wallet.models import Credential, StatusEntry, StatusEvent, Wallet
from wallet.status_lists import changes
from wallet.status_lists.changes import Action

pytestmark = pytest.mark.usefixtures("signing_key")


def command(status: str, *target: str, yes: bool = True) -> str:
    out = StringIO()
    call_command(
        "set_credential_status",
        status,
        *target,
        "--reason",
        "Lost phone",
        *(["--yes"] if yes else []),
        stdout=out,
    )
    return out.getvalue()


def statuses() -> list[int]:
    return [status_of(entry) for entry in StatusEntry.objects.order_by("id")]


def told() -> list[tuple[str, str, str, int, str]]:
    events = StatusEvent.objects.order_by("id")
    return [(e.action, e.subject, e.subject_id, e.count, e.reason) for e in events]


# --- By command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["--presented", "--receipt"])
def test_one_presented_credential_is_invalidated_by_its_index_or_receipt(alice: Wallet, by: str) -> None:
    entry, _other = (presented(alice, reference=uuid4()) for _ in range(2))

    said = command("invalid", by, str(entry if by == "--presented" else entry.reference))

    assert said.startswith("1 unexpired presented credentials")
    assert statuses() == [INVALID, VALID]
    assert told() == [("invalidated", "presented", str(entry), 1, "Lost phone")]
    assert "at the shell" in StatusEvent.objects.get().actor


def test_all_that_one_receipt_is_about_is_changed_together(alice: Wallet) -> None:
    receipt = uuid4()
    entries = [presented(alice, reference=receipt) for _ in range(2)]
    presented(alice)

    assert command("suspended", "--receipt", str(receipt)).startswith("2 unexpired presented credentials")
    assert statuses() == [SUSPENDED, SUSPENDED, VALID]
    command("valid", "--presented", str(entries[0]))
    command("invalid", "--receipt", str(receipt))

    assert statuses() == [INVALID, INVALID, VALID]
    with pytest.raises(CommandError, match="Nothing was changed"):
        command("invalid", "--receipt", str(receipt))
    assert sorted(subject_id for *_, subject_id, _count, _reason in told()[-2:]) == sorted(map(str, entries))


@pytest.mark.parametrize(
    ("steps", "seen"),
    [
        (["suspended"], [SUSPENDED, SUSPENDED, VALID]),
        (["suspended", "valid"], [VALID, VALID, VALID]),
        (["invalid"], [INVALID, INVALID, VALID]),
        (["suspended", "invalid"], [INVALID, INVALID, VALID]),
    ],
)
@pytest.mark.parametrize("target", ["credential", "wallet"])
def test_everything_from_a_credential_or_wallet_follows_it(
    alice: Wallet, bob: Wallet, target: str, steps: list[str], seen: list[int]
) -> None:
    for wallet in (alice, alice, bob):
        presented(wallet)
    subject = alice.credential.pk if target == "credential" else alice.pk

    for step in steps:
        assert "2 unexpired presented credentials" in command(step, f"--{target}", str(subject))

    assert statuses() == seen
    assert [count for *_, count, _reason in told()] == [2] * len(steps)
    if steps != ["suspended", "valid"]:
        with pytest.raises(credentials.CredentialNotUsableError):
            presented(Wallet.objects.select_related("credential").get(pk=alice.pk))


@pytest.mark.parametrize(("status", "seen"), [("invalid", INVALID), ("suspended", SUSPENDED)])
def test_everything_that_a_key_signed_is_set_at_once(
    alice: Wallet, bob: Wallet, signing_key: SigningKey, status: str, seen: int
) -> None:
    for wallet in (alice, bob):
        presented(wallet)

    command(status, "--key", str(signing_key.pk))

    assert statuses() == [seen, seen]
    assert told()[0][1:4] == ("key", str(signing_key.pk), 2)
    assert status_of(presented(alice)) == VALID, "the key goes on signing"


def test_without_yes_it_only_says_how_many(alice: Wallet) -> None:
    presented(alice)

    with pytest.raises(CommandError, match="Nothing was changed. Add --yes"):
        command("invalid", "--wallet", str(alice.pk), yes=False)

    assert statuses() == [VALID]
    assert Credential.objects.get().state == "valid"
    assert told() == []


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (("--presented", "7"), "Give list and index"),
        (("--presented", "x/y"), "Give list and index"),
        (("--presented", "999999/1"), "no such presented credential"),
        (("--presented", "²/1"), "Give list and index"),
        (("--presented", f"{'9' * 18}/{'9' * 9}"), "no such presented credential"),
        (("--receipt", str(uuid4())), "no such presented credential"),
        (("--credential", str(uuid4())), "no such credential"),
        (("--wallet", str(uuid4())), "no such"),
        (("--key", str(uuid4())), "none of them can become"),
        (("--wallet", "alice"), "invalid UUID value"),
        (("--presented", "7/1", "--key", str(uuid4())), "not allowed with"),
        ((), "one of the arguments"),
    ],
)
@pytest.mark.parametrize("status", ["invalid", "suspended"])
def test_a_wrong_target_gives_one_sentence(
    alice: Wallet, target: tuple[str, ...], sentence: str, status: str
) -> None:
    presented(alice)

    with pytest.raises(CommandError, match=sentence):
        command(status, *target)

    assert statuses() == [VALID]
    assert told() == []


def test_a_reason_is_asked_for(alice: Wallet) -> None:
    entry = presented(alice)
    for reason in ([], ["--reason", " "]):
        with pytest.raises(CommandError, match="reason"):
            call_command("set_credential_status", "invalid", "--presented", str(entry), "--yes", *reason)
    assert statuses() == [VALID]


def test_what_is_invalid_stays_so(alice: Wallet) -> None:
    entry = presented(alice)
    command("invalid", "--presented", str(entry))

    for status in ("valid", "suspended", "invalid"):
        with pytest.raises(CommandError, match=f"none of them can become {status}"):
            command(status, "--presented", str(entry))

    assert statuses() == [INVALID]
    assert len(told()) == 1


# --- The use cases ----------------------------------------------------------------------------------------


def test_the_holder_takes_back_what_they_shared_on_one_occasion(alice: Wallet, bob: Wallet) -> None:
    reference, now = uuid4(), timezone.now()
    presented(alice, reference=reference)
    presented(alice, reference=uuid4())
    presented(bob, reference=reference)

    changes.take_back(alice, reference, now=now)

    assert statuses() == [INVALID, VALID, VALID]
    assert StatusEvent.objects.get().actor == "holder"
    with pytest.raises(changes.NothingToChangeError):
        changes.take_back(alice, reference, now=now)
    with pytest.raises(changes.NothingToChangeError):
        changes.take_back(alice, uuid4(), now=now)


def test_what_has_ended_cannot_be_changed(alice: Wallet) -> None:
    entry = presented(alice, reference=uuid4())
    later = timezone.now() + timedelta(hours=25)

    with pytest.raises(changes.NothingToChangeError):
        changes.change_presented(entry, Action.INVALIDATED, now=later, **SAID)
    with pytest.raises(changes.NothingToChangeError):
        changes.take_back(alice, entry.reference, now=later)
    assert told() == []


def test_an_operator_sees_how_many_credentials_a_key_has_signed(
    alice: Wallet, bob: Wallet, signing_key: SigningKey
) -> None:
    presented(alice)
    presented(bob)
    now = timezone.now()

    assert usage.count_credentials(signing_key.pk, now) == 2
    assert usage.count_credentials(signing_key.pk, now + timedelta(hours=25)) == 0
    assert usage.count_credentials(uuid4(), now) == 0


def test_the_record_is_written_once(alice: Wallet) -> None:
    command("invalid", "--presented", str(presented(alice)))
    event = StatusEvent.objects.get()

    for attempt in (event.save, event.delete):
        with pytest.raises(AppendOnlyError):
            attempt()


def test_what_is_not_recorded_is_not_changed(alice: Wallet, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = presented(alice)

    def fail(*args: Any, **facts: Any) -> None:
        raise RuntimeError("the database is full")

    monkeypatch.setattr(changes, "record", fail)
    for change in (
        lambda: command("invalid", "--presented", str(entry)),
        lambda: command("invalid", "--wallet", str(alice.pk)),
        lambda: command("suspended", "--wallet", str(alice.pk)),
    ):
        with pytest.raises(RuntimeError):
            change()

    assert statuses() == [VALID]
    assert (Credential.objects.get().state, Wallet.objects.get().state) == ("valid", "active")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_hands_at_once_one_takes_it_back(alice: Wallet) -> None:
    entry = presented(alice)

    results = together(
        lambda number: changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)
    )

    assert results.count(None) == 1
    assert sum(isinstance(result, changes.NothingToChangeError) for result in results) == 7
    assert len(told()) == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_a_holder_and_operators_at_once_none_leaves_a_presentation_of_the_receipt_valid(
    alice: Wallet,
) -> None:
    entries = [presented(alice, reference=receipt) for receipt in [uuid4()] for _ in range(4)]

    def act(number: int) -> None:
        if number % 2:
            changes.take_back(alice, entries[0].reference, now=timezone.now())
        else:
            entry = entries[number // 2]
            changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)

    results = together(act)

    assert statuses() == [INVALID] * 4
    assert all(result is None or isinstance(result, changes.NothingToChangeError) for result in results)
    assert sorted(subject_id for _, _, subject_id, _, _ in told()) == sorted(map(str, entries))
