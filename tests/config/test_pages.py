"""The front page and the error pages: plain words, a reference, no internals."""

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from config import views
from tests.config.site_addresses import ADDRESSES

PAGES = [
    (views.bad_request, 400, "We could not read that"),
    (views.forbidden, 403, "You may not open this page"),
    (views.csrf_failure, 403, "Please try that again"),
    (views.not_found, 404, "There is nothing at this address"),
]


@pytest.mark.parametrize(("view", "status", "words"), PAGES)
def test_a_page_for_an_error_says_what_happened_and_a_reference(rf, view, status: int, words: str) -> None:
    request = rf.get("/nowhere/")
    request.reference = "1A2B3C4D"
    request.resolver_match = None
    response = view(request, Exception("secret detail"))
    page = response.content.decode()
    assert response.status_code == status
    assert words in page
    assert "1A2B3C4D" in page
    assert "secret detail" not in page
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("view", [views.forbidden, views.not_found])
def test_only_error_pages_of_the_admin_link_to_the_admin(rf: RequestFactory, view) -> None:
    way_on = 'href="/admin/"'
    assert way_on in view(rf.get("/admin/keys/nowhere/")).content.decode()
    assert way_on not in view(rf.get("/nowhere/")).content.decode()


def test_who_is_lost_finds_the_start_page(client: Client, db: None) -> None:
    assert '<a class="button" href="/">To the start page</a>' in client.get("/nowhere/").content.decode()


def test_our_own_fault_is_said_without_asking_the_database(rf: RequestFactory) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("the database was asked")

    request = rf.get("/nowhere/")
    request.reference = "1A2B3C4D"  # type: ignore[attr-defined]
    with connection.execute_wrapper(refuse):
        response = views.server_error(request)
    page = response.content.decode()
    assert response.status_code == 500
    assert "It is not your fault" in page
    assert "1A2B3C4D" in page
    assert "Sandbox" in page


def test_an_unknown_address_gets_the_page_with_the_reference_of_the_log(client: Client, db: None) -> None:
    response = client.get("/nowhere/at/all/")
    assert response.status_code == 404
    assert response.wsgi_request.reference in response.content.decode()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("referer", "again"),
    [
        ("http://testserver/wallet/sign-in/", "http://testserver/wallet/sign-in/"),
        ("https://elsewhere.example/page", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_a_stale_form_leads_back_only_to_a_page_of_ours(rf, referer: str, again: str) -> None:
    request = rf.post("/wallet/sign-out/", headers={"referer": referer})
    request.resolver_match = None
    assert f'href="{again}"' in views.csrf_failure(request).content.decode()


def test_the_front_page_leads_to_the_wallet_and_the_published_documents(client: Client, db: None) -> None:
    page = client.get("/").content.decode()
    for address in (
        reverse("wallet_home"),
        "/.well-known/openid-configuration",
        "/openid-connect/jwks",
        "/credential-types/identity/v1",
    ):
        assert f'href="{address}"' in page


def test_the_front_page_leads_who_is_signed_in_to_their_wallet(holder: Client) -> None:
    response = holder.get("/")

    assert (response.status_code, response.headers["Location"]) == (303, reverse("wallet_home"))
    assert "no-store" in response.headers["Cache-Control"]


def test_the_front_page_has_links_for_developers_in_the_sandbox_only(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "For developers" in client.get("/").content.decode()
    monkeypatch.setattr(apps, "is_installed", lambda name: name != "sandbox")
    page = client.get("/").content.decode()
    assert "For developers" not in page
    assert "openid-configuration" not in page


def test_only_the_admin_knows_who_operates(client: Client, db: None) -> None:
    assert hasattr(client.get("/admin/login/").wsgi_request, "user")

    request = client.get("/").wsgi_request

    assert not hasattr(request, "user")
    assert not hasattr(request, "session")


def test_a_page_that_is_only_read_says_so_to_other_methods_and_complains_of_no_form(db: None) -> None:
    only_read = [address for address in ADDRESSES if Client().post(address).status_code == 405]

    assert reverse("authorize") in only_read
    assert len(only_read) > 15
    for address in only_read:
        for method in ("post", "put", "patch", "delete"):
            response = getattr(Client(enforce_csrf_checks=True), method)(address)
            assert response.status_code == 405, (method, address)
            assert "GET" in response.headers["Allow"]
