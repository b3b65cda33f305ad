"""What operators see of OpenID Connect: the form, what is missing, and how requests ended."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from presentation.relying_parties import onboarding
from tests.people import ALICE, register
from tests.presentation.openid_connect.shop import CALLBACK, Shop

ADD = "/admin/presentation/relyingparty/add/"
FOLDED = re.compile(r"<details[^>]*>.*?</details>", re.DOTALL)


def address_of(party: RelyingParty) -> str:
    return f"/admin/presentation/relyingparty/{party.pk}/change/"


@pytest.fixture
def shop(db: None) -> Shop:
    return Shop.registered()


def fields(html: str) -> list[str]:
    """The names of the fields, each once, without those of further rows and of hidden management."""
    names = re.findall(r'<(?:input|textarea|select)[^>]* name="([^"]+)"', html)
    hidden = ("_", "csrf", "redirect_uris-", "response_uris-", "initial-")
    return list(dict.fromkeys(name for name in names if not name.startswith(hidden)))


def test_five_fields_come_first_and_the_rest_is_folded(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    unfolded = FOLDED.sub("", page.partition('<form method="post"')[2] or page)
    assert page.index("redirect_uris-0-uri") < page.index('name="name"')
    assert [name for name in fields(unfolded) if name != "next"] == [
        *("name", "purpose", "allowed_scopes", "wire_format")
    ]
    assert {"may_recognise", "jwks", "grants", "minimum_assurance"} <= set(
        fields("".join(FOLDED.findall(page)))
    )


def test_the_format_is_one_choice_of_three_with_two_sentences_each(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    explained = re.findall(
        r'name="wire_format" value="([^"]+)"[^>]*>\s*<strong>[^<]+</strong><span class="help"> ([^<]+)<',
        page,
    )
    assert [value for value, _ in explained] == RelyingParty.WireFormat.values
    assert all(about.count(". ") == 1 and about.endswith(".") for _, about in explained)


def test_an_operator_registers_a_client_of_openid_connect(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    scope = "urn:service:params:scope:verifiable-credentials:basic"
    typed = {
        **{name: value for name, value in hidden.items() if not name.startswith("csrf")},
        "name": "Shop",
        "wire_format": "openid",
        "allowed_scopes": [scope],
        "redirect_uris-0-uri": CALLBACK,
    }
    assert admin_client.post(ADD, typed).status_code == 302
    party = RelyingParty.objects.get()
    assert party.wire_format == "openid"
    assert "OpenID Connect" in admin_client.get("/admin/presentation/relyingparty/").content.decode()
    shown = admin_client.get(address_of(party)).content.decode()
    assert "response_type=code" in shown
    assert "must use PKCE (S256)" in shown


def test_the_checklist_wants_a_secret_or_a_key(shop: Shop) -> None:
    without = register("Other", CALLBACK, wire_format="openid")
    wanted = "Its server can prove who it is: a client secret or public keys."
    for party, done in ((shop.party, True), (without, False)):
        (point,) = [one for one in onboarding.points(party, now=timezone.now()) if one.text == wanted]
        assert point.done is done


def test_the_support_view_says_whether_the_code_was_exchanged(
    admin_client: Client, holder: Client, shop: Shop, signing_key: Any
) -> None:
    code = shop.code(holder)
    looked = {"term": ALICE, "reason": "Ticket 4711"}
    assert "code not exchanged" in admin_client.post("/admin/support/", looked).content.decode()
    shop.redeems(Client(), code)
    assert "code exchanged" in admin_client.post("/admin/support/", looked).content.decode()
