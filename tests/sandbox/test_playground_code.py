"""The playground as a client of OpenID Connect."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from presentation.models import AuthorizationCode, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from tests.people import register
from tests.presentation.openid_connect.shop import share

pytestmark = pytest.mark.usefixtures("signing_key")
CALLBACK = "/playground/callback/"


@pytest.fixture
def library(db: None, settings: Any) -> RelyingParty:
    address = f"{settings.BASE_URL}{CALLBACK}"
    party = register("Library", address, wire_format="openid")
    client_secrets.rotate(party, now=timezone.now())
    return party


def begun(client: Client, **query: str) -> dict[str, str]:
    page = client.get("/playground/", query)
    assert "OpenID Connect, a code" in page.content.decode()
    parts = urlsplit(page.context["authorize_url"])
    response = client.get(f"{parts.path}?{parts.query}")
    assert response.status_code == 200, response.headers
    return dict(parse_qsl(parts.query))


def brought_back(client: Client, decision: str = "share") -> str:
    parts = urlsplit(share(client, decision=decision).headers["Location"])
    assert parts.path == CALLBACK
    return client.get(f"{parts.path}?{parts.query}").content.decode()


def test_the_request_of_a_client_of_openid_connect_leads_to_its_claims(
    holder: Client, library: RelyingParty
) -> None:
    sent = begun(holder)
    assert (sent["response_type"], sent["scope"].split(" ")[0]) == ("code", "openid")
    page = brought_back(holder)
    for shown in ("The claims of the ID token", "&quot;given_name&quot;: &quot;Alice&quot;", "at_hash", "~"):
        assert shown in page
    assert AuthorizationCode.objects.get().used_at


def test_a_code_is_exchanged_once_and_only_with_the_state_of_its_request(
    holder: Client, library: RelyingParty
) -> None:
    begun(holder)
    query = dict(parse_qsl(urlsplit(share(holder).headers["Location"]).query))
    page = lambda **changes: holder.get(f"{CALLBACK}?{urlencode(query | changes)}").content.decode()  # noqa: E731
    assert "invalid_grant" in page(state="another")
    assert "given_name" in page()
    assert "invalid_grant" in page()
    assert "invalid_grant" in page(code="unknown")


def test_a_no_is_shown_as_what_it_is(holder: Client, library: RelyingParty) -> None:
    begun(holder)
    assert "access_denied" in brought_back(holder, "decline")
