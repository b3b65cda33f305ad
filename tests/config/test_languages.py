"""The language of a page: chosen by the person, the request, or the browser, and kept through the flow."""

import re
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from infra import languages
from tests.presentation.requests.authorization_requests import PATH, asked
from wallet.models import Wallet

COOKIE = settings.LANGUAGE_COOKIE_NAME
MACHINES = ("push", "token", "verify", "outcome")


def language_of(response: Any) -> str:
    """The language of a page, which its header and its first element have to agree on."""
    [written] = re.findall(r'<html lang="([^"]+)"', response.content.decode())
    assert response["Content-Language"] == written
    return str(written)


def choose(client: Client, language: str, next_page: str = "/") -> Any:
    return client.post(reverse("language"), {"language": language, "next": next_page})


# --- The browser -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en-gb"),
        ("es", "es"),
        ("es-MX,es;q=0.9,en;q=0.8", "es"),
        ("en-US,en;q=0.9,es;q=0.8", "en-gb"),
        ("de,es;q=0.5,en;q=0.4", "es"),
        ("de", "en-gb"),
        ("*", "en-gb"),
        ("es;q=0", "en-gb"),
        ("x" * 100_000, "en-gb"),
        ("es;q=a,\x00,;;,é", "en-gb"),
        ("es_MX,en;q=0.9", "es"),
        ("es-ES,es;q=0.9,foo=1,en;q=0.8", "es"),
        ("en;q=0.4,-,es;q=0.5", "es"),
        ("fr,es;q=0.5,*;q=0.9", "en-gb"),
    ],
)
def test_the_browser_says_which_language_its_person_reads(client: Client, accepted: str, language: str):
    response = client.get(reverse("wallet_signed_out"), headers={"accept-language": accepted})
    assert language_of(response) == language


@given(st.text(max_size=600))
def test_no_header_of_a_browser_breaks_a_page(accepted: str):
    request = RequestFactory().get("/", headers={"accept-language": accepted, "cookie": f"{COOKIE}=zz"})
    assert languages.of_request(request) in dict(settings.LANGUAGES)


def test_error_pages_are_in_the_language_of_the_person(client: Client):
    spanish = {"accept-language": "es"}
    assert language_of(client.get("/nothing/", headers=spanish)) == "es"
    assert language_of(client.get(PATH, headers=spanish)) == "es"
    strict = Client(enforce_csrf_checks=True)
    assert language_of(strict.post(reverse("wallet_front_door"), headers=spanish)) == "es"


def test_a_page_that_may_be_cached_says_what_it_depends_on(client: Client):
    response = client.get(PATH)  # the page about a request that cannot be trusted
    if "no-store" not in response.get("Cache-Control", ""):
        assert {"Accept-Language", "Cookie"} <= set(response["Vary"].split(", "))


@pytest.mark.parametrize("page", ["/admin/login/", "/playground/", "/sandbox/guide/", "/sandbox/mailbox/"])
def test_pages_for_operators_and_developers_stay_english_and_have_no_switch(
    client: Client, db: None, page: str
):
    client.cookies[COOKIE] = "es"
    response = client.get(page, headers={"accept-language": "es"})
    assert response.status_code == 200
    assert '<html lang="en-gb"' in response.content.decode()
    assert 'name="language"' not in response.content.decode()


@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_answered_in_english(client: Client, db: None, name: str):
    client.cookies[COOKIE] = "es"
    english = Client().post(reverse(name), headers={"accept-language": "en"})
    spanish = client.post(reverse(name), headers={"accept-language": "es"})
    assert english.json() == spanish.json()
    assert "Content-Language" not in spanish


# --- The person --------------------------------------------------------------------------------------------


def test_the_choice_of_the_person_counts_before_the_browser(client: Client):
    page = reverse("wallet_signed_out")
    response = choose(client, "es", page)
    assert (response.status_code, response["Location"]) == (303, page)
    assert language_of(client.get(page, headers={"accept-language": "en"})) == "es"
    choose(client, "en-gb", page)
    assert language_of(client.get(page, headers={"accept-language": "es"})) == "en-gb"


def test_the_cookie_says_the_language_and_nothing_else(client: Client, settings: Any):
    settings.HOLDER_COOKIE_SECURE = True
    cookie = choose(client, "es").cookies[COOKIE]
    assert cookie.value == "es"
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")


def test_the_switch_keeps_the_page_with_its_query(client: Client):
    page = client.get("/nothing/?a=1&b=2").content.decode()
    assert 'name="next" value="/nothing/?a=1&amp;b=2"' in page
    assert choose(client, "es", "/nothing/?a=1&b=2")["Location"] == "/nothing/?a=1&b=2"


@pytest.mark.parametrize(
    "elsewhere",
    [
        *(
            "https://evil.example/",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
        ),
        *(
            "javascript:alert(1)",
            "evil.example",
            "",
            " //evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
        ),
        *("/%0d%0aSet-Cookie:x=1\r\nX: y", "/" + "x" * 9001, "/\x00", "/\u2028", "http:///evil.example"),
    ],
)
def test_the_switch_never_leads_to_another_site(client: Client, elsewhere: str):
    assert choose(client, "es", elsewhere)["Location"] == "/"


@given(st.text(max_size=50))
def test_the_switch_leads_to_a_path_whatever_is_written(written: str):
    location = choose(Client(), "es", written)["Location"]
    assert location == "/" or (location.startswith("/") and not location.startswith(("//", "/\\")))


