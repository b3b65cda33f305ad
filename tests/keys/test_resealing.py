"""Sealed values move to a new key while the service runs, and none is lost."""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.db.models import BinaryField

from infra.sealing import SealError, marks, seal, seal_column, unseal, unseal_column
from keys.certificates.authority import authority
from keys.issuer_key import active_issuer_key, signer_of
from keys.models import Authority, KeyEvent, SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.key_events import Action, shell_user
from keys.rotation.states import State, in_state
from keys.sealed_columns import SealedColumn, reseal, sealed_columns
from wallet.credential.credentials import valid_credential
from wallet.models import Wallet

pytestmark = pytest.mark.slow

OLD, NEW, LOST = (secrets.token_urlsafe(32) for _ in range(3))
ROOT_KEY = Authority.SEALED["sealed_root_key"]


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def column(name: str) -> SealedColumn:
    return next(one for one in sealed_columns() if str(one) == name)


def left() -> int:
    return sum(one.waiting().count() for one in sealed_columns())


@pytest.fixture
def sealed(db: None, settings: Any, now: datetime, request: pytest.FixtureRequest) -> Wallet:
    """Keys, an authority and a wallet, sealed under OLD; NEW is now the first key."""
    settings.KEY_SEALING_KEYS = [OLD]
    due_steps.rotate(now=now - timedelta(days=2))
    transitions.activate(transitions.stage(now=now - timedelta(days=1)).pk, now=now)
    alice: Wallet = request.getfixturevalue("alice")
    settings.KEY_SEALING_KEYS = [NEW, OLD]
    return alice


def test_every_sealed_column_of_every_app_is_declared_and_every_declared_one_exists() -> None:
    named = {
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, BinaryField) and field.name.startswith("sealed_")
    }
    declared = {str(one) for one in sealed_columns()}
    assert declared == named
    assert "wallet_credential.sealed_identity" in declared
    assert all(one.pattern.startswith(f"{one}:") for one in sealed_columns())


def test_no_value_opens_in_another_column_or_row() -> None:
    places = {one.context(pk) for one in sealed_columns() for pk in ("1", "2")}
    of_one_row_only = [one for one in sealed_columns() if one.model is Authority]
    assert len(places) == 2 * len(list(sealed_columns())) - len(of_one_row_only)
    for place in places:
        sealed = seal(b"value", context=place)
        assert unseal(sealed, context=place) == b"value"
        for other in places - {place}:
            with pytest.raises(SealError, match="belongs elsewhere"):
                unseal(sealed, context=other)


def test_everything_moves_to_the_first_key_and_opens_without_the_other(
    sealed: Wallet, settings: Any, now: datetime
) -> None:
    assert left() == 4  # the active key (the retired one is deleted), two of the authority, a credential
    assert "wallet_credential.sealed_identity: 1 to move." in run("reseal", "--dry-run")
    assert left() == 4
    said = run("reseal")
    assert "keys_authority.sealed_root_key: 1 moved." in said
    assert "the others may leave KEY_SEALING_KEYS" in said
    settings.KEY_SEALING_KEYS = [NEW]
    assert active_issuer_key(now=now)
    assert authority(now=now)
    credential = valid_credential(Wallet.objects.get(pk=sealed.pk), now=now)
    assert credential
    assert b"Alice" in unseal(
        credential.sealed_identity, context=f"wallet_credential.sealed_identity:{credential.id}"
    )


def test_doing_it_again_changes_nothing(sealed: Wallet) -> None:
    run("reseal")
    before = list(SigningKey.objects.values()), list(Authority.objects.values())
    assert "keys_signingkey.sealed_private_key: 0 moved." in run("reseal")
    assert (list(SigningKey.objects.values()), list(Authority.objects.values())) == before


def test_a_forgotten_private_key_stays_forgotten(sealed: Wallet) -> None:
    run("reseal")
    assert bytes(SigningKey.objects.get(state="retired").sealed_private_key) == b""


