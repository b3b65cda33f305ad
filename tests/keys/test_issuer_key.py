"""The key that signs now."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from keys import rotation
from keys.certificate_chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.jwk import public_key_from_der
from keys.jws import decode_segment, sign_segments, verify_compact
from keys.models import SigningKey
from keys.moves import State, in_state
from keys.sealing import SealError

pytestmark = pytest.mark.django_db


@pytest.fixture
def active(now: datetime) -> SigningKey:
    rotation.rotate(now=now)
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


def test_an_opened_key_costs_one_query(active: SigningKey, now: datetime, statements: Any) -> None:
    first = active_issuer_key(now=now)
    with statements() as seen:
        assert active_issuer_key(now=now) is first
    assert len(seen.texts) == 1
    assert "sealed_private_key" not in seen.texts[0]


def test_opening_a_key_costs_two_queries(active: SigningKey, now: datetime, statements: Any) -> None:
    with statements() as seen:
        active_issuer_key(now=now)
    assert len(seen.texts) == 2


def test_a_rotation_is_followed_at_once(active: SigningKey, now: datetime) -> None:
    active_issuer_key(now=now)
    staged = rotation.stage(now=now)
    assert active_issuer_key(now=now).kid == str(active)
    rotation.activate(staged.pk, now=now + timedelta(hours=2))
    assert active_issuer_key(now=now + timedelta(hours=2)).kid == str(staged)


def test_a_renewed_certificate_is_followed_at_once(active: SigningKey, now: datetime, settings: Any) -> None:
    before = active_issuer_key(now=now)
    settings.BASE_URL = "http://localhost:9999"
    rotation.rotate(now=now + timedelta(seconds=1))
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
    rotation.withdraw(active.pk, reason="compromised", now=now)
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
