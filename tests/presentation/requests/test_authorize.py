"""The authorization endpoint: every row of the error table; errors go to proven addresses only."""

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from presentation.models import Interaction, RelyingParty
from tests.people import ALICE
from tests.presentation.requests.authorization_requests import (
    BASIC,
    PATH,
    asked,
    encoded,
    fragment,
    session_data,
)
from wallet.models import RedirectTask

UNTRUSTED = {
    "no client_id": {"client_id": None},
    "an empty client_id": {"client_id": ""},
    "an unknown client_id": {"client_id": "somebody-else"},
    "a client_id with another's prefix": {"client_id": "redirect_uri:https://bank.example/callback"},
    "no redirect_uri": {"redirect_uri": None},
    "an unregistered redirect_uri": {"redirect_uri": "https://evil.example/callback"},
    "a redirect_uri that continues a registered one": {"redirect_uri": "https://bank.example/callback/../x"},
    "a redirect_uri with another case": {"redirect_uri": "https://bank.example/Callback"},
    "a redirect_uri with a slash more": {"redirect_uri": "https://bank.example/callback/"},
    "a redirect_uri with a query": {"redirect_uri": "https://bank.example/callback?x=1"},
    "a redirect_uri with a fragment": {"redirect_uri": "https://bank.example/callback#x"},
    "a redirect_uri with a port": {"redirect_uri": "https://bank.example:443/callback"},
    "a redirect_uri with user-info": {"redirect_uri": "https://bank.example@evil.example/callback"},
    "an endless redirect_uri": {"redirect_uri": "https://bank.example/callback" + "a" * 600},
}


@pytest.mark.parametrize("changes", UNTRUSTED.values(), ids=UNTRUSTED.keys())
def test_without_a_proven_return_address_a_page_is_shown_and_nothing_redirected(
    client: Client, acme_bank: RelyingParty, changes: dict[str, Any]
) -> None:
    response = client.get(PATH, asked(acme_bank, **changes))

    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "text/html" in response.headers["Content-Type"]
    assert not Interaction.objects.exists()


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_a_repeated_identity_parameter_shows_a_page(
    client: Client, acme_bank: RelyingParty, name: str
) -> None:
    parameters = asked(acme_bank)
    query = urlencode([*parameters.items(), (name, parameters[name])])

    response = client.get(f"{PATH}?{query}")

    assert response.status_code == 400
    assert "more than once" in response.content.decode()


def test_a_suspended_relying_party_gets_a_page(client: Client, acme_bank: RelyingParty) -> None:
    acme_bank.state = RelyingParty.State.SUSPENDED
    acme_bank.suspension_reason = "complaints"
    acme_bank.save()

    response = client.get(PATH, asked(acme_bank))

    assert response.status_code == 400
    assert "or cannot be used at the moment" in response.content.decode()


def test_the_page_names_a_plus_of_a_redirect_uri_that_was_not_encoded(
    client: Client, acme_bank: RelyingParty
) -> None:
    acme_bank.redirect_uris.create(uri="https://bank.example/a+b")
    sent = urlencode(asked(acme_bank, redirect_uri="https://bank.example/a+b"), safe="+")

    response = client.get(f"{PATH}?{sent}")

    assert response.status_code == 400
    assert "an unencoded + is read as: send + as %2B" in response.content.decode()


def test_another_relying_partys_redirect_uri_shows_a_page(
    client: Client, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    response = client.get(PATH, asked(acme_bank, redirect_uri="https://shop.example/callback"))

    assert response.status_code == 400


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no response_type": ({"response_type": None}, "invalid_request"),
    "another response_type": ({"response_type": "code vp_token"}, "unsupported_response_type"),
    "an empty nonce": ({"nonce": ""}, "invalid_request"),
    "a nonce beyond ASCII": ({"nonce": "é" * 20}, "invalid_request"),
    "a header in login_hint": ({"login_hint": "a@example.org\r\nBcc: b@example.org"}, "invalid_request"),
    "a state beyond its limit": ({"state": "s" * 2049}, "invalid_request"),
    "one unknown scope of two": ({"scope": f"{BASIC} openid"}, "invalid_scope"),
    "transaction data that is no base64url": ({"transaction_data": "{}"}, "invalid_transaction_data"),
    "transaction data, the second value broken": (
        {"transaction_data": f"{encoded(session_data())} {encoded(session_data(payload=[]))}"},
        "invalid_transaction_data",
    ),
}