def test_a_run_that_is_stopped_has_lost_nothing_and_the_next_one_goes_on(db: None, settings: Any) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    key_column = column("keys_signingkey.sealed_private_key")
    for number in range(5):
        made = SigningKey(
            public_key=b"x", staged_at="2026-01-01T00:00Z", withdrawn_at="2026-01-02T00:00Z", reason="r"
        )
        made.state, made.sealed_private_key = (
            "withdrawn",
            seal_column(made, "sealed_private_key", str(number).encode()),
        )
        made.save()
    settings.KEY_SEALING_KEYS = [NEW, OLD]
    assert next(reseal(key_column, size=2))[0] == 2  # and the iteration ends here
    assert left() == 3

    def opened() -> set[bytes]:
        return {unseal_column(k, "sealed_private_key") for k in SigningKey.objects.all()}

    assert opened() == {b"0", b"1", b"2", b"3", b"4"}
    assert [moved for moved, _ in reseal(key_column, size=2)] == [2, 1]
    settings.KEY_SEALING_KEYS = [NEW]
    assert opened() == {b"0", b"1", b"2", b"3", b"4"}


def test_what_does_not_open_is_left_named_and_does_not_hold_up_the_rest(sealed: Wallet) -> None:
    row = Authority.objects.get()
    swapped = bytes(row.sealed_issuing_key)
    Authority.objects.update(sealed_root_key=swapped)
    out = StringIO()
    with pytest.raises(
        CommandError, match="1 values are not sealed under the first key. Keep the other keys"
    ):
        call_command("reseal", stdout=out, stderr=out)
    assert "keys_authority.sealed_root_key:only was changed after it was sealed" in out.getvalue()
    assert bytes(Authority.objects.get().sealed_root_key) == swapped
    assert left() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("batch", ["0", "-1", "10001"])
def test_a_batch_of_no_size_or_any_size_is_refused(batch: str) -> None:
    with pytest.raises(CommandError, match="--batch is 1 to 10000"):
        run("reseal", "--batch", batch)


def test_a_lost_sealing_key_is_reported_before_deployment(sealed: Wallet, settings: Any) -> None:
    assert "keys.E006" not in run("check", "--deploy", "--tag", "security")
    run("reseal")
    settings.KEY_SEALING_KEYS = [LOST]
    with pytest.raises(SystemCheckError) as caught:
        run("check", "--deploy", "--tag", "security")
    settings.KEY_SEALING_KEYS = [NEW]
    key_id = marks()[0][1:].hex()
    lost = f"wallet_credential.sealed_identity: 1 values are sealed under the key {key_id}, not among"
    assert lost in str(caught.value)
    assert str(caught.value).count("keys.E006") == 4
    assert NEW not in str(caught.value)
    assert OLD not in str(caught.value)
    assert run("check", "--deploy", "--tag", "security").count("keys.E006") == 0


def test_what_is_lost_for_good_can_be_forgotten_and_nothing_else(sealed: Wallet, settings: Any) -> None:
    run("reseal")
    new, old = (mark[1:].hex() for mark in marks())
    assert "0 values" in run("reseal", "--forget", new)  # it is among KEY_SEALING_KEYS: nothing is lost
    settings.KEY_SEALING_KEYS = [LOST]
    assert "0 values" in run("reseal", "--forget", old)
    for wrong in ("", "x", new.upper() + "0", new[:-1]):
        with pytest.raises(CommandError, match="8 hexadecimal digits"):
            run("reseal", "--forget", wrong)
    with pytest.raises(CommandError, match="withdraw that key first .withdraw_signing_key.. Nothing was"):
        run("reseal", "--forget", new)
    assert left() == 4
    run("withdraw_signing_key", str(in_state(State.ACTIVE)), "--reason", "lost", "--yes")
    assert "3 values that were sealed" in run("reseal", "--forget", new)
    assert "keys.E006" not in run("check", "--deploy", "--tag", "security")
    assert left() == 0


