"""A process of production on the upgraded database: people and clients continue where version 0.2.0 ended.

It prints their answers as JSON. Run as `python -m tests.upgrade.visit`.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import django
from django.test import Client

from tests.upgrade import recorded

AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
USED_NONCE = "nonce-of-many-characters-0"


def browser(*, signed_in: bool = True) -> Client:
    """Petronella's browser, with the cookies that it had."""
    client = Client(SERVER_NAME="wallet.example", headers={"Sec-Fetch-Site": "same-origin"})
    for name, value in recorded.COOKIES.items() if signed_in else ():
        client.cookies[name] = value
    return client


def get(client: Client, address: str, **parameters: str) -> Any:
    return client.get(address, parameters, secure=True)


def open_request() -> Iterator[tuple[str, Any]]:
    """Petronella shares from the consent page that was open."""
    hers = browser()
    page = get(hers, recorded.CONSENT_PAGE).content.decode()
    yield "consent page", page
    (address,) = set(re.findall(r'<form method="post" action="([^"]*/interactions/[^"]+)"', page))
    yield "answer", hers.post(address, {"decision": "share"}, secure=True).headers["Location"]
    page = get(hers, "/wallet/history/").content.decode()
    found = re.findall(r'href="(/wallet/history/[0-9a-f-]{36}/)"', page)
    yield "receipts", page + "".join(get(hers, address).content.decode() for address in found)
    searched = get(hers, "/wallet/history/", requester="acme BANK").content.decode()
    yield "found receipts", len(re.findall("<article", searched))


def pushed_request() -> Iterator[tuple[str, Any]]:
    """The browser opens the request that was pushed."""
    hers = browser()
    begun = get(hers, AUTHORIZE, client_id=recorded.CLIENT_ID, request_uri=recorded.REQUEST_URI)
    yield "pushed request", begun.content.decode()


def relying_party() -> Iterator[tuple[str, Any]]:
    """Acme Bank authenticates with its secret, and a browser sends a nonce that gave a token before."""
    pair = f"{recorded.CLIENT_ID}:{recorded.CLIENT_SECRET}".encode()
    token = browser(signed_in=False).post(
        "/oauth/v2/token",
        "grant_type=client_credentials",
        content_type="application/x-www-form-urlencoded",
        secure=True,
        headers={"Authorization": "Basic " + base64.b64encode(pair).decode()},
    )
    yield "access token", token.json()
    asked = {
        "response_type": "vp_token",
        "client_id": recorded.CLIENT_ID,
        "redirect_uri": "https://bank.example/callback",
        "scope": "urn:service:params:scope:verifiable-credentials:basic",
        "login_hint": recorded.HOLDER,
        "nonce": USED_NONCE,
        "state": "af0ifjsldkj",
    }
    yield "used nonce", get(browser(), AUTHORIZE, **asked).headers["Location"]


def main() -> None:
    found: dict[str, Any] = {}
    for visit in (open_request, pushed_request, relying_party):
        found |= dict(visit())
    print(json.dumps(found))


if __name__ == "__main__":
    django.setup()
    main()
