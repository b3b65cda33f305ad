"""Developers who register applications in the sandbox."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from presentation.dcql.queries import BASIC

HOME = "/sandbox/relying-parties/"
DEVELOPER = "dev@shop.example"
LOCAL = "http://127.0.0.1:5000/callback"
CHOSEN = {
    "name": "My Shop",
    "redirect_uris": LOCAL,
    "allowed_scopes": [BASIC],
    "wire_format": "string",
    "number": "same",
}


def text(response: Any) -> str:
    """The text of a page."""
    return unescape(response.content.decode())


def link_for(browser: Client, email: str = DEVELOPER) -> str:
    """The path of the sign-in link on the page of a sandbox that sends no e-mail."""
    page = text(browser.post(HOME, {"email": email}))
    found = re.search(r'class="button" href="([^"]+)"', page)
    assert found, page
    return urlsplit(found[1]).path


def signed_in(email: str = DEVELOPER, **extra: Any) -> Client:
    """A browser in which this developer is signed in."""
    browser = Client(**extra)
    assert browser.get(link_for(browser, email)).headers["Location"].startswith(HOME)
    return browser


def make(browser: Client, **changes: Any) -> Any:
    """Registers an application, with `changes` to the form."""
    return browser.post(f"{HOME}new/", CHOSEN | changes)
