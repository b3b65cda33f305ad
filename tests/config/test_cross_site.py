"""Requests that pages of other sites make a browser send change nothing: what is refused, where, and how.

`tests/test_cross_site_in_browsers.py` lets real browsers attack.
"""

import re
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.middleware.csrf import CsrfViewMiddleware
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from config.cross_site import is_from_own_page
from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties.models.relying_parties import OPENID_CONNECT
from tests.people import NORA
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import action_in
from wallet.models import HolderSession, StatusEntry, Wallet

OWN = "https://wallet.example"
SITES = ["same-site", "cross-site", "none", "", "Same-Origin", "same-origin ", "same-origin,cross-site", "?1"]
ORIGINS = [
    "null",
    "",
    "https://evil.example",
    "https://www.wallet.example",
    "https://wallet.example.evil.example",
    "http://wallet.example",
    "https://wallet.example:8443",
    "https://wallet.example/",
    "https://Wallet.example",
    "https://wallet.example https://evil.example",
]


# --- The rule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [None, OWN, "null", "https://evil.example"])
def test_a_browser_that_says_same_origin_is_believed_whatever_the_origin_is(origin: str | None) -> None:
    """With `Referrer-Policy: no-referrer` browsers write `Origin: null`, also for a page's own site."""
    assert is_from_own_page("same-origin", origin, own_origin=OWN)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("origin", [None, OWN])
def test_a_browser_that_says_anything_else_is_refused_even_with_our_origin(
    site: str, origin: str | None
) -> None:
    assert not is_from_own_page(site, origin, own_origin=OWN)


def test_without_fetch_metadata_exactly_our_origin_passes() -> None:
    assert is_from_own_page(None, OWN, own_origin=OWN)


@pytest.mark.parametrize("origin", [None, *ORIGINS])
def test_without_fetch_metadata_every_other_origin_is_refused(origin: str | None) -> None:
    assert not is_from_own_page(None, origin, own_origin=OWN)


@given(st.none() | st.text(), st.none() | st.text())
def test_nothing_but_the_two_exact_values_passes(site: str | None, origin: str | None) -> None:
    passes = is_from_own_page(site, origin, own_origin=OWN)
    assert passes == (site == "same-origin" or (site is None and origin == OWN))


# --- Where it holds -----------------------------------------------------------------------------------------


def addresses(resolver: URLResolver, ahead: str = "/") -> Iterator[str]:
    """Every URL of the service, with values for its parameters."""
    for entry in resolver.url_patterns:
        route = ahead + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, route)
        elif isinstance(entry, URLPattern):
            plain = re.sub(r"\(\?P<\w+>\.\*\)\$$", "x", route)  # the last of the admin, a regular expression
            yield re.sub(r"<(?:([a-z]+):)?[a-z_]+>", lambda part: SOMETHING[part[1] or "str"], plain)


SOMETHING = {"uuid": str(uuid.UUID(int=1)), "int": "1", "str": "x", "slug": "x", "path": "x"}
ADDRESSES = sorted(set(addresses(get_resolver())))
SENT = [("POST", {}), ("POST", {"sec-fetch-site": "cross-site"}), ("DELETE", {}), ("MADE-UP", {})]
# Without a check although they accept a post: what they do needs no cookie, or changes nothing.
OPEN = {
    "authorize",  # OpenID Connect Core 1.0 §3.1.2.1; a post does no more than lead to the same GET
    # Machines of identity providers, whose signature or secret the provider’s module verifies.
    *("wallet_identity_callback", "wallet.identity.views.messages.callback"),
    *("push", "verify", "outcome", "token", "userinfo"),  # relying parties, with a secret or a token
    *("playground_answers", "playground_read", "sandbox_holder"),  # machines, in the sandbox only
}


