"""RFC 9700 for pages in browsers: no framing, no reading by other sites, no leaking of referrers."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from presentation.models import Interaction, RelyingParty
from tests.people import NORA
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.deciding import SignIn, ask, decide, url_of_interaction
from tests.receiver import Receiver, listening
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
EVIL = {"Origin": "https://evil.example"}
Show = Callable[[Client, RelyingParty, Receiver], Any]


def sign_in_page(client: Client, bank: RelyingParty, _receiver: Receiver) -> Any:
    return client.get(client.get(PATH, asked(bank, login_hint=NORA)).headers["Location"])


def consent_page(client: Client, bank: RelyingParty, _receiver: Receiver) -> Any:
    return client.get(ask(client, bank))


def untrusted_page(client: Client, _bank: RelyingParty, _receiver: Receiver) -> Any:
    return client.get(PATH, {"client_id": "nobody"})


def refused_page(client: Client, bank: RelyingParty, receiver: Receiver) -> Any:
    return client.get(PATH, asked(bank, **posted_to(receiver), nonce=None))


def gone_page(client: Client, bank: RelyingParty, _receiver: Receiver) -> Any:
    client.get(decide(client, ask(client, bank)))
    return client.get(url_of_interaction())


def delivery_page(client: Client, bank: RelyingParty, receiver: Receiver) -> Any:
    ask(client, bank, **posted_to(receiver))
    return client.post(url_of_interaction(), {"decision": "share"}, follow=True)


def posted_to(receiver: Receiver) -> dict[str, Any]:
    return {"response_mode": "direct_post", "response_uri": receiver.uri, "redirect_uri": None}


PAGES: dict[str, tuple[Show, int]] = {
    "sign-in": (sign_in_page, 200),
    "consent": (consent_page, 200),
    "an error that nobody else is told": (untrusted_page, 400),
    "an error that was posted": (refused_page, 400),
    "gone": (gone_page, 410),
    "delivery": (delivery_page, 200),
    "no page": (lambda client, *_: client.get("/nowhere/"), 404),
}


@pytest.mark.parametrize("name", PAGES)
def test_no_page_can_be_framed_or_tells_others_where_people_were(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, name: str
) -> None:
    show, status = PAGES[name]
    if name != "sign-in":
        sign_in(alice)
    with listening() as receiver:
        acme_bank.response_uris.create(uri=receiver.uri)
        page = show(client, acme_bank, receiver)

    assert page.status_code == status
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    for link in re.findall(r"<a [^>]*https?://[^>]*>", page.content.decode()):
        assert "noreferrer" in link
    assert not re.search(r"<(?:img|link|script|iframe)[^>]*(?:src|href)=\"?https?:", page.content.decode())


def test_the_consent_page_names_the_policies_without_saying_where_it_was_read(
    holder: Client, acme_bank: RelyingParty
) -> None:
    acme_bank.privacy_policy_url = "https://bank.example/privacy"
    acme_bank.terms_url = "https://bank.example/terms"
    acme_bank.save()

    page = holder.get(ask(holder, acme_bank)).content.decode()

    links = re.findall(r"<a [^>]*https://bank\.example[^>]*>", page)
    assert len(links) == 2
    assert all('rel="noopener noreferrer"' in link for link in links)


def test_no_script_of_another_site_reads_what_the_authorization_endpoint_says(
    holder: Client, acme_bank: RelyingParty
) -> None:
    """CORS headers must be absent (RFC 9700 §2.6), also in the answer to a preflight request."""
    preflight = {**EVIL, "Access-Control-Request-Method": "GET"}

    answers = [
        holder.get(PATH, asked(acme_bank), headers=EVIL),
        holder.get(PATH, {"client_id": "nobody"}, headers=EVIL),
        holder.options(PATH, headers=preflight),
        holder.get(url_of_interaction(Interaction.objects.get()), headers=EVIL),
    ]

    assert [answer.status_code for answer in answers] == [200, 400, 405, 303]
    for answer in answers:
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
