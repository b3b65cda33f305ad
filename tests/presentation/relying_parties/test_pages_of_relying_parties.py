"""Pages about a relying party in the admin: preview, checklist, figures, and how to try it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from presentation.admin.relying_parties import onboarding
from presentation.admin.relying_parties.preview import harmless
from presentation.admin.relying_parties.relying_party import RelyingPartyAdmin
from presentation.models import Interaction, RedirectURI, RelyingParty, Scope
from presentation.relying_parties.authentication import client_secrets
from presentation.transaction_data.types import TYPES
from presentation.webhooks import signing_secrets
from tests.presentation.past_requests import requests_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLAYGROUND = "/playground/callback/"


def operator(group: str = "Relying parties") -> Client:
    user = User.objects.create(username=f"of {group}", is_staff=True)
    user.groups.set(Group.objects.filter(name=group))
    client = Client()
    client.force_login(user)
    return client


def page_of(party: RelyingParty, page: str) -> str:
    return f"/admin/presentation/relyingparty/{party.pk}/{page}"


def text_at(party: RelyingParty, page: str) -> str:
    return operator().get(page_of(party, page)).content.decode()


# --- The form ---------------------------------------------------------------------------------------------


def test_the_redirect_uris_come_before_everything_else(acme_bank: RelyingParty) -> None:
    text = text_at(acme_bank, "change/")
    places = [text.index(name) for name in ('id="redirect_uris-group"', 'name="name"', 'id="response_uris-')]
    assert places == sorted(places)
    assert text.count('id="redirect_uris-group"') == 1
    User.objects.all().delete()
    assert (
        'id="redirect_uris-group"' in operator().get("/admin/presentation/relyingparty/add/").content.decode()
    )


# --- The preview ------------------------------------------------------------------------------------------


def test_the_preview_submits_and_runs_nothing(acme_bank: RelyingParty) -> None:
    response = operator().get(page_of(acme_bank, "preview/"))
    text, policy = response.content.decode(), response.headers["Content-Security-Policy"]
    assert "form-action 'none'" in policy
    assert "script-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "<form" in text
    assert not re.search(r"<form[^>]*(action|method)", text)
    assert "<script" not in text
    assert "csrfmiddlewaretoken" not in text
    buttons = re.findall(r"<button[^>]*>", text)
    assert buttons
    assert all('type="button"' in button for button in buttons)


@pytest.mark.parametrize(
    "html",
    [
        "<FORM METHOD=post ACTION='/x'><BUTTON TYPE='submit' name=a>",
        '<form\nmethod="post"\naction="/x"><button type=submit>',
        '<form class="a" action=/x data-x="1"><button class="b">',
        '<script src="/a.js" defer></script><SCRIPT>alert(1)</SCRIPT><form target="_blank"><button>',
        '<form><input type="hidden" name="csrfmiddlewaretoken" value="x"><button>',
    ],
)
def test_however_the_template_writes_it_nothing_can_be_submitted(html: str) -> None:
    left = harmless(html).lower()
    for word in ("action=", "method=", "target=", "script", "submit", "hidden"):
        assert word not in left
    assert 'type="button"' in left


def test_the_preview_has_the_languages_and_scopes_of_the_relying_party(acme_bank: RelyingParty) -> None:
    urn = "urn:service:params:scope:verifiable-credentials:birthday"
    Scope.objects.create(urn=urn, title="Birthday", required_claims=["birth_date"], optional_claims=[])
    acme_bank.allowed_scopes = [*acme_bank.allowed_scopes, urn]
    acme_bank.save()
    client = operator()
    whole = client.get(page_of(acme_bank, "preview/")).content.decode()
    only = client.get(page_of(acme_bank, "preview/"), {"scope": urn}).content.decode()
    spanish = client.get(page_of(acme_bank, "preview/"), {"language": "es"}).content.decode()
    assert "1 April 1990" in whole
    assert "Archer" not in whole
    assert '<html lang="es"' in spanish
    assert ">Sam<" not in only.replace("\n", "")
    for wrong in ({"scope": "urn:nothing"}, {"language": "xx"}, {"language": "../../etc"}):
        assert client.get(page_of(acme_bank, "preview/"), wrong).status_code == 200


def test_pages_need_the_permission_to_see_relying_parties(acme_bank: RelyingParty) -> None:
    for page in ("preview/", "figures/"):
        assert operator("Audit (read only)").get(page_of(acme_bank, page)).status_code == 200
        User.objects.all().delete()
        for group in ("Keys", "Identity review", "Support"):
            assert operator(group).get(page_of(acme_bank, page)).status_code == 403
        User.objects.all().delete()
        assert Client().get(page_of(acme_bank, page)).status_code == 302
    assert operator().get("/admin/presentation/relyingparty/4711/figures/").status_code == 404


# --- What is missing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("types", [[], list(TYPES)[:2]])
def test_the_checklist_says_which_transaction_data_is_allowed(
    acme_bank: RelyingParty, types: list[str]
) -> None:
    acme_bank.allowed_transaction_data_types = types

    said = [str(point.text) for point in onboarding.points(acme_bank, now=timezone.now())]

    assert f"It may send transaction data: {', '.join(types) or 'none'}." in said


def test_the_checklist_says_what_is_missing_before_it_goes_live(acme_bank: RelyingParty) -> None:
    text = text_at(acme_bank, "change/")
    assert "3 things are missing." in text
    assert "It says why it asks" in text


def test_nothing_is_missing_once_everything_is_there(acme_bank: RelyingParty) -> None:
    now = timezone.now()
    acme_bank.purpose, acme_bank.privacy_policy_url = "to open your account", "https://bank.example/privacy"
    acme_bank.contact = "help@bank.example"
    acme_bank.save()
    assert onboarding.missing(onboarding.points(acme_bank, now=now)) == []
    acme_bank.grants, acme_bank.webhook_events = ["verify"], ["presentation.completed"]
    acme_bank.requires_signed_requests = True
    assert len(onboarding.missing(onboarding.points(acme_bank, now=now))) == 3
    client_secrets.rotate(acme_bank, now=now)
    signing_secrets.rotate(acme_bank, now=now)
    assert len(onboarding.missing(onboarding.points(acme_bank, now=now))) == 1
    acme_bank.jwks_uri = "https://bank.example/keys"
    assert onboarding.missing(onboarding.points(acme_bank, now=now)) == []
    acme_bank.state = "suspended"
    RedirectURI.objects.create(relying_party=acme_bank, uri="http://localhost:3000/callback")
    assert len(onboarding.missing(onboarding.points(acme_bank, now=now))) == 2


def test_advice_does_not_keep_it_from_going_live(acme_bank: RelyingParty) -> None:
    advice = [point for point in onboarding.points(acme_bank, now=timezone.now()) if not point.needed]
    assert len(advice) == 4
    assert not any(point.done for point in advice)
    requests_of(acme_bank, timezone.now(), token=1)
    assert any(p.done for p in onboarding.points(acme_bank, now=timezone.now()) if not p.needed)


# --- Trying it --------------------------------------------------------------------------------------------


def test_in_the_sandbox_a_link_opens_the_playground_as_this_relying_party(
    acme_bank: RelyingParty, corner_shop: RelyingParty, settings: Any
) -> None:
    RedirectURI.objects.create(relying_party=corner_shop, uri=settings.BASE_URL + PLAYGROUND)
    assert "once this redirect URI is registered" in text_at(acme_bank, "change/")
    RedirectURI.objects.create(relying_party=acme_bank, uri=settings.BASE_URL + PLAYGROUND)
    User.objects.all().delete()
    found = re.search(r'href="(/playground/\?[^"]+)"', text_at(acme_bank, "change/"))
    assert found
    playground = Client().get(found[1].replace("&amp;", "&")).content.decode()
    assert re.search(rf'value="{acme_bank.client_id}"[^>]* checked', playground)


def test_in_production_the_page_says_why_there_is_no_playground(
    acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.urls import NoReverseMatch
    from django.urls import reverse as real

    def reverse(name: str, **kwargs: Any) -> str:
        if name.startswith("playground"):
            raise NoReverseMatch
        return real(name, **kwargs)

    monkeypatch.setattr("presentation.admin.relying_parties.relying_party.reverse", reverse)
    text = RelyingPartyAdmin(RelyingParty, admin.site).try_it(acme_bank)
    assert "identities of real people" in text
    assert "<a" not in text


# --- Figures ----------------------------------------------------------------------------------------------


def test_the_figures_of_a_period_stand_on_the_page(
    acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    now = timezone.now()
    requests_of(acme_bank, now, token=5, declined=3, failed=2, left=1)
    requests_of(corner_shop, now, token=40)
    text = re.sub(r"<[^>]+>", " ", operator().get(page_of(acme_bank, "figures/")).content.decode())
    assert "All 11 5 3 2 1" in " ".join(text.split())


@pytest.mark.parametrize(
    ("asked", "days"), [("7", 7), ("90", 90), ("400", 400), ("-1", 30), ("x" * 5000, 30)]
)
def test_only_known_periods_are_counted(acme_bank: RelyingParty, asked: str, days: int) -> None:
    found = operator().get(page_of(acme_bank, "figures/"), {"days": asked}).content.decode()
    assert f"<strong>{days} days</strong>" in found


def test_the_pages_cost_few_statements_however_many_requests_there_are(
    acme_bank: RelyingParty, statements: Any
) -> None:
    client = operator()
    start = datetime.now(UTC) - timedelta(hours=3)
    for page in ("figures/", "preview/"):
        client.get(page_of(acme_bank, page))
        with statements() as few:
            client.get(page_of(acme_bank, page))
        requests_of(acme_bank, start, token=30, failed=5)
        start += timedelta(minutes=10)
        with statements() as many:
            client.get(page_of(acme_bank, page))
        assert len(many.texts) == len(few.texts) <= 12, page
    assert Interaction.objects.count() == 70