def test_next_in_the_address_is_not_read(client: Client):
    response = client.post(reverse("language") + "?next=/wallet/&language=es", {"language": "es"})
    assert response["Location"] == "/"
    assert client.get(reverse("language") + "?language=es").status_code == 405


@pytest.mark.parametrize("unknown", ["", "de", "es.request", "ES", "../es", "es\x00"])
def test_unknown_languages_are_refused(client: Client, unknown: str):
    response = choose(client, unknown)
    assert response.status_code == 400
    assert COOKIE not in response.cookies
    client.cookies[COOKIE] = unknown.replace("\x00", "")
    assert language_of(client.get(reverse("wallet_signed_out"))) in dict(settings.LANGUAGES)


def test_the_wallet_remembers_the_language_that_its_holder_chose(
    holder: Client, alice: Wallet, statements: Any
):
    choose(holder, "es")
    alice.refresh_from_db()
    assert alice.language == "es"
    with statements() as seen:
        choose(holder, "es")
    assert not [sql for sql in seen.texts if "UPDATE" in sql]


# --- The request of a relying party ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "language"),
    [
        ("es", "es"),
        ("fr-CA es-MX en", "es"),
        ("fr_CA es_MX en", "es"),
        ("en es", "en-gb"),
        ("fr de", "en-gb"),
        ("zz-%00 ../../es ☃ es", "es"),
        (" ".join(["fr"] * 20 + ["es"]), "en-gb"),
        ("", "en-gb"),
    ],
)
def test_a_request_may_say_in_which_language_its_person_reads(
    client: Client, acme_bank: Any, requested: str, language: str
):
    response = client.get(PATH, asked(acme_bank, ui_locales=requested))
    assert response.status_code == 303
    assert language_of(client.get(response["Location"])) == language


def test_the_language_of_a_request_counts_before_the_browser_and_after_the_person(
    client: Client, acme_bank: Any
):
    english = {"accept-language": "en"}
    sign_in_page = client.get(PATH, asked(acme_bank, ui_locales="es"))["Location"]
    assert language_of(client.get(sign_in_page, headers=english)) == "es"
    choose(client, "en-gb")
    again = client.get(PATH, asked(acme_bank, ui_locales="es", nonce="n-" + "b" * 22))
    assert COOKIE not in again.cookies
    assert language_of(client.get(again["Location"], headers={"accept-language": "es"})) == "en-gb"


def test_the_language_of_a_request_ends_with_the_next_request(client: Client, acme_bank: Any):
    client.get(PATH, asked(acme_bank, ui_locales="es"))
    page = client.get(PATH, asked(acme_bank, nonce="n-" + "b" * 22))["Location"]
    assert language_of(client.get(page)) == "en-gb"


@given(st.text(max_size=200))
def test_no_locales_break_a_request(requested: str):
    response = HttpResponse()
    languages.follow(RequestFactory().get("/"), response, requested)
    kept = response.cookies[COOKIE].value if COOKIE in response.cookies else ""
    assert kept in {"", *(f"{code}.request" for code, _name in settings.LANGUAGES)}


@pytest.mark.parametrize(
    "path", ["/wallet/", "/wallet/history/?requester=bank", "/wallet/security/", "/wallet/data/"]
)
def test_the_switch_on_a_page_of_the_wallet_leads_back_to_it(holder: Client, path: str):
    (there,) = re.findall('name="next" value="([^"]*)"', holder.get(path).content.decode())
    switched = holder.post("/language/", {"language": "es", "next": there})
    assert switched.headers["Location"] == path
    assert '<html lang="es"' in holder.get(path).content.decode()


def next_on(response: Any) -> str:
    (path,) = re.findall('name="next" value="([^"]*)"', response.content.decode())
    return unescape(path)


@pytest.mark.parametrize(
    ("page", "posted_to", "fields"),
    [
        ("/wallet/sign-in/?lapsed=1&b=2", "/wallet/sign-in/?lapsed=1&b=2", {"email": "wrong"}),
        ("/wallet/sign-in/", "/wallet/passkeys/sign-in/", {"passkey": "nonsense"}),  # answers POST only
        ("/wallet/lost-mailbox/", "/wallet/lost-mailbox/", {"email": ""}),
    ],
)
def test_the_switch_on_the_answer_to_a_form_leads_to_the_page_with_the_form(
    client: Client, db: None, page: str, posted_to: str, fields: dict[str, str]
):
    answer = client.post(posted_to, fields, headers={"referer": f"http://testserver{page}"})
    assert answer.status_code == 422
    assert next_on(answer) == page
    assert client.get(choose(client, "es", next_on(answer))["Location"]).status_code == 200


@pytest.mark.parametrize(
    "referer",
    ["", "https://evil.example/wallet/", "http://testserver.evil.example/", "http://[", "//", "javascript:x"],
)
def test_without_a_page_of_ours_the_switch_leads_to_the_address_of_the_answer(
    client: Client, db: None, referer: str
):
    answer = client.post("/wallet/sign-in/", {"email": "wrong"}, headers={"referer": referer})
    assert next_on(answer) == "/wallet/sign-in/"


def test_a_form_with_a_wrong_host_is_refused_whatever_page_it_came_from(client: Client, db: None):
    headers = {"host": "evil.example", "referer": "http://evil.example/wallet/"}
    assert client.post("/wallet/sign-in/", {"email": "wrong"}, headers=headers).status_code == 400
