"""What operators see of OpenID Connect: the form, what is missing, and how requests ended."""

import re
from typing import Any

from django.forms import modelform_factory
from django.test import Client
from django.utils import timezone

from presentation.admin.relying_parties import onboarding
from presentation.models import RelyingParty
from presentation.relying_parties import recognition
from presentation.relying_parties.forms import RelyingPartyForm
from tests.people import ALICE, register
from tests.presentation.openid_connect.shop import CALLBACK, Shop

OperatorForm = modelform_factory(RelyingParty, form=RelyingPartyForm, fields=["wire_format"])
ADD = "/admin/presentation/relyingparty/add/"


def address_of(party: RelyingParty) -> str:
    return f"/admin/presentation/relyingparty/{party.pk}/change/"


def test_an_operator_registers_a_client_of_openid_connect(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    scope = "urn:service:params:scope:verifiable-credentials:basic"
    typed = {
        **{name: value for name, value in hidden.items() if not name.startswith("csrf")},
        "name": "Shop",
        "wire_format": "openid",
        "number": "same",
        "allowed_scopes": [scope],
        "redirect_uris-0-uri": CALLBACK,
    }
    assert admin_client.post(ADD, typed).status_code == 302
    party = RelyingParty.objects.get()
    assert (party.wire_format, party.may_recognise) == ("openid", True)
    assert "OpenID Connect" in admin_client.get("/admin/presentation/relyingparty/").content.decode()
    shown = admin_client.get(address_of(party)).content.decode()
    assert "response_type=code" in shown
    assert "must use PKCE (S256)" in shown


def test_a_client_of_openid_connect_needs_the_choice_of_the_number_and_others_do_not(db: None) -> None:
    def problems(**typed: Any) -> Any:
        form = OperatorForm(typed)
        return form.errors.get("number"), form.instance.may_recognise

    assert OperatorForm()["number"].value() is None
    assert problems(wire_format="openid") == ([str(recognition.NEEDED)], False)
    assert problems(wire_format="openid", number="same") == (None, True)
    assert problems(wire_format="openid", number="another") == (None, False)
    assert problems(wire_format="string") == (None, False)
    assert problems(wire_format="string", number="same") == (None, True)


def test_the_form_of_a_registered_party_shows_and_keeps_its_choice(admin_client: Client, shop: Shop) -> None:
    for recognises, shown in ((True, "same"), (False, "another")):
        RelyingParty.objects.update(may_recognise=recognises)
        page = admin_client.get(address_of(shop.party)).content.decode()
        assert re.findall(r'name="number" value="(\w+)"[^>]* checked', page) == [shown]


def test_the_checklist_repeats_what_was_chosen_for_sub(shop: Shop) -> None:
    for recognises, words in (
        (True, "Its sub is one number for each person."),
        (False, "Its sub is another number each time."),
    ):
        shop.party.may_recognise = recognises
        (told,) = [
            str(point.text)
            for point in onboarding.points(shop.party, now=timezone.now())
            if "sub" in str(point.text).split()
        ]
        assert told.startswith(words)
    shop.party.wire_format = "string"
    assert not any(
        "Its sub" in str(point.text) for point in onboarding.points(shop.party, now=timezone.now())
    )


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
