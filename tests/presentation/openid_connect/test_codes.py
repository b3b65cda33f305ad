"""Codes: single use for a minute, and what is left of them."""

import json
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from consent.models import Consent
from infra.limits import Limit
from infra.personal_data import Person
from infra.retention import for_people
from keys.issuer_key import NoSigningKeyError
from presentation import outcomes, personal_data, share_emails
from presentation.entrances import exchanging
from presentation.models import Interaction
from presentation.requests.models import AuthorizationCode
from presentation.requests.wire_formats import codes
from tests.people import ALICE, enroll
from tests.presentation.clients import TOKEN, basic
from tests.presentation.openid_connect.shop import CALLBACK, Shop, challenge, share, user_info
from tests.presentation.requests.authorization_requests import PATH
from tests.receiver import listening
from wallet.models import Wallet
from wallet.sign_in import sessions

pytestmark = pytest.mark.usefixtures("signing_key")


@pytest.fixture
def code(holder: Client, shop: Shop) -> str:
    return shop.code(holder)


def error(response: Any, status: int = 400) -> str:
    assert response.status_code == status, response.content
    assert "no-store" in response.headers["Cache-Control"]
    return str(response.json()["error"])


def later(**shift: int) -> None:
    """Lets so much time pass for every code."""
    for row in AuthorizationCode.objects.all():
        row.expires_at -= timedelta(**shift)
        row.save()


# --- Exchanging -------------------------------------------------------------------------------------------


def test_a_code_works_once_and_the_second_time_ends_user_info(shop: Shop, code: str) -> None:
    tokens = shop.redeems(Client(), code).json()
    assert user_info(Client(), tokens["access_token"]).status_code == 200

    assert error(shop.redeems(Client(), code)) == "invalid_grant"
    assert error(user_info(Client(), tokens["access_token"]), 401) == "invalid_token"
    row = AuthorizationCode.objects.get()
    assert (bytes(row.sealed_answer), row.access_digest) == (b"", None)


def test_a_code_of_more_than_a_minute_ago_is_refused(shop: Shop, code: str) -> None:
    later(seconds=60)
    assert error(shop.redeems(Client(), code)) == "invalid_grant"
    later(seconds=-60)
    assert shop.redeems(Client(), code).status_code == 200


def test_an_access_token_lives_for_five_minutes(shop: Shop, code: str) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    later(seconds=299)
    assert user_info(Client(), token).status_code == 200
    later(seconds=1)
    assert error(user_info(Client(), token), 401) == "invalid_token"


@pytest.mark.parametrize(
    "wrong",
    [
        {"redirect_uri": CALLBACK + "?lang=en"},
        {"redirect_uri": None},
        {"code_verifier": "x" * 43},
        {"code_verifier": None},
    ],
)
def test_a_wrong_address_or_verifier_does_not_use_the_code_up(shop: Shop, code: str, wrong: Any) -> None:
    assert error(shop.redeems(Client(), code, **wrong)) == "invalid_grant"
    assert shop.redeems(Client(), code).status_code == 200


def test_the_challenge_is_no_verifier(shop: Shop, code: str) -> None:
    assert error(shop.redeems(Client(), code, code_verifier=challenge(shop.verifiers[-1]))) == "invalid_grant"


def test_another_client_neither_gets_the_answer_nor_ends_it(shop: Shop, code: str) -> None:
    other = Shop.registered("Other Shop")
    other.verifiers = shop.verifiers
    assert error(other.redeems(Client(), code)) == "invalid_grant"
    tokens = shop.redeems(Client(), code).json()
    assert error(other.redeems(Client(), code)) == "invalid_grant"
    assert user_info(Client(), tokens["access_token"]).status_code == 200


def test_a_client_has_to_prove_who_it_is(shop: Shop, code: str) -> None:
    shop.secret, secret = "wrong", shop.secret
    assert error(shop.redeems(Client(), code), 401) == "invalid_client"
    shop.secret = secret
    assert shop.redeems(Client(), code).status_code == 200


