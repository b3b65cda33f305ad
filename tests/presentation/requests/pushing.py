"""Requests that are pushed, and opened with the handle."""

from typing import Any
from urllib.parse import urlencode

from django.test import Client

from presentation.models import RelyingParty
from tests.presentation.clients import FORM
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import address_of_page

PAR = "/verifiable-credentials/v1/presentation/par"


def send(client: Client, form: Any, **headers: str) -> Any:
    """Pushes the form; an answer of any status."""
    body = form if isinstance(form, str | bytes) else urlencode(form)
    return client.post(PAR, data=body, content_type=FORM, headers=headers)


def pushed(client: Client, bank: tuple[RelyingParty, dict[str, str]], **changes: Any) -> str:
    """The handle of a request that was pushed."""
    party, header = bank
    answer = send(client, asked(party, **changes), **header)
    assert answer.status_code == 201, answer.content
    text: str = answer.json()["request_uri"]
    return text


def go(client: Client, handle: str, party: RelyingParty, **beside: str) -> Any:
    """Opens the authorization endpoint with a handle."""
    return client.get(PATH, {"client_id": party.client_id, "request_uri": handle} | beside)


def page_of(client: Client, handle: str, party: RelyingParty, **beside: str) -> str:
    """The address of the page that a handle leads to."""
    return address_of_page(go(client, handle, party, **beside))
