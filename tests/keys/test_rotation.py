"""The transitions and the schedule of signing keys."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from keys.certificates.chain import BrokenChainError
from keys.jws import verify_signature
from keys.models import SigningKey
from keys.rotation import due_steps, transitions, usage
from keys.rotation.states import (
    JWKS_MAX_AGE,
    PUBLISHED_AFTER_SIGNING,
    PUBLISHED_BEFORE_SIGNING,
    TOKEN_LIFETIME,
    TRANSITIONS,
    RotationRefusedError,
    State,
    find,
    fits,
    in_state,
    takes_over_at,
    transition_to,
)
from keys.rotation.withdrawal import cost_of_withdrawal
from tests.keys.chains import HOUR, SECOND, chain_for
from wallet.credential import credentials

pytestmark = pytest.mark.django_db
NEW_KEY_EVERY, STAGED_FOR = timedelta(days=90), timedelta(hours=48)  # the defaults of the settings


@pytest.fixture
def active(now: datetime) -> SigningKey:
    due_steps.rotate(now=now)
    key = in_state(State.ACTIVE)
    assert key
    return key


@pytest.fixture
def real_authority(settings: Any) -> None:
    """As in production: an external authority issues certificates."""
    settings.SELF_CERTIFYING_AUTHORITY = False


def test_a_new_service_gets_a_key_that_signs_at_once(now: datetime) -> None:
    lines = due_steps.rotate(now=now).lines()
    key = SigningKey.objects.get()
    assert key.state == State.ACTIVE
    assert [line.split(str(key))[0] for line in lines] == ["Staged key ", "Activated key ", "The key after "]


def test_rotating_again_changes_nothing(active: SigningKey, now: datetime) -> None:
    before = list(SigningKey.objects.values())
    for _again in range(3):
        assert len(due_steps.rotate(now=now + HOUR).lines()) == 1
    assert list(SigningKey.objects.values()) == before


def test_the_schedule_is_that_of_the_settings(active: SigningKey, now: datetime, settings: Any) -> None:
    settings.SIGNING_KEY_PERIOD, settings.SIGNING_KEY_STAGED_FOR = timedelta(days=7), timedelta(hours=3)
    (step,) = due_steps.rotate(now=now).next
    assert (step.what, step.kid, step.at) == ("stage", None, now + timedelta(days=7) - 3 * HOUR)
    due_steps.rotate(now=step.at)
    (step,) = due_steps.rotate(now=step.at).next
    assert (step.what, step.at) == ("activate", now + timedelta(days=7))


def test_the_longest_token_is_known_to_the_schedule() -> None:
    assert credentials.TOKEN_LIFETIME <= TOKEN_LIFETIME


@pytest.mark.slow
def test_half_a_year_of_rotation_never_signs_with_an_unpublished_key(
    active: SigningKey, now: datetime
) -> None:
    signed_from: list[tuple[SigningKey, datetime]] = [(active, now)]
    moment = now
    while moment < now + timedelta(days=190):
        moment += 12 * HOUR
        due_steps.rotate(now=moment)
        signing = in_state(State.ACTIVE)
        assert signing
        assert SigningKey.objects.filter(state=State.STAGED).count() <= 1
        if signing.pk not in {key.pk for key, _ in signed_from}:
            signed_from.append((signing, moment))
        for retired in SigningKey.objects.filter(state=State.RETIRED):
            assert retired.retired_at
            assert moment < retired.retired_at + PUBLISHED_AFTER_SIGNING
        for gone in SigningKey.objects.filter(state=State.WITHDRAWN):
            assert gone.retired_at
            assert gone.withdrawn_at
            assert gone.withdrawn_at >= gone.retired_at + TOKEN_LIFETIME + JWKS_MAX_AGE
    assert len(signed_from) == 3
    for key, since in signed_from[1:]:
        assert key.certified_at
        assert since >= key.certified_at + STAGED_FOR
    gaps = [b - a for (_, a), (_, b) in zip(signed_from, signed_from[1:], strict=False)]
    assert all(NEW_KEY_EVERY <= gap <= NEW_KEY_EVERY + 12 * HOUR for gap in gaps)


def test_a_key_may_not_sign_before_every_cached_key_set_has_it(active: SigningKey, now: datetime) -> None:
    staged = transitions.stage(now=now)
    with pytest.raises(RotationRefusedError, match="cached key sets may lack it"):
        transitions.activate(staged.pk, now=now + PUBLISHED_BEFORE_SIGNING - SECOND)
    assert find(active.pk).state == State.ACTIVE
    transitions.activate(staged.pk, now=now + PUBLISHED_BEFORE_SIGNING)
    assert find(staged.pk).state == State.ACTIVE
    assert find(active.pk).state == State.RETIRED
    assert PUBLISHED_BEFORE_SIGNING > JWKS_MAX_AGE


def test_the_wait_begins_when_the_key_is_certified_for_it_is_not_published_before(
    active: SigningKey, now: datetime, real_authority: None
) -> None:
    staged = transitions.stage(now=now)
    transitions.certify(staged.pk, chain_for(staged, now), now=now + 5 * HOUR)
    with pytest.raises(RotationRefusedError, match="cached key sets"):
        transitions.activate(staged.pk, now=now + 6 * HOUR)
    assert transitions.activate(staged.pk, now=now + 5 * HOUR + PUBLISHED_BEFORE_SIGNING)


def test_activating_the_active_key_changes_nothing(active: SigningKey, now: datetime) -> None:
    assert transitions.activate(active.pk, now=now + HOUR).activated_at == active.activated_at


def test_only_one_key_is_staged_at_a_time(active: SigningKey, now: datetime) -> None:
    transitions.stage(now=now)
    with pytest.raises(RotationRefusedError, match="staged already"):
        transitions.stage(now=now)


def test_without_a_certificate_a_key_cannot_sign_even_when_no_other_does(
    now: datetime, real_authority: None
) -> None:
    staged = transitions.stage(now=now)
    with pytest.raises(RotationRefusedError, match="no certificate chain"):
        transitions.activate(staged.pk, now=now + timedelta(days=9))


def test_production_waits_for_the_certificate_and_then_begins(now: datetime, real_authority: None) -> None:
    assert "waits for its certificate" in due_steps.rotate(now=now).lines()[-1]
    staged = SigningKey.objects.get()
    assert due_steps.rotate(now=now + HOUR) == due_steps.rotate(now=now + HOUR)
    assert "BEGIN CERTIFICATE REQUEST" in transitions.certificate_request(staged.pk)
    transitions.certify(staged.pk, chain_for(staged, now), now=now + 2 * HOUR)
    due_steps.rotate(now=now + 2 * HOUR)
    assert find(staged.pk).state == State.ACTIVE


def test_a_chain_that_does_not_fit_is_not_installed(now: datetime, real_authority: None) -> None:
    staged = transitions.stage(now=now)
    with pytest.raises(BrokenChainError, match="ended on"):
        transitions.certify(staged.pk, chain_for(staged, now, ends=now - SECOND), now=now)
    assert find(staged.pk).chain_pem == ""


def test_a_chain_that_verifiers_would_refuse_is_not_installed(now: datetime, real_authority: None) -> None:
    """What the service certifies is judged as the client libraries judge it."""
    staged = transitions.stage(now=now)
    with pytest.raises(BrokenChainError, match="would refuse the chain: its certificate is not for this"):
        transitions.certify(staged.pk, chain_for(staged, now, host="another.example"), now=now)
    with pytest.raises(BrokenChainError, match="would refuse the chain: x5c does not lead up"):
        transitions.certify(staged.pk, chain_for(staged, now, only_hosts_of="another.example"), now=now)
    assert find(staged.pk).chain_pem == ""
    transitions.certify(staged.pk, chain_for(staged, now), now=now)


def test_a_key_whose_certificates_ended_while_it_waited_is_not_activated(
    now: datetime, real_authority: None
) -> None:
    staged = transitions.stage(now=now)
    transitions.certify(staged.pk, chain_for(staged, now, ends=now + HOUR), now=now)
    with pytest.raises(BrokenChainError, match="ended on"):
        transitions.activate(staged.pk, now=now + 2 * HOUR)
    lines = due_steps.rotate(now=now + 2 * HOUR).lines()
    assert "ended on" in lines[0]
    assert find(staged.pk).state == State.STAGED


def test_a_retired_key_is_not_certified_again(active: SigningKey, now: datetime) -> None:
    staged = transitions.stage(now=now)
    chain = find(active.pk).chain_pem
    transitions.activate(staged.pk, now=now + 2 * HOUR)
    with pytest.raises(RotationRefusedError, match="retired"):
        transitions.certify(active.pk, chain, now=now + 2 * HOUR)
    with pytest.raises(RotationRefusedError, match="needs no certificate"):
        transitions.certificate_request(active.pk)


def test_a_certificate_about_to_end_brings_the_rotation_forward(now: datetime, real_authority: None) -> None:
    due_steps.rotate(now=now)
    first = SigningKey.objects.get()
    transitions.certify(first.pk, chain_for(first, now, ends=now + timedelta(days=20)), now=now)
    due_steps.rotate(now=now)
    due_steps.rotate(now=now + timedelta(days=16) - HOUR)
    assert in_state(State.STAGED) is None
    due_steps.rotate(now=now + timedelta(days=16))
    second = in_state(State.STAGED)
    assert second
    transitions.certify(second.pk, chain_for(second, now), now=now + timedelta(days=19))
    second = find(second.pk)
    assert takes_over_at(find(first.pk), second) == now.replace(microsecond=0) + timedelta(days=20)


def test_the_sandbox_renews_what_is_about_to_end_or_names_another_host(
    active: SigningKey, now: datetime, settings: Any
) -> None:
    settings.BASE_URL = "http://another.example"
    assert due_steps.rotate(now=now + SECOND).lines()[0] == f"Certified key {active}."
    renewed = find(active.pk)
    assert renewed.certified_at == now + SECOND
    assert bytes(renewed.public_key) == bytes(active.public_key)
    assert due_steps.rotate(now=now + 2 * SECOND).lines()[0].startswith("The key after")
    due_steps.rotate(now=now + timedelta(days=400))  # a sandbox that was stopped for a year
    slept = in_state(State.ACTIVE)
    assert slept
    assert slept.chain(at=now + timedelta(days=400))


def test_retiring_lets_the_staged_key_take_over(active: SigningKey, now: datetime) -> None:
    with pytest.raises(RotationRefusedError, match="No key is staged"):
        transitions.retire(active.pk, now=now)
    staged = transitions.stage(now=now)
    with pytest.raises(RotationRefusedError, match="cached key sets"):
        transitions.retire(active.pk, now=now)
    assert transitions.retire(active.pk, now=now + 2 * HOUR).state == State.RETIRED
    assert find(staged.pk).state == State.ACTIVE
    assert transitions.retire(active.pk, now=now + 3 * HOUR).retired_at == now + 2 * HOUR
    with pytest.raises(RotationRefusedError, match="cannot become"):
        transitions.retire(transitions.stage(now=now).pk, now=now + 3 * HOUR)


def test_a_withdrawn_active_key_is_followed_by_the_staged_one_at_once(
    active: SigningKey, now: datetime
) -> None:
    staged = transitions.stage(now=now)
    transitions.withdraw(active.pk, reason="  lost\n laptop ", now=now + SECOND)
    withdrawn = find(active.pk)
    assert (withdrawn.state, withdrawn.reason) == (State.WITHDRAWN, "lost laptop")
    assert find(staged.pk).state == State.ACTIVE


def test_where_the_service_certifies_itself_a_withdrawn_key_without_successor_is_followed_by_a_new_one(
    active: SigningKey, now: datetime
) -> None:
    transitions.withdraw(active.pk, reason="compromised", now=now)
    fresh = in_state(State.ACTIVE)
    assert fresh
    assert fresh.pk != active.pk
    assert fresh.chain(at=now)


def test_a_staged_key_whose_certificate_has_ended_is_certified_anew_to_follow_a_withdrawn_one(
    active: SigningKey, now: datetime
) -> None:
    staged = transitions.stage(now=now)
    later = now + timedelta(days=400)
    assert not fits(staged, later)
    transitions.withdraw(active.pk, reason="compromised", now=later)
    assert in_state(State.ACTIVE) == staged
    assert fits(find(staged.pk), later)


def test_elsewhere_nothing_signs_after_a_withdrawal_until_a_certified_key_is_there(
    active: SigningKey, now: datetime, real_authority: None
) -> None:
    staged = transitions.stage(now=now)
    assert "nothing can be issued" in cost_of_withdrawal(active, now=now)
    transitions.withdraw(active.pk, reason="compromised", now=now)
    assert in_state(State.ACTIVE) is None
    assert find(staged.pk).state == State.STAGED
    assert [entry.what for entry in due_steps.rotate(now=now).problems] == ["no_active_key"]
    transitions.certify(staged.pk, chain_for(staged, now), now=now)
    due_steps.rotate(now=now)
    assert in_state(State.ACTIVE) == staged


def test_a_withdrawal_stands_even_when_no_other_key_can_be_made(
    active: SigningKey, now: datetime, settings: Any
) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-thirty-two-characters"]  # the authority is lost
    transitions.withdraw(active.pk, reason="compromised", now=now)
    assert find(active.pk).state == State.WITHDRAWN
    assert SigningKey.objects.count() == 1


def test_a_withdrawal_needs_a_reason_and_is_final(active: SigningKey, now: datetime) -> None:
    with pytest.raises(RotationRefusedError, match="Say why"):
        transitions.withdraw(active.pk, reason=" \n", now=now)
    transitions.withdraw(active.pk, reason="first", now=now)
    assert transitions.withdraw(active.pk, reason="second", now=now + HOUR).reason == "first"
    for move in (transitions.activate, transitions.retire):
        with pytest.raises(RotationRefusedError, match="cannot become"):
            move(active.pk, now=now)


def test_what_a_withdrawal_costs_is_said_before(active: SigningKey, now: datetime) -> None:
    assert "A new key is made" in cost_of_withdrawal(active, now=now)
    staged = transitions.stage(now=now)
    assert f"Key {staged} signs from then on" in cost_of_withdrawal(active, now=now)
    assert "signed nothing yet" in cost_of_withdrawal(staged, now=now)
    transitions.activate(staged.pk, now=now + 2 * HOUR)
    assert "become invalid" in cost_of_withdrawal(find(active.pk), now=now)
    gone = transitions.withdraw(active.pk, reason="tidy", now=now)
    assert "already" in cost_of_withdrawal(gone, now=now)


def test_how_many_unexpired_credentials_a_withdrawal_hits_is_said_before(
    active: SigningKey, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "count_credentials", lambda kid, at: 1234 * ((kid, at) == (active.pk, now)))
    assert cost_of_withdrawal(active, now=now).startswith("1234 unexpired credentials")


def test_the_private_key_is_forgotten_when_a_key_can_never_sign_again(
    active: SigningKey, now: datetime
) -> None:
    staged = transitions.stage(now=now)
    assert bytes(find(staged.pk).sealed_private_key)
    transitions.activate(staged.pk, now=now + 2 * HOUR)
    assert bytes(find(active.pk).sealed_private_key) == b""
    transitions.withdraw(staged.pk, reason="lost", now=now + 2 * HOUR)
    assert bytes(find(staged.pk).sealed_private_key) == b""


def test_a_sealed_private_key_belongs_to_its_public_key_and_row_only(
    active: SigningKey, now: datetime
) -> None:
    from infra.sealing import SealError
    from keys.issuer_key import signer_of
    from keys.jwk import public_key_from_der

    staged = transitions.stage(now=now)
    signature = signer_of(staged).sign(b"message")
    assert verify_signature(signature, b"message", public_key_from_der(staged.public_key))
    staged.sealed_private_key = active.sealed_private_key
    with pytest.raises(SealError):
        signer_of(staged)


@pytest.mark.parametrize("origin", State)
@pytest.mark.parametrize("target", State)
def test_a_move_the_diagram_lacks_is_refused(origin: State, target: State, now: datetime) -> None:
    if target in TRANSITIONS[origin]:
        return
    key = SigningKey(state=origin, staged_at=now)
    with pytest.raises(RotationRefusedError, match="cannot become"):
        transition_to(key, target, now=now)


@pytest.mark.parametrize("kid", ["", "nonsense", "00000000-0000-0000-0000-000000000000", "🔑"])
def test_an_unknown_key_is_one_clear_sentence(kid: str, now: datetime) -> None:
    for move in (transitions.activate, transitions.retire):
        with pytest.raises(RotationRefusedError, match="There is no signing key"):
            move(kid, now=now)


@pytest.mark.parametrize(
    ("wrong", "constraint"),
    [
        ({"state": "active"}, "state_fits_times|CHECK"),
        ({"state": "retired"}, "state_fits_times|CHECK"),
        ({"state": "withdrawn"}, "state_fits_times|CHECK"),
        ({"state": "lost"}, "state_fits_times|CHECK"),
        ({"certified_at": None}, "certified_key_has_chain|CHECK"),
        ({"chain_pem": ""}, "certified_key_has_chain|CHECK"),
    ],
)
def test_the_database_refuses_what_the_states_exclude(
    wrong: dict[str, Any], constraint: str, now: datetime
) -> None:
    staged = transitions.stage(now=now)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        SigningKey.objects.filter(pk=staged.pk).update(**wrong)


def test_the_database_refuses_a_second_active_key(active: SigningKey, now: datetime) -> None:
    staged = transitions.stage(now=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        SigningKey.objects.filter(pk=staged.pk).update(state="active", activated_at=now)