def test_a_client_of_another_format_may_not_exchange_codes(holder: Client) -> None:
    shop = Shop.registered("Other Shop", wire_format="string")
    shop.verifiers = ["x"]
    assert error(shop.redeems(holder, "some-code")) == "unauthorized_client"


@pytest.mark.usefixtures("windows_just_begun")
@pytest.mark.parametrize("limit", ["PER_CLIENT_ADDRESS", "PER_RELYING_PARTY"])
def test_who_exchanges_too_often_has_to_wait_and_the_code_stays(
    shop: Shop, code: str, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(exchanging, limit, Limit("few", most=1, window=timedelta(minutes=1)))
    assert error(shop.redeems(Client(), "another")) == "invalid_grant"

    response = shop.redeems(Client(), code)

    assert error(response, 429) == "temporarily_unavailable"
    assert 0 < int(response.headers["Retry-After"]) <= 61
    monkeypatch.undo()
    assert shop.redeems(Client(), code).status_code == 200


def test_a_request_without_a_code_says_so(shop: Shop, code: str) -> None:
    assert error(shop.redeems(Client(), None)) == "invalid_request"
    assert error(shop.redeems(Client(), "unknown")) == "invalid_grant"


def test_a_suspended_client_gets_nothing(shop: Shop, code: str) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    shop.party.state, shop.party.suspension_reason = "suspended", "complaints"
    shop.party.save()
    assert error(user_info(Client(), token), 401) == "invalid_token"
    assert error(shop.redeems(Client(), code), 401) == "invalid_client"


def test_without_a_signing_key_the_code_stays(shop: Shop, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: Any) -> Any:
        raise NoSigningKeyError

    with monkeypatch.context() as patched:
        patched.setattr(codes, "active_issuer_key", none)
        response = shop.redeems(Client(), code)
        assert error(response, 503) == "temporarily_unavailable"
        assert response.headers["Retry-After"]
    assert shop.redeems(Client(), code).status_code == 200


@pytest.mark.parametrize("token", ["", "unknown", "Bearer", "a b"])
def test_user_info_challenges_those_without_a_token_that_works(db: None, token: str) -> None:
    for response in (user_info(Client(), token), Client().get("/openid-connect/userinfo")):
        assert error(response, 401) == "invalid_token"
        assert response.headers["WWW-Authenticate"].startswith("Bearer realm=")


@pytest.mark.parametrize("own", [True, False])
def test_a_second_token_is_an_invalid_request(shop: Shop, code: str, own: bool) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    second = token if own else "another"
    header = {"Authorization": f"Bearer {token}"}
    path, form = "/openid-connect/userinfo", "application/x-www-form-urlencoded"
    for response in (
        Client().post(path, f"access_token={second}", content_type=form, headers=header),
        Client().post(path, f"access_token={token}&access_token={second}", content_type=form),
        Client().get(f"{path}?access_token={second}", headers=header),
        Client().get(f"{path}?schema=openid&%61ccess_token={second}", headers=header),
        Client().post(f"{path}?access_token={second}", f"access_token={token}", content_type=form),
    ):
        assert error(response, 400) == "invalid_request"
    assert Client().get(f"{path}?schema=openid", headers=header).status_code == 200
    # In the address alone it is none.
    assert error(Client().get(f"{path}?access_token={token}"), 401) == "invalid_token"
    # Beside the credentials of a client it is not looked for in the body.
    mixed = basic(shop.party.client_id, shop.secret)
    response = Client().post(path, f"access_token={token}", content_type=form, headers=mixed)
    assert error(response, 401) == "invalid_token"


def test_an_access_token_of_a_machine_is_none_for_user_info(shop: Shop, code: str) -> None:
    shop.party.grants = ["presentation:verify"]
    shop.party.save()
    form = "grant_type=client_credentials"
    headers = basic(shop.party.client_id, shop.secret)
    content_type = "application/x-www-form-urlencoded"
    token = Client().post(TOKEN, form, content_type=content_type, headers=headers).json()["access_token"]
    assert error(user_info(Client(), token), 401) == "invalid_token"
    own = shop.redeems(Client(), code).json()["access_token"]
    verify = "/verifiable-credentials/v1/presentation/verify"
    response = Client().post(verify, "{}", "application/json", headers={"Authorization": f"Bearer {own}"})
    assert error(response, 401) == "invalid_token"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_parallel_exchanges_one_gets_the_tokens(client: Client, signing_key: Any) -> None:
    code = _signed_in_with(client, shop := Shop.registered()).code(client)
    statuses: list[int] = []
    begin = threading.Barrier(8)

    def exchange() -> None:
        try:
            begin.wait()
            statuses.append(shop.redeems(Client(), code).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=exchange) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [200] + [400] * 7
    assert AuthorizationCode.objects.get().used_at is not None


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_parallel_answers_one_gets_a_code(client: Client, signing_key: Any) -> None:
    client.get(PATH, _signed_in_with(client, Shop.registered()).asks())
    found: list[bool] = []
    begin = threading.Barrier(6)
    cookies = client.cookies

    def answer() -> None:
        browser = Client()
        browser.cookies = cookies
        try:
            begin.wait()
            found.append("code=" in share(browser).headers.get("Location", ""))
        finally:
            connection.close()

    threads = [threading.Thread(target=answer) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found.count(True) == 1
    assert AuthorizationCode.objects.count() == 1


def _signed_in_with(client: Client, shop: Shop) -> Shop:
    """The shop; a holder is signed in to the client."""
    wallet = enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=date(1990, 4, 1))
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, wallet, now=timezone.now())
    client.cookies[settings.HOLDER_COOKIE_NAME] = response.cookies[settings.HOLDER_COOKIE_NAME].value
    return shop