@pytest.mark.parametrize(("changes", "error"), WRONG.values(), ids=WRONG.keys())
def test_every_other_mistake_redirects_with_its_error_code(
    client: Client, acme_bank: RelyingParty, changes: dict[str, Any], error: str
) -> None:
    response = client.get(PATH, asked(acme_bank, **changes))

    assert response.status_code == 303
    location = response.headers["Location"]
    assert location.startswith("https://bank.example/callback#")
    answer = fragment(location)
    assert answer["error"] == error
    assert set(answer["error_description"]) <= set(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
    assert "vp_token" not in answer
    if len(changes.get("state", "")) <= 2048:
        assert answer["state"] == "af0ifjsldkj"
    assert not Interaction.objects.exists()
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_only_get_and_head_are_allowed(acme_bank: RelyingParty, method: str) -> None:
    client = Client(enforce_csrf_checks=True)  # as in a browser, which has no CSRF token here

    response = getattr(client, method)(f"{PATH}?{urlencode(asked(acme_bank))}")

    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


def test_unknown_parameters_are_ignored(client: Client, acme_bank: RelyingParty) -> None:
    response = client.get(PATH, asked(acme_bank, prompt="none", x="y"))

    assert response.status_code == 303
    assert response.headers["Location"].startswith("/wallet/errands/")


@pytest.mark.parametrize("state", ["a b+c&d=e%20#f", "ümläut ✓", "'\"<script>", "{}", "\t\n", "~!*()"])
def test_state_comes_back_as_it_was_sent(client: Client, acme_bank: RelyingParty, state: str) -> None:
    query = urlencode(asked(acme_bank, state=state, response_type="code vp_token"), quote_via=quote)

    location = client.get(f"{PATH}?{query}").headers["Location"]

    assert fragment(location)["state"] == state


def test_no_state_is_sent_when_none_was_given(client: Client, acme_bank: RelyingParty) -> None:
    location = client.get(PATH, asked(acme_bank, state=None, response_type="code vp_token")).headers[
        "Location"
    ]

    assert "state" not in fragment(location)


def test_a_query_in_the_registered_uri_is_kept(client: Client, acme_bank: RelyingParty) -> None:
    changes = {"redirect_uri": "https://bank.example/other?lang=en", "response_type": "code vp_token"}

    location = client.get(PATH, asked(acme_bank, **changes)).headers["Location"]

    assert location.startswith("https://bank.example/other?lang=en#error=")


def test_sign_in_is_asked_for_and_the_return_address_is_never_in_its_url(
    client: Client, acme_bank: RelyingParty
) -> None:
    response = client.get(PATH, asked(acme_bank))

    redirect_task = RedirectTask.objects.get()
    assert response.headers["Location"] == f"/wallet/errands/{redirect_task.id}/sign-in/"
    assert redirect_task.email == ALICE
    assert redirect_task.return_to == (
        f"/verifiable-credentials/v1/presentation/interactions/{Interaction.objects.get().id}/"
    )


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
def test_every_error_carries_the_issuer(
    client: Client, acme_bank: RelyingParty, settings: Any, wire_format: str
) -> None:
    acme_bank.wire_format = wire_format
    acme_bank.save()

    answer = fragment(client.get(PATH, asked(acme_bank, response_type="code vp_token")).headers["Location"])

    assert answer["iss"] == settings.BASE_URL
