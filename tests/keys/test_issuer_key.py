"""The active signing key in the memory of a process."""

from contextlib import suppress
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection

from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.jwk import public_key_from_der
from keys.jws import decode_segment, sign_segments
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, in_state
from tests.keys.compact_jws import verify_compact

pytestmark = pytest.mark.django_db


class Clock:
    """A monotonic clock that the test moves forward."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("keys.issuer_key.monotonic", clock)
    return clock


def elsewhere(active: SigningKey, staged: SigningKey, now: datetime) -> None:
    """The staged key takes over in another process, which this process does not notice."""
    SigningKey.objects.filter(pk=active.pk).update(state=State.RETIRED, retired_at=now)
    SigningKey.objects.filter(pk=staged.pk).update(state=State.ACTIVE, activated_at=now)


@pytest.fixture
def active(now: datetime) -> SigningKey:
    due_steps.rotate(now=now)
    key = in_state(State.ACTIVE)
    assert key
    return key


def test_a_token_of_the_issuer_key_verifies_under_the_published_key(
    active: SigningKey, now: datetime
) -> None:
    issuer_key = active_issuer_key(now=now)
    token = sign_segments(issuer_key.header_segment("dc+sd-jwt"), "e30", issuer_key.signer)
    assert verify_compact(token, public_key_from_der(active.public_key), typ="dc+sd-jwt") == {}


def test_the_header_names_the_key_and_carries_the_chain_without_its_root(
    active: SigningKey, now: datetime
) -> None:
    issuer_key = active_issuer_key(now=now)
    chain = active.certified_chain
    assert chain
    header = decode_segment(issuer_key.header_segment("dc+sd-jwt"))
    assert header == {"alg": "ES256", "typ": "dc+sd-jwt", "kid": str(active), "x5c": chain.x5c_with_root[:2]}
    assert decode_segment(issuer_key.header_segment("statuslist+jwt"))["typ"] == "statuslist+jwt"


def test_a_remembered_key_costs_no_query_for_five_seconds_and_then_one(
    active: SigningKey, now: datetime, statements: Any, clock: Any
) -> None:
    first = active_issuer_key(now=now)
    clock.seconds += 4.9
    with statements() as seen:
        assert active_issuer_key(now=now) is first
    assert seen.texts == []
    clock.seconds += 0.2
    with statements() as seen:
        assert active_issuer_key(now=now) is first
        assert active_issuer_key(now=now) is first
    assert len(seen.texts) == 1
    assert "sealed_private_key" not in seen.texts[0]


def test_a_fresh_question_asks_the_database_whatever_is_remembered(
    active: SigningKey, now: datetime, statements: Any
) -> None:
    first = active_issuer_key(now=now)
    with statements() as seen:
        assert active_issuer_key(now=now, fresh=True) is first
    assert len(seen.texts) == 1


def test_a_rotation_elsewhere_is_followed_within_seconds_and_at_once_by_a_fresh_question(
    active: SigningKey, now: datetime, clock: Any
) -> None:
    staged = transitions.stage(now=now - timedelta(hours=3))
    active_issuer_key(now=now)
    elsewhere(active, staged, now)
    assert active_issuer_key(now=now).kid == str(active)  # callers check the state when they record a token
    assert active_issuer_key(now=now, fresh=True).kid == str(staged)
    assert active_issuer_key(now=now).kid == str(staged)


def test_what_is_remembered_ends_after_five_seconds(active: SigningKey, now: datetime, clock: Any) -> None:
    staged = transitions.stage(now=now - timedelta(hours=3))
    active_issuer_key(now=now)
    elsewhere(active, staged, now)
    clock.seconds += 5
    assert active_issuer_key(now=now).kid == str(staged)


@pytest.mark.postgresql
def test_threads_do_not_wait_for_one_that_asks(active: SigningKey, now: datetime, clock: Any) -> None:
    first = active_issuer_key(now=now)
    asked, go_on = Event(), Event()

    def slowly(execute: Any, *question: Any) -> Any:
        asked.set()
        assert go_on.wait(10)
        return execute(*question)

    def ask() -> None:
        # The thread has another connection.
        with connection.execute_wrapper(slowly), suppress(NoSigningKeyError):
            active_issuer_key(now=now, fresh=True)
        connection.close()

    asking = Thread(target=ask)
    asking.start()
    assert asked.wait(10)
    assert active_issuer_key(now=now) is first
    go_on.set()
    asking.join(10)


def test_opening_a_key_costs_two_queries(active: SigningKey, now: datetime, statements: Any) -> None:
    with statements() as seen:
        active_issuer_key(now=now)
    assert len(seen.texts) == 2


def test_a_rotation_is_followed_at_once(active: SigningKey, now: datetime) -> None:
    active_issuer_key(now=now)
    staged = transitions.stage(now=now)
    assert active_issuer_key(now=now).kid == str(active)
    transitions.activate(staged.pk, now=now + timedelta(hours=2))
    assert active_issuer_key(now=now + timedelta(hours=2)).kid == str(staged)


def test_a_renewed_certificate_is_followed_at_once(active: SigningKey, now: datetime, settings: Any) -> None:
    before = active_issuer_key(now=now)
    settings.BASE_URL = "http://another.example"
    due_steps.rotate(now=now + timedelta(seconds=1))
    after = active_issuer_key(now=now + timedelta(seconds=1))
    assert after.kid == before.kid
    assert after.x5c != before.x5c


def test_without_an_active_key_nothing_signs(db: None, now: datetime) -> None:
    with pytest.raises(NoSigningKeyError):
        active_issuer_key(now=now)


def test_after_a_withdrawal_a_key_opened_before_signs_no_more(
    active: SigningKey, now: datetime, settings: Any
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    active_issuer_key(now=now)
    transitions.withdraw(active.pk, reason="compromised", now=now)
    with pytest.raises(NoSigningKeyError):
        active_issuer_key(now=now)


@pytest.mark.parametrize("opened_before", [True, False])
def test_nothing_is_signed_once_a_certificate_has_ended(
    opened_before: bool, active: SigningKey, now: datetime
) -> None:
    chain = active.certified_chain
    assert chain
    if opened_before:
        active_issuer_key(now=now)
    assert active_issuer_key(now=chain.not_after - timedelta(seconds=1)).not_after == chain.not_after
    with pytest.raises(BrokenChainError, match="ended"):
        active_issuer_key(now=chain.not_after)


def test_a_lost_sealing_key_is_a_clear_error(active: SigningKey, now: datetime, settings: Any) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-thirty-two-characters"]
    with pytest.raises(SealError, match="not among KEY_SEALING_KEYS"):
        active_issuer_key(now=now)


def test_an_issuer_key_shows_nothing_secret(active: SigningKey, now: datetime) -> None:
    shown = repr(active_issuer_key(now=now)) + repr(active) + str(active)
    assert bytes(active.sealed_private_key).hex() not in shown
    assert "<SoftwareSigner>" in shown
