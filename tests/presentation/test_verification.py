"""The verification endpoint over HTTP: who may call it, and what the answer contains."""

import json
import logging
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from keys import issuer_key, key_set
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from presentation import verification
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import access_tokens
from presentation.transaction_data import entries
from tests.forgery import HONEST, PAYMENT, SESSION, TAMPERINGS, new_key, sign_jwt
from tests.presentation import payloads
from tests.presentation.clients import access_token, registered
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.deciding import ask, decide
from tests.presentation.verifying import NONCE, PERSONAL, VERIFY, answered, failed, verify
from tests.relying_party import read_jwt
from wallet.credential import examination
from wallet.models import Credential, StatusEntry, Wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(signing_key: SigningKey) -> RelyingParty:
    return registered()


@pytest.fixture
def presented(client: Client, bank: RelyingParty, alice: Wallet, sign_in: Any) -> dict[str, str]:
    """The answer after Alice has agreed to the bank's request."""
    sign_in(alice)
    home = client.get(decide(client, ask(client, bank, nonce=NONCE))).headers["Location"]
    return dict(parse_qsl(urlsplit(home).fragment))


def test_a_presentation_is_verified_with_every_check_and_what_it_discloses(
    bank: RelyingParty, presented: dict[str, str], settings: Any
) -> None:
    answer = answered(verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE}))

    assert answer["valid"] is True
    assert {check["result"] for check in answer["checks"]} == {"passed"}
    assert answer["claims"] == {
        "given_name": "Alice",
        "family_name": "Archer",
        "age_equal_or_over": {"18": True},
    }
    assert answer["status"] == "valid"
    issued = read_jwt(presented["vp_token"].split("~")[0]).payload
    assert answer["credential"] == {
        "iss": settings.BASE_URL,
        "vct": f"{settings.BASE_URL}/credential-types/identity/v1",
        "iat": issued["iat"],
        "exp": issued["exp"],
    }


def test_a_presentation_to_another_application_is_not_valid_for_this_one(
    presented: dict[str, str],
) -> None:
    shop = registered("Corner Shop")
    assert failed(verify(shop, {"vp_token": presented["vp_token"], "nonce": NONCE})) == "kb-aud"


def test_another_nonce_is_not_valid(bank: RelyingParty, presented: dict[str, str]) -> None:
    assert failed(verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE[::-1]})) == "kb-nonce"


@pytest.mark.parametrize("as_text", [True, False])
def test_the_wire_format_of_openid4vp_is_accepted_as_text_and_as_object(
    holder: Client, bank: RelyingParty, as_text: bool
) -> None:
    RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
    home = holder.get(decide(holder, ask(holder, bank, nonce=NONCE))).headers["Location"]
    vp_token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    assert vp_token.startswith("{")

    body = {"vp_token": vp_token if as_text else json.loads(vp_token), "nonce": NONCE}
    assert answered(verify(bank, body))["valid"] is True


def test_one_presentation_under_several_queries_is_one(bank: RelyingParty, presented: dict[str, str]) -> None:
    one = presented["vp_token"]
    good = {"vp_token": {"a": [one], "b": [one]}, "nonce": NONCE}
    assert answered(verify(bank, good))["valid"] is True
    for other in (
        {"a": [one], "b": ["x"]},
        {"a": ["x"], "b": [one]},
        {"a": [one, one]},
        {"a": []},
        {"a": one},
        {"a": [1]},
        {"a": {}},
    ):
        assert failed(verify(bank, {"vp_token": other, "nonce": NONCE})) == "structure"
        assert failed(verify(bank, {"vp_token": json.dumps(other), "nonce": NONCE})) == "structure"


