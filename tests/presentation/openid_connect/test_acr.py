"""An `acr` that `claims` demands (OpenID Connect Core 1.0 §5.5.1.1): only a passkey has one."""

from typing import Any

import pytest
from django.test import Client

from presentation.models import AuthorizationCode, Interaction
from presentation.requests.interactions import path_of
from tests.presentation.openid_connect.shop import Shop, answer_of, share
from tests.presentation.requests.authorization_requests import PATH
from wallet.models import HolderSession, LoginCode, RedirectTask, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
BY_PASSKEY = {"id_token": {"acr": {"essential": True, "values": ["urn:example:gold", "phr"]}}}
CODE_IS_NOT_ENOUGH = 'A code from an <span class="nowrap">e-mail</span> is not enough.'


def sign_in_page(response: Any) -> str:
    place: str = response.headers["Location"]
    assert place.startswith("/wallet/errands/")
    return place


@pytest.mark.parametrize(
    "how", [{"value": "phr"}, {"values": ["phr"]}, {"values": ["urn:example:gold", "phr"]}]
)
def test_the_id_token_of_a_sign_in_with_a_passkey_has_the_demanded_acr(
    holder: Client, shop: Shop, how: dict[str, Any]
) -> None:
    HolderSession.objects.update(by_passkey=True)
    claims = {"id_token": {"acr": {"essential": True, **how}}}
    assert shop.id_token(holder, claims=claims)["acr"] == "phr"


def test_who_signed_in_by_a_code_signs_in_with_a_passkey_first(holder: Client, shop: Shop) -> None:
    place = sign_in_page(holder.get(PATH, shop.asks(claims=BY_PASSKEY)))
    page = holder.get(place).content.decode()
    assert CODE_IS_NOT_ENOUGH in page
    assert "Send me a code" not in page

    HolderSession.objects.update(by_passkey=True)
    question = path_of(Interaction.objects.get())
    assert holder.get(place).headers["Location"] == question
    assert holder.get(question).headers["Location"].startswith("/consent/")
    assert answer_of(share(holder))["code"]


@pytest.mark.parametrize("login_hint", [None, "alice@example.org"])
def test_no_code_can_be_had_or_entered_for_it(
    client: Client, shop: Shop, alice: Wallet, mailoutbox: list[Any], login_hint: str | None
) -> None:
    place = sign_in_page(client.get(PATH, shop.asks(claims=BY_PASSKEY, login_hint=login_hint)))
    for fields in ({}, {"email": alice.email}, {"link": "1"}):
        assert CODE_IS_NOT_ENOUGH in client.post(place, fields).content.decode()
    redirect_task = RedirectTask.objects.get()
    code_page = f"/wallet/errands/{redirect_task.id}/code/"
    assert client.get(code_page).headers["Location"] == place
    assert client.post(code_page, {"code": "123456"}).headers["Location"] == place
    assert not mailoutbox
    assert not LoginCode.objects.exists()


def test_a_code_of_another_sign_in_does_not_answer_a_question_that_needs_a_passkey(
    holder: Client, shop: Shop
) -> None:
    """The passkey is needed until the yes."""
    HolderSession.objects.update(by_passkey=True)
    holder.get(PATH, shop.asks(claims=BY_PASSKEY))
    HolderSession.objects.update(by_passkey=False)
    share(holder)
    assert not AuthorizationCode.objects.exists()


def test_who_leaves_is_denied_as_anybody_so_nobody_learns_who_has_no_passkey(
    holder: Client, shop: Shop
) -> None:
    sign_in_page(holder.get(PATH, shop.asks(claims=BY_PASSKEY)))
    leave = RedirectTask.objects.get().leave_to
    assert answer_of(holder.get(leave))["error"] == "access_denied"


@pytest.mark.parametrize("how", [{"values": ["phrh"]}, {"value": "urn:example:gold"}, {"values": [1, True]}])
def test_an_acr_that_no_sign_in_has_is_refused_before_anybody_signs_in(
    client: Client, shop: Shop, how: dict[str, Any]
) -> None:
    claims = {"id_token": {"acr": {"essential": True, **how}}}
    error = answer_of(client.get(PATH, shop.asks(claims=claims)))
    assert error["error"] == "unmet_authentication_requirements"
    assert "phr" in error["error_description"]
    assert error["state"]
    assert not RedirectTask.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"acr_values": "phr urn:example:gold"},
        {"claims": {"id_token": {"acr": {"values": ["urn:example:gold"]}}}},
        {"claims": {"id_token": {"acr": {"essential": False, "value": "urn:example:gold"}}}},
        {"claims": {"id_token": {"acr": {"essential": True}}}},
        {"claims": {"id_token": {"acr": {"essential": True, "values": []}}}},
        {"claims": {"id_token": {"acr": None}}},
        {"claims": {"userinfo": {"acr": {"essential": True, "value": "urn:example:gold"}}}},
    ],
)
def test_an_acr_that_is_only_wished_for_changes_nothing(
    holder: Client, shop: Shop, changes: dict[str, Any]
) -> None:
    """Core §5.5.1.1 is about an essential `acr` of the ID token with values; `acr_values` is voluntary."""
    assert "acr" not in shop.id_token(holder, **changes)


def test_a_malformed_demand_is_refused(client: Client, shop: Shop) -> None:
    for how in (["phr"], "phr", {"essential": True, "values": "phr"}, {"values": [{}]}):
        error = answer_of(client.get(PATH, shop.asks(claims={"id_token": {"acr": how}})))
        assert error["error"] == "invalid_request"
