"""Statements are genuine only with the right key, type and time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra import base64url
from keys import statements
from keys.certificates import authority
from keys.issuer_key import active_issuer_key
from keys.jws import encode_segment, sign_segments
from keys.models import Authority, SigningKey, StatementKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, in_state
from keys.statements import StatementError
from tests.relying_party import read_jwt

pytestmark = pytest.mark.django_db
TYP = "test-statement+jwt"
LONGEST = 16_384
DAY = timedelta(days=1)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def keys(now: datetime) -> None:
    for kind in (SigningKey, StatementKey):
        due_steps.rotate(now=now, kind=kind)


def root() -> x509.Certificate:
    return x509.load_pem_x509_certificate(Authority.objects.get().root_pem.encode())


def signed(now: datetime, *, with_chain: bool = False, **facts: Any) -> str:
    return statements.sign(TYP, facts, now=now, with_chain=with_chain)


def read(token: str, typ: str = TYP) -> dict[str, Any]:
    return statements.read(token, typ, longest=LONGEST)


def offline(token: str, typ: str = TYP, **facts: Any) -> dict[str, Any]:
    return statements.read_offline(token, typ, **({"roots": [root()], "longest": LONGEST} | facts))


def test_a_statement_says_who_signed_it_and_when(keys: None, now: datetime, settings: Any) -> None:
    for with_chain in (False, True):
        token = signed(now, with_chain=with_chain, word="yes")
        header = read_jwt(token).header
        assert header.keys() == {"alg", "typ", "kid"} | ({"x5c"} if with_chain else set())
        expected = {"iss": settings.BASE_URL, "iat": int(now.timestamp()), "word": "yes"}
        assert read(token) == expected
    assert offline(token) == expected


def test_another_type_is_not_genuine(keys: None, now: datetime) -> None:
    for check in (read, offline):
        with pytest.raises(StatementError, match="typ"):
            check(signed(now, with_chain=True), "other-statement+jwt")


def test_what_a_key_for_credentials_signed_is_no_statement(keys: None, now: datetime, settings: Any) -> None:
    key = active_issuer_key(now=now)
    payload = encode_segment({"iss": settings.BASE_URL, "iat": int(now.timestamp())})
    with pytest.raises(StatementError, match="no published key"):
        read(sign_segments(encode_segment(key.header(TYP)), payload, key.signer))


def test_a_changed_statement_is_not_genuine(keys: None, now: datetime) -> None:
    header, payload, signature = signed(now, with_chain=True, word="yes").split(".")
    changed = base64url.encode(base64url.decode(payload).replace(b"yes", b"no!"))
    for check in (read, offline):
        with pytest.raises(StatementError, match="signature"):
            check(f"{header}.{changed}.{signature}")


def test_nothing_of_a_withdrawn_key_is_genuine(keys: None, now: datetime) -> None:
    token = signed(now)
    transitions.withdraw(in_state(State.ACTIVE, StatementKey).pk, reason="a drill", now=now)  # type: ignore[union-attr]
    with pytest.raises(StatementError, match="no published key"):
        read(token)


def test_a_chain_is_judged_at_the_time_of_the_statement(keys: None, now: datetime) -> None:
    """Years later its certificates have ended, and after its time nothing can be signed."""
    token = signed(now, with_chain=True)
    key = in_state(State.ACTIVE, StatementKey)
    assert key
    assert key.certified_chain
    ended = key.certified_chain.not_after
    header = encode_segment(read_jwt(token).header)
    late = encode_segment({"iss": "http://testserver", "iat": int(ended.timestamp()) + 1})

    StatementKey.objects.update(state=State.RETIRED, retired_at=now, sealed_private_key=b"")
    assert read(token)
    assert offline(token)

    StatementKey.objects.update(
        state=State.ACTIVE, retired_at=None, sealed_private_key=key.sealed_private_key
    )
    later = sign_segments(header, late, statements.statement_key(now=now).signer)
    for check in (read, offline):
        with pytest.raises(StatementError, match="ended on|does not lead up"):
            check(later)


def test_a_statement_from_before_its_key_was_certified_anew_stays_genuine(keys: None, now: datetime) -> None:
    token = signed(now, with_chain=True)
    key = in_state(State.ACTIVE, StatementKey)
    assert key
    later = now + 300 * DAY
    transitions.certify(key.pk, authority.certify(key.public_key, now=later), now=later)

    assert read(token)
    assert offline(token)


def test_offline_only_the_given_root_is_believed(keys: None, now: datetime) -> None:
    token = signed(now, with_chain=True)
    Authority.objects.all().delete()
    authority.authority(now=now)
    with pytest.raises(StatementError):
        offline(token)


def test_offline_the_certificates_must_be_for_the_host_that_the_statement_names(
    keys: None, now: datetime, settings: Any
) -> None:
    settings.BASE_URL = "https://somebody-else.example"
    with pytest.raises(StatementError, match="not for this issuer"):
        offline(signed(now, with_chain=True))
    assert read(signed(now))


def test_offline_a_statement_needs_its_chain(keys: None, now: datetime) -> None:
    with pytest.raises(StatementError, match="x5c"):
        offline(signed(now))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.fixed_dictionaries(
    {"alg": st.sampled_from(["ES256", "none"]), "typ": st.just(TYP)},
    optional={"kid": JSON, "x5c": JSON | st.lists(st.just("AAAA"), max_size=8), "crit": JSON},
)
PAYLOADS = st.fixed_dictionaries({}, optional={"iss": JSON, "sub": JSON, "iat": JSON})


def segment(value: Any) -> str:
    return encode_segment(value) if isinstance(value, dict) else str(value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(parts=st.tuples(HEADERS | st.text(max_size=30), PAYLOADS | st.text(max_size=30), st.text(max_size=90)))
def test_whatever_is_posted_is_refused_with_a_reason(keys: None, parts: tuple[Any, Any, str]) -> None:
    header, payload, signature = parts
    token = f"{segment(header)}.{segment(payload)}.{signature}"
    for check in (read, offline):
        with pytest.raises(StatementError):
            check(token)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(iat=JSON, issuer=JSON)
def test_even_our_own_signature_makes_no_time_or_issuer_right(keys: None, iat: Any, issuer: Any) -> None:
    key = statements.statement_key(now=timezone.now())
    token = sign_segments(
        encode_segment(key.header(TYP)), encode_segment({"iss": issuer, "iat": iat}), key.signer
    )
    with pytest.raises(StatementError):
        offline(token)


def test_a_token_longer_than_allowed_is_refused_unread(keys: None, now: datetime) -> None:
    for check in (read, offline):
        with pytest.raises(StatementError, match="longer than"):
            check(signed(now, with_chain=True, word="x" * LONGEST))


def test_times_are_whole_seconds_in_a_range_that_dates_have() -> None:
    for wrong in (None, True, 1.5, "1", -1, 2**33):
        with pytest.raises(StatementError, match="iat"):
            statements.time_of({"iat": wrong})
    assert statements.time_of({"iat": 0}) == datetime(1970, 1, 1, tzinfo=UTC)