def test_several_presentations_are_valid_together_each_with_its_own_claims_and_transaction_data(
    holder: Client, bank: RelyingParty
) -> None:
    RelyingParty.objects.update(
        wire_format=RelyingParty.WireFormat.OPENID4VP_1_0, allowed_claims=["given_name", "birth_date"]
    )
    two = with_query(query(path("given_name"), id="c"), query(path("birth_date"), id="e"))
    data = [payloads.value(payloads.SESSION, credential_ids=ids) for ids in (["e", "c"], ["c"])]
    page = ask(holder, bank, nonce=NONCE, transaction_data=" ".join(data), **two)
    home = holder.get(decide(holder, page)).headers["Location"]
    vp_token = json.loads(dict(parse_qsl(urlsplit(home).fragment))["vp_token"])
    good = {"vp_token": vp_token, "nonce": NONCE, "transaction_data": data}

    told = answered(verify(bank, good))

    assert told.keys() == {"valid", "checks", "presentations"}
    assert told["valid"] is True
    assert {id: one["claims"].keys() for id, one in told["presentations"].items()} == {
        "c": {"given_name"},
        "e": {"birth_date"},
    }
    without_one = {"vp_token": {"c": vp_token["c"]}}
    assert failed(verify(bank, good | without_one)) == "transaction-data", "the first value names c as well"
    assert answered(verify(bank, good | without_one | {"transaction_data": data[1:]}))["valid"] is True
    for wrong in (data[:1], data[1:], [*data, PAYMENT], [*data, "e30"], ["bnVsbA"], []):
        assert failed(verify(bank, good | {"transaction_data": wrong})) == "transaction-data"
    swapped = {"vp_token": {"c": vp_token["e"], "e": vp_token["c"]}}
    assert failed(verify(bank, good | swapped)) == "transaction-data"
    StatusEntry.objects.filter(pk=StatusEntry.objects.latest("pk").pk).update(status=1)
    assert failed(verify(bank, good)) == "status"


def test_transaction_data_must_be_what_was_signed(holder: Client, bank: RelyingParty) -> None:
    value = payloads.value(payloads.SESSION)
    page = ask(holder, bank, nonce=NONCE, transaction_data=value)
    home = holder.get(decide(holder, page)).headers["Location"]
    good = {"vp_token": dict(parse_qsl(urlsplit(home).fragment))["vp_token"], "nonce": NONCE}

    for same in ([value], value, json.dumps([value])):
        assert answered(verify(bank, good | {"transaction_data": same}))["valid"] is True
    for other in (None, [], [value, value], [PAYMENT], f"{value} {SESSION}"):
        assert failed(verify(bank, good | {"transaction_data": other})) == "transaction-data"


# --- Credentials that were valid before ------------------------------------------------------------------


def status_of(bank: RelyingParty, presented: dict[str, str]) -> Any:
    response = verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE})
    assert failed(response) == "status"
    return response.json()["status"]


def test_a_revoked_credential_is_invalid(bank: RelyingParty, presented: dict[str, str]) -> None:
    StatusEntry.objects.update(status=StatusEntry.Status.INVALID)
    assert status_of(bank, presented) == "invalid"


def test_a_suspended_credential_is_suspended(bank: RelyingParty, presented: dict[str, str]) -> None:
    Credential.objects.update(state=Credential.State.SUSPENDED)
    assert status_of(bank, presented) == "suspended"


def test_a_suspended_wallet_suspends_what_it_presented(bank: RelyingParty, presented: dict[str, str]) -> None:
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    assert status_of(bank, presented) == "suspended"


def test_a_credential_without_a_status_entry_is_unknown(
    bank: RelyingParty, presented: dict[str, str]
) -> None:
    StatusEntry.objects.all().delete()
    assert status_of(bank, presented) == "unknown"


def test_a_token_signed_by_a_withdrawn_key_is_refused(
    bank: RelyingParty, presented: dict[str, str], signing_key: SigningKey
) -> None:
    before = access_token(bank)
    now = timezone.now()
    transitions.withdraw(signing_key.pk, reason="stolen", now=now, actor="test")
    due_steps.rotate(now=now)
    for room in (issuer_key, key_set):
        room.forget()

    body = {"vp_token": presented["vp_token"], "nonce": NONCE}
    assert failed(verify(bank, body)) == "kid"
    assert verify(bank, body, token=before).status_code == 401  # it signed the access token as well


def test_an_expired_presentation_is_not_valid(
    bank: RelyingParty, presented: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = timezone.now() + timedelta(days=2)
    monkeypatch.setattr("presentation.endpoints.timezone", SimpleNamespace(now=lambda: later))
    assert failed(verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE})) == "exp"
    soon = timezone.now() + timedelta(minutes=6)
    monkeypatch.setattr("presentation.endpoints.timezone", SimpleNamespace(now=lambda: soon))
    assert failed(verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE})) == "kb-iat"


@pytest.mark.parametrize(
    "name",
    [name for name, each in TAMPERINGS.items() if each.send is not HONEST["as asked"].send],
)
def test_a_presentation_changed_on_the_way_is_not_valid(
    bank: RelyingParty, presented: dict[str, str], name: str
) -> None:
    tampering = TAMPERINGS[name]
    changed = tampering.send(presented["vp_token"])
    check = failed(verify(bank, {"vp_token": changed, "nonce": NONCE}))
    assert check in tampering.failing