def answers_to_others(address: str) -> set[int]:
    """The statuses of the answers to what other sites send."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    return {client.generic(method, address, headers=headers).status_code for method, headers in SENT}


@pytest.mark.slow
def test_every_address_refuses_what_another_site_sends_unless_it_is_only_read_or_open(
    db: None, settings: Any
) -> None:
    """A new view that accepts a form has the check, or fails here until it is listed above."""
    settings.METRICS_TOKEN = "m" * 40  # without it there is no such page
    codes = {address: answers_to_others(address) for address in ADDRESSES}
    exempt = {address for address in ADDRESSES if getattr(resolve(address).func, "csrf_exempt", False)}
    open_to_all = {address for address in exempt if resolve(address).view_name in OPEN}
    checked = set(ADDRESSES) - exempt

    assert {address: codes[address] for address in checked if codes[address] != {403}} == {}
    only_read = exempt - open_to_all
    assert {address: codes[address] for address in only_read if codes[address] != {405}} == {}
    assert {resolve(address).view_name for address in open_to_all} == OPEN
    assert len([address for address in checked if address.startswith("/admin/")]) > 80
    assert len([address for address in checked if address.startswith("/wallet/")]) > 30


def test_the_admin_has_djangos_check_and_no_other(db: None) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"Sec-Fetch-Site": "same-origin"})
    strict.force_login(User.objects.create_superuser("root"))
    address, form = reverse("admin:auth_group_add"), {"name": "Auditors"}

    assert strict.post(address, form).status_code == 403
    for name in (
        "second_factor",
        "passkey_options",
    ):  # which have no check of their own, as Django's pages do
        unsigned = strict.post(reverse(f"admin:{name}"))
        assert unsigned.status_code == 403
        assert "Please try that again" in unsigned.content.decode()

    page = strict.get(address).content.decode()
    token = re.findall('name="csrfmiddlewaretoken" value="([^"]+)"', page)[0]
    signed = form | {"csrfmiddlewaretoken": token}
    assert strict.post(address, signed).status_code == 302
    refused = strict.post(address, signed, headers={"origin": "https://evil.example"})
    assert refused.status_code == 403
    assert "Please try that again" in refused.content.decode()
    assert 'href="/admin/"' in refused.content.decode()


def test_only_pages_of_the_admin_have_a_token(holder: Client) -> None:
    pages = ("/", "/wallet/", "/wallet/security/", "/wallet/close/", "/playground/", "/wallet/sign-in/")
    for page in pages:
        response = holder.get(page, follow=True)
        assert "csrfmiddlewaretoken" not in response.content.decode(), page
        assert django_settings.CSRF_COOKIE_NAME not in holder.cookies, page

    admin = holder.get("/admin/login/")

    assert "csrfmiddlewaretoken" in admin.content.decode()
    assert django_settings.CSRF_COOKIE_NAME in admin.cookies


def test_a_wrong_token_is_no_matter_of_holders(client: Client, db: None) -> None:
    client.cookies[django_settings.CSRF_COOKIE_NAME] = "of an operator, in the same browser"
    response = client.post(reverse("wallet_front_door"), {"email": NORA, "csrfmiddlewaretoken": "x"})
    assert response.status_code == 303


def test_django_does_its_check_itself() -> None:
    from config.cross_site import CrossSiteCheck

    check = CrossSiteCheck(lambda request: None)  # type: ignore[arg-type,return-value]
    assert type(check.admin) is CsrfViewMiddleware


# --- What is refused, and what not --------------------------------------------------------------------------


@pytest.fixture
def interaction_url(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any, signing_key: Any
) -> str:
    """Alice is asked for consent; returns the address to which her form is submitted."""
    sign_in(alice)
    return action_in(client.get(PATH, asked(acme_bank)).content.decode())


def another(client: Client, **headers: str) -> Client:
    """The same browser, which says only this of its requests."""
    plain = Client(enforce_csrf_checks=True, headers=headers)
    plain.cookies = client.cookies
    return plain


def everything_about_the_request() -> list[Any]:
    """All rows that a form of the page could change."""
    rows = (Interaction.objects, Consent.objects, HolderSession.objects, StatusEntry.objects)
    return [list(each.order_by("pk").values()) for each in rows]


BASE = django_settings.BASE_URL
FOREIGN: list[dict[str, str]] = [
    {},
    {"origin": "null"},
    {"origin": "https://evil.example"},
    {"origin": f"{BASE}1"},
    {"referer": f"{BASE}/consent/"},
    {"host": "localhost", "origin": "http://localhost"},  # another port of this host
    *({"sec-fetch-site": site, "origin": BASE} for site in SITES),
    *({"sec-fetch-site": site} for site in SITES),
]


@pytest.mark.parametrize("state", ["open", "answered", "expired", "another browser", "signed out"])
@pytest.mark.usefixtures("signing_key")
def test_what_another_site_sends_does_nothing_in_any_state_of_a_request(
    client: Client, interaction_url: str, state: str
) -> None:
    match state:
        case "answered":
            client.post(interaction_url, {"decision": "share"})
        case "expired":
            past = timezone.now() - timedelta(days=1)
            Interaction.objects.update(expires_at=past)
            Consent.objects.update(expires_at=past)
        case "another browser":
            del client.cookies["browser"]
        case "signed out":
            HolderSession.objects.all().delete()
    before = everything_about_the_request()

    for headers in FOREIGN:
        for choice in ("share", "decline", "code", "not_me", "more_time", "unknown"):
            refused = another(client, **headers).post(interaction_url, {"decision": choice})
            assert refused.status_code == 403, (headers, choice)

    assert everything_about_the_request() == before


@pytest.mark.parametrize("headers", [{"origin": BASE}, {"sec-fetch-site": "same-origin", "origin": "null"}])
def test_a_form_of_our_page_is_answered(
    client: Client, interaction_url: str, headers: dict[str, str]
) -> None:
    """The first is a browser from before Fetch Metadata."""
    answer = another(client, **headers).post(interaction_url, {"decision": "share"})
    assert "#vp_token=" in answer.headers["Location"]


def test_our_origin_is_that_of_the_settings_and_not_what_a_client_says(
    client: Client, interaction_url: str
) -> None:
    browser = another(client, host="127.0.0.1", origin="http://127.0.0.1")
    assert browser.post(interaction_url, {"decision": "share"}).status_code == 403
    browser = another(client, host="127.0.0.1", origin=BASE)
    assert "#vp_token=" in browser.post(interaction_url, {"decision": "share"}).headers["Location"]


def test_nobody_is_signed_in_by_a_form_of_another_site(client: Client, db: None) -> None:
    """Otherwise a person would give what they type to whoever signed them in."""
    stranger = another(client, **{"sec-fetch-site": "cross-site", "origin": "https://evil.example"})
    for name in ("wallet_front_door", "wallet_passkey_front_door", "wallet_passkey_options"):
        assert stranger.post(reverse(name), {"email": NORA, "passkey": "{}"}).status_code == 403
    assert not HolderSession.objects.exists()


@pytest.mark.parametrize("method", ["get", "head", "options", "trace"])
def test_links_of_other_sites_lead_here(client: Client, db: None, method: str) -> None:
    for site in ("cross-site", "same-site", "none"):
        response = getattr(client, method)("/", headers={"sec-fetch-site": site})
        assert response.status_code in (200, 405)


def test_a_posted_authorization_request_of_another_site_leads_to_the_same_request_by_get(
    client: Client, acme_bank: RelyingParty
) -> None:
    RelyingParty.objects.update(wire_format=OPENID_CONNECT)
    query = f"client_id={acme_bank.client_id}&nonce=n"
    response = another(client, **{"sec-fetch-site": "cross-site", "origin": "https://bank.example"}).post(
        PATH, query, content_type="application/x-www-form-urlencoded"
    )
    assert (response.status_code, response.headers["Location"]) == (303, f"{PATH}?{query}")
    assert not Interaction.objects.exists()


@pytest.mark.parametrize("name", ["token", "push", "verify"])
def test_programs_say_nothing_of_pages_and_are_answered_as_programs(db: None, name: str) -> None:
    response = Client(enforce_csrf_checks=True).post(reverse(name), {"client_id": "unknown"})
    assert response.status_code in (400, 401, 415)
    assert response.headers["Content-Type"] == "application/json"
    assert "error" in response.json()


# --- How it is said -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "words"), [("en-gb", "we accept a form only if"), ("es", "solo aceptamos un formulario si")]
)
def test_the_page_says_why_nothing_was_done_and_leads_back(db: None, language: str, words: str) -> None:
    front_door = reverse("wallet_front_door")
    browser = Client(enforce_csrf_checks=True, headers={"referer": f"http://testserver{front_door}"})
    browser.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language

    response = browser.post(front_door, {"email": NORA})

    page = response.content.decode()
    assert response.status_code == 403
    assert words in page
    assert f'href="http://testserver{front_door}"' in page
    assert response.wsgi_request.reference in page  # type: ignore[attr-defined]
    assert "no-store" in response.headers["Cache-Control"]
    assert NORA not in page


@pytest.mark.parametrize("referer", ["https://evil.example/", "javascript:alert(1)", ""])
def test_the_page_leads_to_no_other_site(db: None, referer: str) -> None:
    browser = Client(enforce_csrf_checks=True, headers={"referer": referer} if referer else {})
    page = browser.post(reverse("wallet_sign_out")).content.decode()
    assert '<a class="button" href="/">Load the page again</a>' in page


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, "Sec-Fetch-Site"),
        ({"origin": "https://evil.example"}, "Origin"),
        ({}, "neither Sec-Fetch-Site nor Origin"),
    ],
)
def test_the_log_says_which_header_was_missing_or_wrong_and_repeats_none(
    db: None, logged: list[dict[str, Any]], headers: dict[str, str], why: str
) -> None:
    Client(enforce_csrf_checks=True, headers=headers).post(reverse("wallet_sign_out"))
    (line,) = [each for each in logged if each["event"] == "cross_site_request_refused"]
    assert line["why"] == why
    assert "evil" not in str(logged)
