"""Invalid client assertions, one row each, and that each assertion is used once (RFC 7523 §3).

Names with `fapi2-security-profile-final-…` are modules of the OpenID Foundation's conformance suite.
"""

import base64
import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from presentation.machine_errors import InvalidClientError
from presentation.models import RelyingParty, UsedAssertion
from presentation.relying_parties.authentication.assertion import (
    LEEWAY,
    LIFETIME,
    verify,
)
from tests.forgery import Key, new_key, public_jwk, sign_jwt
from tests.presentation.clients import FORM, TOKEN, ask, assertion, by_assertion, with_key
from tests.wallet.conftest import together

pytestmark = pytest.mark.django_db
PAR = "/verifiable-credentials/v1/presentation/par"
LATE, EARLY = int(LIFETIME.total_seconds()), int(LEEWAY.total_seconds())
Make = Callable[[str, Key, str], str]


def claims(**changes: Any) -> Make:
    """An assertion with other claims; claims that are None are left out."""
    return lambda client_id, key, issuer: assertion(client_id, key, issuer=issuer, **changes)


def from_now(**seconds: int) -> Make:
    """An assertion with other times, in seconds from now."""
    return lambda client_id, key, issuer: assertion(
        client_id, key, issuer=issuer, **{name: int(time.time()) + value for name, value in seconds.items()}
    )


def header(**changes: Any) -> Make:
    return lambda client_id, key, issuer: assertion(client_id, key, issuer=issuer, header=changes)


def audience(value: Callable[[str], Any]) -> Make:
    return lambda client_id, key, issuer: assertion(client_id, key, issuer=issuer, aud=value(issuer))


def by_another_key(client_id: str, _key: Key, issuer: str) -> str:
    return assertion(client_id, new_key(), issuer=issuer)


def with_its_own_key(client_id: str, _key: Key, issuer: str) -> str:
    stranger = new_key()
    return assertion(client_id, stranger, issuer=issuer, header={"jwk": public_jwk(stranger)})


def changed_afterwards(client_id: str, key: Key, issuer: str) -> str:
    head, _payload, signature = assertion(client_id, key, issuer=issuer).split(".")
    payload = {"iss": client_id, "sub": client_id, "aud": issuer, "jti": "x", "exp": int(time.time()) + 200}
    return f"{head}.{_segment(payload)}.{signature}"


def unsigned(client_id: str, key: Key, issuer: str) -> str:
    head, payload, _signature = assertion(client_id, key, issuer=issuer, header={"alg": "none"}).split(".")
    return f"{head}.{payload}."


def in_hs256(client_id: str, key: Key, issuer: str) -> str:
    return assertion(client_id, key, issuer=issuer, header={"alg": "HS256"})