@pytest.mark.parametrize(
    "status",
    [
        None,
        "valid",
        {},
        {"status_list": "valid"},
        {"status_list": {}},
        {"status_list": {"idx": True}},
        {"status_list": {"idx": -1}},
        {"status_list": {"idx": "1"}},
        {"status_list": {"idx": 2**80}},
        {"status_list": {"uri": None}},
        {"status_list": {"uri": "https://evil.example/status-lists/{}"}},
        {"status_list": {"uri": "x" * 10_000 + "/1"}},
        {"status_list": {"uri": f"{settings.BASE_URL}/status-lists/" + "9" * 5000}},
        {"status_list": {"uri": f"{settings.BASE_URL}/status-lists/²"}},
        {"status_list": {"uri": f"{settings.BASE_URL}/status-lists/0{{}}"}},
        {"status_list": {"uri": f"{settings.BASE_URL}/status-lists/"}},
    ],
)
def test_a_status_that_is_none_of_ours_is_unknown(
    presented: dict[str, str], settings: Any, status: Any
) -> None:
    entry = StatusEntry.objects.get()
    ours = f"{settings.BASE_URL}/status-lists/{entry.status_list_id}"
    good = {"status_list": {"idx": entry.idx, "uri": ours}}
    assert examination._entry(good) == entry
    place = status.get("status_list") if isinstance(status, dict) else None
    if isinstance(place, dict) and place:
        named = {name: _of_list(value, entry.status_list_id) for name, value in place.items()}
        status = {"status_list": good["status_list"] | named}
    assert examination._entry(status) is None


def _of_list(value: Any, list_id: int) -> Any:
    """The reference with the number of the list filled in."""
    return value.replace("{}", str(list_id)) if isinstance(value, str) else value


# --- Access tokens ----------------------------------------------------------------------------------------


def told(response: Any, status: int, error: str, challenge: str) -> None:
    assert (response.status_code, response.json()["error"]) == (status, error)
    assert response.headers["WWW-Authenticate"].startswith(challenge)
    assert response.headers["Cache-Control"] == "no-store"
    assert "checks" not in response.json()


def test_without_an_access_token_nothing_is_verified() -> None:
    for headers in ({}, {"Authorization": "Basic eDp5"}, {"Authorization": ""}):
        response = Client().post(VERIFY, data="{}", content_type="application/json", headers=headers)
        told(response, 401, "invalid_token", 'Bearer realm="presentation"')
        assert "error=" not in response.headers["WWW-Authenticate"]


def test_an_access_token_in_the_body_or_address_is_none(bank: RelyingParty) -> None:
    token = access_token(bank)
    for address in (VERIFY, f"{VERIFY}?access_token={token}"):
        response = Client().post(
            address, data=f'{{"access_token": "{token}"}}', content_type="application/json"
        )
        assert response.status_code == 401


def changed(token: str, key: Any = None, **members: Any) -> str:
    """Our token with other members, signed by a foreign key."""
    jwt = read_jwt(token)
    return sign_jwt(jwt.header | members.pop("header", {}), jwt.payload | members, key or new_key())