# --- What is left -----------------------------------------------------------------------------------------


def test_the_code_and_the_access_token_are_stored_as_digests_and_the_answer_is_sealed(
    shop: Shop, code: str
) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    row = AuthorizationCode.objects.get()
    columns = b"|".join(str(getattr(row, field.attname)).encode() for field in row._meta.concrete_fields)
    for secret in (code, token, "Alice"):
        assert secret.encode() not in columns + bytes(row.sealed_answer)


def test_the_receipt_says_whether_the_code_was_exchanged(holder: Client, shop: Shop) -> None:
    states = ["You said yes, not collected yet", "You said yes, but nothing was shared", ">Shared<"]

    def state() -> str:
        page = holder.get("/wallet/history/").content.decode()
        (said,) = [each for each in states if each in page]
        return said

    code = shop.code(holder)
    assert state() == states[0]
    shop.redeems(Client(), code, code_verifier="x" * 43)
    assert state() == states[0]
    shop.redeems(Client(), code)
    assert state() == states[2]
    shop.redeems(Client(), code)  # a replay ends UserInfo, and takes back nothing
    assert Consent.objects.get().undelivered_at is None
    Consent.objects.update(undelivered_at=timezone.now())
    assert state() == states[1]


def test_expired_codes_are_cleared_and_the_receipts_stay_as_they_are(holder: Client, shop: Shop) -> None:
    shop.redeems(Client(), shop.code(holder))
    shop.code(holder)
    later(minutes=6)
    call_command("clear_expired", verbosity=0)

    assert not AuthorizationCode.objects.exists()
    assert [bool(each.undelivered_at) for each in Consent.objects.order_by("asked_at")] == [False, True]


