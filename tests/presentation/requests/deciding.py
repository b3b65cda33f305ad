"""A person opens a request and decides, over HTTP."""

import re
from collections.abc import Callable
from typing import Any

from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from wallet.models import Wallet

SignIn = Callable[..., Any]


def ask(client: Client, party: RelyingParty, **changes: Any) -> str:
    """Sends the request; returns the address of the page that it leads to."""
    return address_of_page(client.get(PATH, asked(party, **changes)))


def address_of_page(response: Any) -> str:
    """Where an authorization request leads: to the consent page, if that is the answer, or a redirect."""
    assert response.status_code in (200, 303)
    headers = response.headers
    return str(headers["Content-Location"] if response.status_code == 200 else headers["Location"])


def decide(client: Client, page: str, decision: str = "share") -> str:
    """Stores the decision as if the process died before it answered; returns the interaction's address."""
    assert client.get(page).status_code in (200, 303, 410)  # 303: nothing can be shared
    consent = Consent.objects.get(id=page.split("/consent/")[1].split("/")[0])
    decides = {"share": decisions.grant, "decline": decisions.decline}[decision]
    decides(consent.id, consent.wallet, now=timezone.now())
    return consent.return_to


def another_browser(sign_in: SignIn, wallet: Wallet) -> Client:
    """A browser of its own in which the same person is signed in."""
    browser = Client()
    sign_in(wallet, browser=browser)
    return browser


def url_of_interaction(interaction: Interaction | None = None) -> str:
    """The address of this interaction, or of the only one there is."""
    return path_of(interaction or Interaction.objects.get())


PAYMENT = {
    "type": "urn:service:params:vc:transaction-data:payment-mandate:v1",
    "credential_ids": ["basic"],
    "payload": {
        "payment_instrument": {"type": "card", "id": "card-4242"},
        "payee": {"name": "Corner Shop"},
        "prompt_summary": "Pay 12.50 to Corner Shop",
        "amount": 12.5,
        "currency": "EUR",
    },
}


ACTION = re.compile(r'<form method="post" action="([^"]+)"')


def action_in(page: str) -> str:
    """The one address to which the forms of the main part go."""
    (action,) = set(ACTION.findall(page.split("<main")[1].split("</main>")[0]))
    return action


def pass_through(
    client: Client, party: RelyingParty, decision: str = "share", **changes: Any
) -> dict[str, str]:
    """A request and the holder's decision; returns the relying party's answer."""
    ask(client, party, **changes)
    interaction_url = url_of_interaction(Interaction.objects.get(outcome=""))
    return fragment(client.post(interaction_url, {"decision": decision}).headers["Location"])
