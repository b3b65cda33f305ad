"""Processes killed while they rotate, withdraw, reseal or revoke: no change is lost or half done."""

import json
import random
import secrets
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from io import StringIO
from itertools import count
from time import monotonic
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from infra.sealing import seal_column, unseal
from keys.certificates.authority import authority
from keys.endpoints import key_set
from keys.issuer_key import signer_of
from keys.models import Authority, KeyEvent, SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.key_events import Action
from keys.rotation.states import State, find, in_state
from keys.sealed_columns import SealedColumn, reseal, sealed_columns
from tests.processes import Commands, environment
from tests.wallet.statuses import INVALID, VALID
from tools.benchmarks.browsers import ORIGIN
from wallet.models import Credential, StatusEntry, StatusEvent, Wallet
from wallet.status_lists import upkeep

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
KILLS, MOST_KILLS = 15, 80
OLD, NEW = (secrets.token_urlsafe(32) for _ in range(2))
DAY = timedelta(days=1)


@pytest.fixture
def commands(settings: Any, tmp_path: Any) -> Iterator[Callable[[], Commands]]:
    """Starts a process that runs commands with the current settings."""
    settings.BASE_URL = ORIGIN
    running: list[Commands] = []

    def start() -> Commands:
        running.append(Commands(environment(settings, tmp_path)))
        return running[-1]

    yield start
    for one in running:
        one.__exit__()


def kills(duration: float, found: Collection[Any]) -> Iterator[float]:
    """Random moments within `duration` seconds, until at least two different states were found.

    Later ones come from a longer and longer time: on a machine that has become busy, the command begins late.
    """
    for number in range(MOST_KILLS):
        if number >= KILLS and len(found) > 1:
            return
        yield random.uniform(0, 1.4 * duration * max(1, number / KILLS))


def kill_at_every_step(hands: Commands, *words: str, before: Callable[[], None]) -> Iterator[None]:
    """Kills the command at random moments, then before each of its writes. `before` prepares each attempt."""
    before()
    duration = hands.run(*words)
    for _kill in range(KILLS):
        before()
        hands.kill(*words, after=random.uniform(0, 1.4 * duration))
        yield
    for write in count(1):
        before()
        was_killed = hands.kill(*words, at_write=write)
        yield
        if not was_killed:
            assert write > 3  # the command writes several times
            return


# --- Rotation ---------------------------------------------------------------------------------------------

WITHDRAWAL = ("withdraw_signing_key", "--reason", "stolen", "--yes")
TOLD_AS = {
    Action.STAGED: State.STAGED,
    Action.ACTIVATED: State.ACTIVE,
    Action.RETIRED: State.RETIRED,
    Action.WITHDRAWN: State.WITHDRAWN,
}


def several_steps_are_due() -> None:
    """A certificate to renew, a key to take over, two to withdraw."""
    SigningKey.objects.all().delete()
    KeyEvent.objects.all().delete()
    now = timezone.now()
    due_steps.rotate(now=now - 360 * DAY)
    for days in (350, 340):
        staged = transitions.stage(now=now - days * DAY)
        transitions.activate(staged.pk, now=now - (days - 1) * DAY)
    transitions.stage(now=now - 3 * DAY)


def nothing_is_there() -> None:
    SigningKey.objects.all().delete()
    KeyEvent.objects.all().delete()
    Authority.objects.all().delete()


def state_of_the_keys() -> dict[str, Any]:
    """Asserts what must always be true of the keys; returns their states."""
    keys = list(SigningKey.objects.all())
    for key in keys:
        if key.state in (State.STAGED, State.ACTIVE):
            assert signer_of(key).sign(b"message")
        assert (key.certified_at is not None) == bool(key.chain_pem)
        told = list(KeyEvent.objects.filter(kid=key.pk).order_by("id").values_list("action", flat=True))
        assert [TOLD_AS[Action(action)] for action in told if action in TOLD_AS][-1] == key.state
        assert Action.CERTIFIED in told
    if Authority.objects.exists():
        authority(now=timezone.now())
    published_now = {key["kid"] for key in json.loads(key_set())["keys"]} if keys else set()
    assert published_now == {str(key) for key in keys if key.state != State.WITHDRAWN}
    return {str(key): str(key.state) for key in keys}


