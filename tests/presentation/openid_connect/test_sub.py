"""`sub`: another one each time, or the number by which a relying party may recognise people."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import RelyingParty, Scope
from tests.consent.shown import claims_on
from tests.presentation.openid_connect.shop import Shop, answer_of, share, user_info
from tests.presentation.requests.authorization_requests import PATH
from tests.relying_party import disclosed_claims, read_jwt, take_apart
from wallet.models import Subject, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
ONCE = "With the answer comes a number for this time only. Nobody can recognise you by it."
LABEL = "Number to recognise you by"
PAIRWISE = "A number that only Shop gets. Shop can recognise you next time; nobody else can."


@pytest.fixture
def bank(db: None) -> Shop:
    return Shop.registered(may_recognise=True)


def receipt(client: Client) -> str:
    newest = Consent.objects.latest("asked_at")
    return client.get(f"/wallet/history/{newest.id}/").content.decode()


def test_a_sub_for_once_is_not_in_the_presentation_and_the_pages_say_what_it_is(
    holder: Client, shop: Shop
) -> None:
    page = holder.get(PATH, shop.asks()).content.decode()
    assert ONCE in page
    assert LABEL not in page
    shop.redeems(Client(), answer_of(share(holder))["code"])
    assert ONCE in receipt(holder)
    assert not Subject.objects.exists()


def test_who_may_recognise_people_gets_the_same_sub_each_time_and_has_it_in_the_evidence(
    holder: Client, bank: Shop
) -> None:
    found = set()
    for scope in ("openid", "openid profile"):
        tokens = bank.tokens(holder, scope=scope)
        issued, shown, _, _ = take_apart(tokens["vp_token"])
        sub = read_jwt(tokens["id_token"]).payload["sub"]
        assert user_info(Client(), tokens["access_token"]).json()["sub"] == sub
        assert disclosed_claims(issued, shown)["pairwise_subject"] == sub
        found.add(sub)
    assert len(found) == 1


def test_the_page_and_the_receipt_of_a_lasting_sub_say_who_gets_it(holder: Client, bank: Shop) -> None:
    response = holder.get(PATH, bank.asks(scope="openid"))
    page = response.content.decode()
    assert [claim.label for claim in claims_on(response)] == [LABEL]
    assert PAIRWISE in page
    assert ONCE not in page
    bank.redeems(Client(), answer_of(share(holder))["code"])
    assert PAIRWISE in receipt(holder)
    assert "Forget my number" in receipt(holder)


def test_two_relying_parties_get_different_numbers_and_one_sector_the_same(
    holder: Client, bank: Shop
) -> None:
    sector = {"may_recognise": True, "sector": bank.party.client_id}
    others = [Shop.registered("Loans", **sector), Shop.registered("Other", may_recognise=True)]
    own, same, different = (each.id_token(holder, scope="openid")["sub"] for each in (bank, *others))
    assert own == same != different


def test_a_sub_can_be_demanded(holder: Client, bank: Shop) -> None:
    sub = bank.id_token(holder)["sub"]
    wanted = {"id_token": {"sub": {"essential": True, "value": sub}}}
    assert bank.id_token(holder, claims=wanted)["sub"] == sub
    assert bank.id_token(holder, claims={"id_token": {"sub": {"values": ["x", sub]}}})["sub"] == sub


@pytest.mark.parametrize("how", [{"essential": True, "value": "x"}, {"value": "x"}, {"values": ["x", 1]}])
@pytest.mark.parametrize("place", ["id_token", "userinfo"])
@pytest.mark.parametrize("recognises", [True, False])
def test_a_sub_of_somebody_else_is_refused_after_a_click(
    holder: Client, place: str, how: dict[str, object], recognises: bool
) -> None:
    """Core §3.1.2.2: no tokens for another person, also where the claim is not essential."""
    shop = Shop.registered(may_recognise=recognises)
    shop.tokens(holder)
    response = holder.get(PATH, shop.asks(claims={place: {"sub": how}}))
    page = response.headers["Location"]
    assert "doesn’t have what was asked for" in holder.get(page).content.decode()
    assert answer_of(holder.get(f"{page}leave/"))["error"] == "access_denied"


def test_a_sub_that_was_given_while_recognition_was_allowed_is_nobody_s_afterwards(
    holder: Client, bank: Shop
) -> None:
    sub = bank.id_token(holder)["sub"]
    RelyingParty.objects.update(may_recognise=False)
    response = holder.get(PATH, bank.asks(claims={"id_token": {"sub": {"value": sub}}}))
    assert "/interactions/" in response.headers["Location"]


def test_nobody_proves_who_they_are_for_the_sub_of_somebody_else(
    client: Client, bank: Shop, sign_in: Any
) -> None:
    nobody = Wallet.objects.create(email="nobody@example.org", created_at=timezone.now())
    sign_in(nobody, browser=client)
    response = client.get(PATH, bank.asks(claims={"id_token": {"sub": {"value": "x"}}}))
    assert "doesn’t have what was asked for" in client.get(response.headers["Location"]).content.decode()


def test_a_scope_with_the_number_gives_it_only_to_who_may_recognise_people(holder: Client) -> None:
    urn = "urn:example:scope:known"
    Scope(urn=urn, title="Known", required_claims=["pairwise_subject", "given_name"]).save()
    shop = Shop.registered(allowed_scopes=[urn])
    tokens = shop.tokens(holder, scope=f"openid {urn}")
    issued, shown, _, _ = take_apart(tokens["vp_token"])
    assert "pairwise_subject" not in disclosed_claims(issued, shown)
    assert read_jwt(tokens["id_token"]).payload["given_name"] == "Alice"