def test_an_access_token_that_is_not_ours_or_has_ended_is_refused(
    bank: RelyingParty, presented: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = access_token(bank)
    wrong = [
        "x",
        "a.b.c",
        good[:-4],
        good + "x" * access_tokens.LONGEST,
        changed(good),
        changed(good, header={"kid": "none"}),
        changed(good, header={"alg": "none"}),
        presented["vp_token"].split("~")[0],  # signed by the same key, but no access token
        presented["vp_token"].split("~")[-1],
    ]
    for token in wrong:
        told(verify(bank, {}, token=token), 401, "invalid_token", 'Bearer realm="presentation", error=')
    later = timezone.now() + access_tokens.LIFETIME
    monkeypatch.setattr(
        "presentation.relying_parties.authentication.bearer.timezone", SimpleNamespace(now=lambda: later)
    )
    told(verify(bank, {}, token=good), 401, "invalid_token", 'Bearer realm="presentation", error=')


def test_an_access_token_for_something_else_is_not_enough(bank: RelyingParty) -> None:
    token = access_token(bank, "presentation:push", "presentation:read")
    challenge = 'Bearer realm="presentation", error="insufficient_scope", scope="presentation:verify"'
    told(verify(bank, {}, token=token), 403, "insufficient_scope", challenge)


def test_an_access_token_ends_with_its_party_and_not_after(bank: RelyingParty) -> None:
    token = access_token(bank)
    assert verify(bank, {}, token=token).status_code == 400  # it reaches the check of the body
    RelyingParty.objects.update(state=RelyingParty.State.SUSPENDED, suspension_reason="Complaints")
    told(verify(bank, {}, token=token), 401, "invalid_token", 'Bearer realm="presentation", error=')
    RelyingParty.objects.update(state=RelyingParty.State.ACTIVE, suspension_reason="")
    assert verify(bank, {}, token=token).status_code == 400
    RelyingParty.objects.all().delete()
    told(verify(bank, {}, token=token), 401, "invalid_token", 'Bearer realm="presentation", error=')


def test_what_is_no_longer_granted_no_access_token_allows(bank: RelyingParty) -> None:
    token = access_token(bank)
    for left in (["presentation:push"], []):
        RelyingParty.objects.update(grants=left)
        challenge = 'Bearer realm="presentation", error="insufficient_scope", scope="presentation:verify"'
        told(verify(bank, {}, token=token), 403, "insufficient_scope", challenge)


def test_what_is_granted_later_an_access_token_of_before_does_not_allow(bank: RelyingParty) -> None:
    token = access_token(bank, "presentation:push")
    assert verify(bank, {}, token=token).status_code == 403


# --- Invalid requests -------------------------------------------------------------------------------------

WRONG_BODIES: list[Any] = [
    b"",
    b"\xff",
    b"[]",
    b"1",
    b'{"vp_token": "x", "vp_token": "y", "nonce": "n"}',
    b"{" * 100_000,
    {},
    {"vp_token": "x"},
    {"nonce": NONCE},
    {"vp_token": "", "nonce": NONCE},
    {"vp_token": {}, "nonce": NONCE},
    {"vp_token": ["x"], "nonce": NONCE},
    {"vp_token": 7, "nonce": NONCE},
    {"vp_token": "x", "nonce": ""},
    {"vp_token": "x", "nonce": 7},
    {"vp_token": "x", "nonce": "n" * 513},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": 7},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": [7]},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": "[7"},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": {"a": "b"}},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": ["x"] * (entries.MOST_VALUES + 1)},
    {"vp_token": "x", "nonce": NONCE, "transaction_data": ["x" * entries.LONGEST_IN_ALL, "x"]},
]


@pytest.mark.parametrize("body", WRONG_BODIES)
def test_a_body_that_is_no_request_is_refused(bank: RelyingParty, body: Any) -> None:
    response = verify(bank, body)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")
    assert "checks" not in response.json()


def test_a_body_that_is_too_long_or_of_another_kind_is_refused(bank: RelyingParty) -> None:
    assert verify(bank, b" " * (verification.LONGEST + 1)).status_code == 413
    headers = {"Authorization": f"Bearer {access_token(bank)}"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert Client().post(VERIFY, data=b"{}", content_type=kind, headers=headers).status_code == 400


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_it_takes_posts_only(bank: RelyingParty, method: str) -> None:
    headers = {"Authorization": f"Bearer {access_token(bank)}"}
    response = getattr(Client(), method)(VERIFY, headers=headers)
    assert (response.status_code, response.json()["error"]) == (405, "invalid_request")


def test_it_costs_three_statements(bank: RelyingParty, presented: dict[str, str], statements: Any) -> None:
    body = {"vp_token": presented["vp_token"], "nonce": NONCE}
    token = access_token(bank)
    answered(verify(bank, body, token=token))
    with statements() as asked:
        answered(verify(bank, body, token=token))
    assert len(asked.texts) == 3, asked.texts  # the client, the limit, the status


def test_neither_presentation_nor_claims_are_logged(
    bank: RelyingParty,
    presented: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    capsys.readouterr()
    answered(verify(bank, {"vp_token": presented["vp_token"], "nonce": NONCE}))
    written = capsys.readouterr().err
    assert "presentation/verify" in written
    for private in (*PERSONAL, presented["vp_token"][-40:], NONCE):
        assert private not in written


def test_findings_are_not_in_any_repr(bank: RelyingParty, presented: dict[str, str]) -> None:
    findings = examination.examine(
        presented["vp_token"], audience=bank.client_id, nonce=NONCE, transaction_data=[], now=timezone.now()
    )
    assert findings.valid
    assert "Alice" not in repr(findings) + str(findings)