@pytest.mark.parametrize("words", [("rotate_signing_keys",), WITHDRAWAL], ids=["rotation", "withdrawal"])
def test_after_a_kill_during_rotation_one_key_signs_and_the_next_run_does_the_rest(
    words: tuple[str, ...], commands: Any
) -> None:
    for _kill in kill_at_every_step(commands(), *words, before=several_steps_are_due):
        assert list(state_of_the_keys().values()).count("active") == 1
        call_command("rotate_signing_keys", stdout=StringIO())
        after_all = sorted(state_of_the_keys().values())
        assert after_all in (["active", "retired", *["withdrawn"] * 2], ["active", *["withdrawn"] * 3])
        assert due_steps.rotate(now=timezone.now()).done == ()


def test_after_a_kill_while_the_first_key_is_made_the_next_run_makes_one(commands: Any) -> None:
    for _kill in kill_at_every_step(commands(), "rotate_signing_keys", before=nothing_is_there):
        assert list(state_of_the_keys().values()) in ([], ["staged"], ["active"])
        call_command("rotate_signing_keys", stdout=StringIO())
        assert list(state_of_the_keys().values()) == ["active"]
        assert find(str(in_state(State.ACTIVE))).chain(at=timezone.now())


# --- Re-sealing -------------------------------------------------------------------------------------------


def opened() -> dict[Any, bytes]:
    return {
        (str(column), row.pk): unseal(getattr(row, column.name), context=column.context(row.pk))
        for column in sealed_columns()
        for row in column.rows()
    }


def waiting_keys() -> SealedColumn:
    return next(column for column in sealed_columns() if column.model is SigningKey)


def left() -> int:
    return sum(column.waiting().count() for column in sealed_columns())


def test_after_a_kill_during_resealing_every_value_opens_and_the_next_run_continues(
    settings: Any, commands: Any, request: pytest.FixtureRequest
) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    due_steps.rotate(now=timezone.now())
    request.getfixturevalue("alice")
    long_ago = timezone.now() - 400 * DAY
    for number in range(1500):
        gone = SigningKey(state=State.WITHDRAWN, public_key=b"x", staged_at=long_ago, withdrawn_at=long_ago)
        gone.reason, gone.sealed_private_key = "gone", seal_column(gone, "sealed_private_key", b"%d" % number)
        gone.save(force_insert=True)
    settings.KEY_SEALING_KEYS = [NEW, OLD]
    before = opened()
    hands, found = commands(), set()
    to_begin = hands.run("reseal", "--dry-run")
    begun = monotonic()
    next(reseal(waiting_keys(), size=100))
    each, waiting = (monotonic() - begun) / 100, left()
    for more in kills(each * waiting / KILLS, found):
        hands.kill("reseal", "--batch", "20", after=to_begin + more)
        assert opened() == before
        assert left() <= waiting
        assert left() == waiting or KeyEvent.objects.filter(action=Action.RESEALED).exists()
        waiting = left()
        found.add(waiting)
    assert len(found) > 1
    hands.run("reseal")
    assert left() == 0
    settings.KEY_SEALING_KEYS = [NEW]
    assert opened() == before


# --- Revocation -------------------------------------------------------------------------------------------


def presented_often(wallet: Wallet, key: SigningKey, times: int) -> None:
    upkeep.keep_open(now=timezone.now())
    lists = list(upkeep.StatusList.objects.filter(closed_at=None))
    ends = timezone.now() + timedelta(hours=20)
    StatusEntry.objects.bulk_create(
        StatusEntry(
            status_list=lists[number % 2],
            idx=number,
            credential=wallet.credential,
            signing_key=key,
            expires_at=ends,
        )
        for number in range(times)
    )


def test_after_a_kill_during_revocation_all_presentations_are_invalid_or_none(
    commands: Any, alice: Wallet, signing_key: SigningKey
) -> None:
    times, credential = 4000, alice.credential
    presented_often(alice, signing_key, times)
    words = ("set_credential_status", "invalid", "--credential", str(credential.pk), "--reason", "x", "--yes")

    def unrevoked() -> None:
        Credential.objects.update(state=Credential.State.VALID)
        StatusEntry.objects.update(status=VALID)
        StatusEvent.objects.all().delete()

    for _kill in kill_at_every_step(commands(), *words, before=unrevoked):
        credential.refresh_from_db()
        revoked = credential.state == Credential.State.REVOKED
        assert StatusEntry.objects.filter(status=INVALID).count() == (times if revoked else 0)
        assert list(StatusEvent.objects.values_list("count", flat=True)) == ([times] if revoked else [])
        if not revoked:
            call_command(*words, stdout=StringIO())
        assert StatusEntry.objects.filter(status=INVALID).count() == times
        assert StatusEvent.objects.get().subject_id == str(credential.pk)
