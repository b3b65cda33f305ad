"""`sub`: another one each time, or the number by which a relying party may recognise people."""

import pytest
from django.test import Client

from consent.models import Consent
from presentation.models import Scope
from tests.consent.shown import claims_on
from tests.presentation.openid_connect.shop import Shop, answer_of, share, user_info
from tests.presentation.requests.authorization_requests import PATH
from tests.relying_party import disclosed_claims, read_jwt, take_apart
from wallet.models import Subject

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
    wanted = {"id_token": {"sub": {"essential": True, "value": sub[::-1]}}}
    response = holder.get(PATH, bank.asks(claims=wanted))
    assert "/interactions/" in response.headers["Location"]  # the page that says that nothing fits


def test_a_scope_with_the_number_gives_it_only_to_who_may_recognise_people(holder: Client) -> None:
    urn = "urn:example:scope:known"
    Scope(urn=urn, title="Known", required_claims=["pairwise_subject", "given_name"]).save()
    shop = Shop.registered(allowed_scopes=[urn])
    tokens = shop.tokens(holder, scope=f"openid {urn}")
    issued, shown, _, _ = take_apart(tokens["vp_token"])
    assert "pairwise_subject" not in disclosed_claims(issued, shown)
    assert read_jwt(tokens["id_token"]).payload["given_name"] == "Alice"