def _segment(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


WRONG: dict[str, Make] = {
    "ensure-client-assertion-with-no-sub-fails": claims(sub=None),
    "ensure-client-assertion-with-wrong-aud-fails": claims(aud="https://other.example"),
    "ensure-client-assertion-with-exp-is-5-minutes-in-past-fails": from_now(exp=-300),
    "par-test-array-as-audience-fails": audience(lambda issuer: [issuer]),
    "par-test-token-endpoint-url-as-audience-fails": audience(lambda issuer: issuer + TOKEN),
    "the PAR endpoint as audience": audience(lambda issuer: issuer + PAR),
    "an audience of several": audience(lambda issuer: [issuer, issuer + TOKEN]),
    "an audience with a slash at the end": audience(lambda issuer: issuer + "/"),
    "no audience": claims(aud=None),
    "an audience that is an object": claims(aud={"a": "b"}),
    "no issuer": claims(iss=None),
    "another issuer": claims(iss="somebody"),
    "a subject that nobody knows": claims(sub="somebody", iss="somebody"),
    "a subject that is a number": claims(sub=7),
    "an empty subject": claims(sub=""),
    "no end": claims(exp=None),
    "an end that is a text": claims(exp=str(2**40)),
    "an end that is true": claims(exp=True),
    "an end far away": from_now(exp=LATE + EARLY + 60),
    "an end beyond all numbers": claims(exp=10**400),
    "made in the future": from_now(iat=EARLY + 60),
    "made at no time": claims(iat="now"),
    "not valid yet (nbf 60 s ahead and more)": from_now(nbf=EARLY + 60),
    "valid from a list": claims(nbf=[1]),
    "no jti": claims(jti=None),
    "an empty jti": claims(jti=""),
    "a jti that is a number": claims(jti=7),
    "a jti without end": claims(jti="x" * 257),
    "signed by another key": by_another_key,
    "signed by a key that it brings": with_its_own_key,
    "changed after signing": changed_afterwards,
    "not signed (alg none)": unsigned,
    "an alg of secrets": in_hs256,
    "alg ES384": header(alg="ES384"),
    "an unknown kid": header(kid="two"),
    "a kid that is a number": header(kid=1),
    "a request object": header(typ="oauth-authz-req+jwt"),
    "an access token": header(typ="at+jwt"),
    "a credential": header(typ="dc+sd-jwt"),
    "a key binding": header(typ="kb+jwt"),
    "a key binding, typed in full": header(typ="application/kb+jwt"),
    "a type of another tree": header(typ="text/jwt"),
    "a header that asks for an extension": header(crit=["b64"], b64=False),
    "no JWT": lambda *_: "assertion",
    "four parts": lambda *parts: assertion(parts[0], parts[1], issuer=parts[2]) + ".x",
    "an array": lambda *_: f"{_segment({'alg': 'ES256'})}.{_segment([1])}.AA",
    "no JSON": lambda *_: "e30.e3.AA",
    "too long": claims(padding="x" * 8192),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_assertion_proves_nothing(client: Client, settings: Any, signing_key: Any, name: str) -> None:
    party, key = with_key()
    response = ask(client, by_assertion(WRONG[name](party.client_id, key, settings.BASE_URL)))

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert "access_token" not in response.json()
    assert not UsedAssertion.objects.exists()


RIGHT: dict[str, Make] = {
    "as it should be": claims(),
    "with nothing that is not needed": claims(iat=None),
    "nbf 8 seconds ahead": from_now(nbf=8),
    "typed as 7523bis has it": header(typ="client-authentication+jwt"),
    "typed in full": header(typ="application/client-authentication+jwt"),
    "typed in lower case": header(typ="jwt"),
    "typed in full and in capitals": header(typ="APPLICATION/JWT"),
    "not typed": header(typ=None),
    "for as long as it may": from_now(exp=LATE),
    "more claims than needed": claims(extra={"a": 1}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_assertion_gives_a_token(client: Client, settings: Any, signing_key: Any, name: str) -> None:
    party, key = with_key()
    response = ask(client, by_assertion(RIGHT[name](party.client_id, key, settings.BASE_URL)))

    assert response.status_code == 200, response.content


def test_another_client_id_beside_it_is_refused(client: Client, settings: Any) -> None:
    party, key = with_key()
    proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))
    response = ask(client, proof | {"client_id": "other"})

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


def test_an_assertion_signed_with_another_clients_key_is_refused(client: Client, settings: Any) -> None:
    party, _key = with_key()
    _other, other_key = with_key("Corner Shop")
    proof = assertion(party.client_id, other_key, issuer=settings.BASE_URL)

    assert ask(client, by_assertion(proof)).status_code == 401


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (lambda issuer: issuer + TOKEN, True),
        (lambda issuer: [issuer, issuer + TOKEN], True),
        (lambda issuer: ["https://other.example", issuer + TOKEN], True),
        (lambda issuer: issuer + PAR, True),
        (lambda issuer: [issuer + TOKEN, issuer + PAR], True),
        (lambda issuer: issuer + "/verifiable-credentials/v1/presentation/verify", False),
        (lambda issuer: issuer, True),
        (lambda issuer: "https://other.example", False),
        (lambda issuer: ["https://other.example", 7, None], False),
        (lambda issuer: [issuer, 7], False),
        (lambda issuer: ["https://other.example", issuer], True),
        (lambda issuer: [], False),
    ],
)
def test_older_clients_name_an_endpoint_only_where_that_is_allowed(
    client: Client, settings: Any, signing_key: Any, value: Any, taken: bool
) -> None:
    party, key = with_key()
    RelyingParty.objects.update(may_name_endpoint=True)
    audience = value(settings.BASE_URL)
    proofs = [
        by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL, aud=audience)) for _ in "12"
    ]

    assert ask(client, proofs[0]).status_code == (200 if taken else 401)
    # A client that is known there learns what is wrong with its request.
    pushed = client.post(PAR, data=urlencode(proofs[1]), content_type=FORM)
    assert pushed.status_code == (400 if taken else 401)


def test_a_jti_is_the_clients_own(client: Client, settings: Any, signing_key: Any) -> None:
    for name in ("Acme Bank", "Corner Shop"):
        party, key = with_key(name)
        proof = assertion(party.client_id, key, issuer=settings.BASE_URL, jti="1")
        assert ask(client, by_assertion(proof)).status_code == 200


def test_a_jti_is_remembered_until_it_could_not_be_used_and_then_forgotten(
    client: Client, settings: Any, signing_key: Any
) -> None:
    party, key = with_key()
    ask(client, by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL)))
    call_command("clear_expired", verbosity=0)
    assert UsedAssertion.objects.count() == 1
    ends = UsedAssertion.objects.get().expires_at
    assert UsedAssertion.objects.filter(expires_at=ends).exists(), "stored as Django stores times"
    left = ends - timezone.now()
    assert timedelta(seconds=60) < left <= timedelta(seconds=60) + LEEWAY

    UsedAssertion.objects.update(expires_at=timezone.now())
    call_command("clear_expired", verbosity=0)
    assert not UsedAssertion.objects.exists()


def test_what_is_kept_of_an_assertion_says_neither_who_nor_what(client: Client, settings: Any) -> None:
    party, key = with_key()
    ask(client, by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL, jti="telling")))

    kept = str(UsedAssertion.objects.values().get())
    assert "telling" not in kept
    assert party.client_id not in kept


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_assertion_sent_many_times_at_once_gives_one_token(settings: Any, signing_key: Any) -> None:
    party, key = with_key()
    proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))

    statuses = [response.status_code for response in together(lambda _: ask(Client(), proof), 8)]

    assert sorted(statuses) == [200] + [401] * 7


# --- Arbitrary input --------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


KEY = new_key()


@given(
    members=st.dictionaries(
        st.sampled_from(["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]), _JSON, max_size=7
    )
)
def test_any_signed_claims_are_refused_and_nothing_else_happens(members: dict[str, Any]) -> None:
    text = sign_jwt({"alg": "ES256", "kid": "one"}, members, KEY)
    find = lambda kid: {"one": KEY.public_key()}  # noqa: E731
    with pytest.raises(InvalidClientError):
        verify(text, client_id="never", find_keys=find, audiences=["https://a.example"], now=timezone.now())
