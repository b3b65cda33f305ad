"""Tokens that our own key signed and that are still no valid access tokens."""

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from keys.issuer_key import active_issuer_key
from keys.models import SigningKey
from presentation.machine_errors import InvalidTokenError
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.authentication.access_tokens import LIFETIME
from presentation.relying_parties.authentication.signed_jwt import LEEWAY
from tests.keys.compact_jws import sign_compact
from tests.relying_party import read_jwt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
EVIL = "https://evil.example"


@pytest.fixture
def now() -> datetime:
    return timezone.now().replace(microsecond=0)


def signed(now: datetime, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token with other members, signed by our key; members that are None are left out."""
    good = read_jwt(access_tokens.issue("acme-bank", ["presentation:verify"], now=now)["access_token"])
    without_none = lambda said: {name: value for name, value in said.items() if value is not None}  # noqa: E731
    return sign_compact(
        without_none(good.header | (header or {})),
        without_none(good.payload | claims),
        active_issuer_key(now=now).signer,
    )


def test_a_token_says_who_may_do_what_until_it_ends(now: datetime) -> None:
    token = signed(now)
    allowed = ("acme-bank", frozenset({"presentation:verify"}))
    assert access_tokens.verify(token, now=now) == allowed
    assert access_tokens.verify(token, now=now + LIFETIME - timedelta(seconds=1)) == allowed
    with pytest.raises(InvalidTokenError, match="expired"):
        access_tokens.verify(token, now=now + LIFETIME)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"typ": None}, "typ is not"),
        ({"typ": "JWT"}, "typ is not"),
        ({"typ": "dc+sd-jwt"}, "typ is not"),
        ({"typ": "statuslist+jwt"}, "typ is not"),
        ({"typ": "text/at+jwt"}, "typ is not"),
        ({"crit": ["x"], "x": 1}, "extension"),
        ({"kid": None}, "unknown key"),
        ({"kid": str(uuid.uuid4())}, "unknown key"),
        ({"kid": ["x"]}, "unknown key"),
    ],
)
def test_a_token_of_another_kind_or_key_is_refused(
    now: datetime, header: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidTokenError, match=reason):
        access_tokens.verify(signed(now, header), now=now)


@pytest.mark.parametrize("name", ["iss", "aud"])
@pytest.mark.parametrize("value", [None, EVIL, "", 7, "ours and more", ["ours"], ["ours", EVIL]])
def test_a_token_of_another_issuer_or_audience_is_refused(
    now: datetime, settings: Any, name: str, value: Any
) -> None:
    if value == "ours and more":
        value = f"{settings.BASE_URL}/"
    elif isinstance(value, list):
        value = [settings.BASE_URL if each == "ours" else each for each in value]
    with pytest.raises(InvalidTokenError, match="another issuer or audience"):
        access_tokens.verify(signed(now, **{name: value}), now=now)


@pytest.mark.parametrize(
    ("ahead", "reason"),
    [
        ({"exp": 0}, "expired"),
        ({"exp": -1}, "expired"),
        ({"exp": None}, "expired"),
        ({"nbf": LEEWAY.seconds + 1}, "not valid yet"),
        ({"iat": LEEWAY.seconds + 1}, "not valid yet"),
        ({"exp": "soon"}, "exp that is a time"),
        ({"exp": True}, "exp that is a time"),
        ({"nbf": "soon"}, "nbf that is a time"),
    ],
)
def test_a_token_of_another_time_is_refused(now: datetime, ahead: dict[str, Any], reason: str) -> None:
    moment = int(now.timestamp())
    claims = {name: moment + value if type(value) is int else value for name, value in ahead.items()}
    with pytest.raises(InvalidTokenError, match=reason):
        access_tokens.verify(signed(now, **claims), now=now)


def test_clocks_of_two_instances_may_differ_a_little(now: datetime) -> None:
    ahead = int((now + LEEWAY).timestamp())
    assert access_tokens.verify(signed(now, iat=ahead, nbf=ahead), now=now)


def test_a_token_ends_with_the_certificate_of_its_key(signing_key: SigningKey) -> None:
    end = active_issuer_key(now=timezone.now()).not_after
    token = access_tokens.issue("acme-bank", ["presentation:verify"], now=end - timedelta(minutes=3))

    assert token["expires_in"] == 180
    assert read_jwt(token["access_token"]).payload["exp"] == end.timestamp()
    assert access_tokens.verify(token["access_token"], now=end - timedelta(seconds=1))
    with pytest.raises(InvalidTokenError, match="expired"):
        access_tokens.verify(token["access_token"], now=end)