def test_the_email_about_an_answer_waits_until_its_code_is_exchanged(
    client: Client, shop: Shop, alice: Wallet, sign_in: Any
) -> None:
    Wallet.objects.update(share_emails=True)
    alice.refresh_from_db()
    sign_in(alice)
    code = shop.code(client)
    assert share_emails.send_due(now=timezone.now()) == 0
    shop.redeems(Client(), code)
    assert share_emails.send_due(now=timezone.now()) == 1


@pytest.mark.parametrize("exchanged", [False, True])
def test_closing_the_wallet_ends_the_code_and_user_info(
    shop: Shop, code: str, alice: Wallet, exchanged: bool
) -> None:
    now = timezone.now()
    token = shop.redeems(Client(), code).json()["access_token"] if exchanged else ""
    personal_data.erase_requests(Person(alice.pk, ALICE, now), now=now, batch=10)

    assert error(user_info(Client(), token), 401) == "invalid_token"
    assert error(shop.redeems(Client(), code)) == "invalid_grant"
    assert bytes(AuthorizationCode.objects.get().sealed_answer) == b""
    assert bool(Consent.objects.get().undelivered_at) is not exchanged


def test_an_answer_whose_sealing_key_is_lost_is_none(shop: Shop, code: str) -> None:
    AuthorizationCode.objects.update(sealed_answer=b"\x01" + b"x" * 40)
    assert error(shop.redeems(Client(), code)) == "invalid_grant"


def test_what_is_kept_is_told_to_holders(client: Client, db: None) -> None:
    assert any("collects it" in str(each.what) for each in for_people())


def test_the_outcome_is_asked_for_by_the_nonce_of_the_key_binding(holder: Client, shop: Shop) -> None:
    tokens = shop.tokens(holder, nonce=None)
    told = outcomes.outcome_of(tokens["vp_nonce"], client_id=shop.party.client_id, now=timezone.now())
    assert (told["state"], told["status"]) == ("completed", "valid")
    assert Interaction.objects.get().outcome == "token"


# --- Scripts of other sites -------------------------------------------------------------------------------


@pytest.fixture
def other_site(page: Any) -> Iterator[Any]:
    """A page of another origin: what a server that only takes forms answers."""
    with listening() as elsewhere:
        page.goto(elsewhere.uri)
        yield page


FETCH = """async ([address, token, method]) => {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    const response = await fetch(address, { method, headers });
    return [response.status, response.headers.get("www-authenticate"), await response.text()];
  } catch { return "not allowed"; }
}"""


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_script_of_another_site_reads_user_info_with_a_token(
    other_site: Any, service: Any, shop: Shop, code: str, method: str
) -> None:
    token = shop.redeems(Client(), code).json()["access_token"]
    address = f"{service.url}/openid-connect/userinfo"

    status, _challenge, told = other_site.evaluate(FETCH, [address, token, method])
    assert (status, json.loads(told)) == (200, user_info(Client(), token).json())
    status, challenge, told = other_site.evaluate(FETCH, [address, "wrong", method])
    assert (status, json.loads(told)["error"]) == (401, "invalid_token")
    assert 'error="invalid_token"' in challenge


def test_a_script_of_another_site_reads_public_documents_also_with_a_token(
    other_site: Any, service: Any
) -> None:
    for path in ("/.well-known/openid-configuration", "/openid-connect/jwks"):
        status, _challenge, document = other_site.evaluate(FETCH, [service.url + path, "any", "GET"])
        assert (status, json.loads(document)) == (200, Client().get(path).json())


@pytest.mark.parametrize(
    "path", [f"{PATH}", f"{PATH[:-9]}verify", f"{PATH[:-9]}outcome", f"{PATH[:-9]}par", "/oauth/v2/token"]
)
def test_no_other_endpoint_answers_a_script_of_another_site(other_site: Any, service: Any, path: str) -> None:
    for method, token in (("GET", ""), ("POST", ""), ("GET", "any"), ("POST", "any")):
        assert other_site.evaluate(FETCH, [service.url + path, token, method]) == "not allowed"