def test_who_sealed_anew_or_forgot_is_recorded_with_the_reason(sealed: Wallet, settings: Any) -> None:
    def recorded() -> list[tuple[str, Any, str, str]]:
        rows = KeyEvent.objects.filter(action__in=[Action.RESEALED, Action.FORGOTTEN]).order_by("id")
        return list(rows.values_list("action", "kid", "actor", "reason"))

    run("reseal", "--dry-run", "--reason", "only a look")
    assert recorded() == []
    run("reseal", "--reason", "January")
    run("reseal", "--reason", "nothing is left to move")
    assert recorded() == [("resealed", None, shell_user(), "January")]
    new = marks()[0][1:].hex()
    settings.KEY_SEALING_KEYS = [LOST]
    run("reseal", "--forget", "00000000", "--reason", "nothing is sealed under this")
    run("withdraw_signing_key", str(in_state(State.ACTIVE)), "--reason", "lost", "--yes")
    run("reseal", "--forget", new, "--reason", "the safe burnt down")
    assert recorded()[1:] == [("forgotten", None, shell_user(), "the safe burnt down")]


def test_without_any_sealing_key_one_error_is_enough(sealed: Wallet, settings: Any) -> None:
    settings.KEY_SEALING_KEYS = []
    with pytest.raises(SystemCheckError, match=r"keys\.E001") as caught:
        run("check", "--deploy", "--tag", "security")
    assert "keys.E006" not in str(caught.value)


Race = Callable[..., list[Any]]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_value_rewritten_meanwhile_is_left_alone(settings: Any, now: datetime, at_once: Race) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    authority(now=now)
    written = [seal(str(number).encode(), context=ROOT_KEY) for number in range(200)]
    settings.KEY_SEALING_KEYS = [NEW, OLD]
    moving = column("keys_authority.sealed_root_key")
    overtakes: list[int] = []

    def rewrite() -> None:
        for value in written:
            Authority.objects.update(sealed_root_key=value)

    def move() -> None:
        for _again in range(100):
            overtakes.extend(1 - moved for moved, _ in reseal(moving))

    assert at_once(rewrite, move, move) == [None] * 3
    assert unseal(Authority.objects.get().sealed_root_key, context=ROOT_KEY) == b"199"
    assert sum(overtakes) > 0  # some values were rewritten during the run
    assert sum(moved for moved, _ in reseal(moving)) <= 1
    settings.KEY_SEALING_KEYS = [NEW]
    assert unseal(Authority.objects.get().sealed_root_key, context=ROOT_KEY) == b"199"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_private_key_forgotten_meanwhile_does_not_come_back(
    settings: Any, now: datetime, at_once: Race
) -> None:
    moving = column("keys_signingkey.sealed_private_key")
    for _round in range(8):
        settings.KEY_SEALING_KEYS = [OLD]
        key = transitions.stage(now=now)
        settings.KEY_SEALING_KEYS = [NEW, OLD]

        def move() -> int:
            return sum(moved for moved, _ in reseal(moving))

        def forget(kid: Any = key.pk) -> None:
            transitions.withdraw(kid, reason="race", now=now)

        results = at_once(move, forget, move)
        assert not [result for result in results if isinstance(result, Exception)]
        assert bytes(SigningKey.objects.get(pk=key.pk).sealed_private_key) == b""


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_keys_sign_while_they_are_moved(settings: Any, now: datetime, at_once: Race) -> None:
    settings.KEY_SEALING_KEYS = [OLD]
    due_steps.rotate(now=now)
    settings.KEY_SEALING_KEYS = [NEW, OLD]

    def sign() -> None:
        for _again in range(40):
            assert signer_of(SigningKey.objects.get()).sign(b"message")

    assert at_once(sign, sign, lambda: call_command("reseal", stdout=StringIO())) == [None] * 3
    assert left() == 0
