"""Sandbox only: developers register and change their own applications."""

import json
import re
from typing import Any

from tests.forgery import new_key
from tests.recorded import random_values
from tests.recorded.clock import clock
from tests.recorded.installation import AUTHORIZE, BASIC, EVENTS
from tests.recorded.recorder import FORM, Browser, Recorder
from tools.fuzz.gateway import Reply

OWN = "/sandbox/relying-parties/"
GOOD: dict[str, Any] = {
    "name": "Book Club",
    "redirect_uris": "http://127.0.0.1:5000/callback\nhttp://127.0.0.1:5000/other",
    "allowed_scopes": [BASIC],
    "wire_format": "string",
    "number": "same",
}
WRONG: dict[str, dict[str, Any]] = {
    "no name": {"name": ""},
    "the name of another": {"name": "Harbour Bank"},
    "a name that looks like another": {"name": "Harb\u043eur Bank"},
    "a redirect URI of somebody else": {"redirect_uris": "https://books.example/callback"},
    "no redirect URI": {"redirect_uris": ""},
    "a redirect URI over http": {"redirect_uris": "http://books.example/"},
    "a redirect URI with a fragment": {"redirect_uris": "https://books.example/#x"},
    "a redirect URI that is a script": {"redirect_uris": "javascript:alert(1)"},
    "no scope": {"allowed_scopes": []},
    "an unknown wire format": {"wire_format": "x"},
    "an unknown claim": {"allowed_claims": ["x"]},
    "response URIs over http": {"response_uris": "http://books.example/"},
    "keys that are no JSON": {"jwks": "{"},
    "keys that are private": {"jwks": "private"},
    "a webhook over http": {"webhook_url": "http://books.example/", "webhook_events": [EVENTS[0]]},
    "a webhook without events": {"webhook_url": "https://books.example/hook"},
    "signed requests without keys": {"requirements": ["requires_signed_requests"]},
}


def run(recorder: Recorder) -> None:
    """From the e-mail address to the deletion."""
    _sign_in(recorder)
    _forms(recorder)
    _application(recorder)
    _desk(recorder)
    _strangers(recorder)


def link(page: Reply) -> str:
    """The path of the link that the page shows in the place of the e-mail."""
    found = re.search(r'href="[^"]*?(/sandbox/relying-parties/link/[^"]+)"', page.text)
    assert found, page.status
    random_values.name(found[1].rstrip("/").rpartition("/")[2], "‹secret of the link›")
    return found[1]


def signed_in(browser: Browser, email: str) -> None:
    """A developer, not recorded."""
    with browser.quietly():
        browser.follow(browser.get(link(browser.post(OWN, {"email": email}))))


def _sign_in(recorder: Recorder) -> None:
    with recorder.scenario("developers sign in with a link") as browser:
        browser.get(OWN)
        browser.send("HEAD", OWN)
        for email in ("", "x"):
            browser.post(OWN, {"email": email})
        with browser.quietly():
            where = link(browser.post(OWN, {"email": "dev@example.org"}))
            clock.move(minutes=1)
        link(browser.post(OWN, {"email": "dev@example.org"}))
        browser.post(where)
        recorder.browser().get(where)
        browser.follow(browser.get(where))
        browser.get(where)
        browser.get(f"{OWN}link/nothing/")
        browser.get(f"{OWN}sign-out/")
        browser.follow(browser.post(f"{OWN}sign-out/"))
        browser.get(where)
    with recorder.scenario("too many links") as browser:
        for _ in range(5):
            page = browser.post(OWN, {"email": "often@example.org"})
            if page.status == 200:
                link(page)
    with recorder.scenario("a link that has expired") as browser:
        with browser.quietly():
            where = link(browser.post(OWN, {"email": "late@example.org"}))
        clock.move(days=2)
        browser.get(where)


def _forms(recorder: Recorder) -> None:
    with recorder.scenario("what is typed wrong in a registration") as browser:
        signed_in(browser, "wrong@example.org")
        browser.get(f"{OWN}new/")
        private = {"keys": [{**random_values.jwk(new_key()), "d": "x" * 43}]}
        for changes in WRONG.values():
            if changes.get("jwks") == "private":
                changes = {"jwks": json.dumps(private)}
            browser.post(f"{OWN}new/", GOOD | changes)
        browser.post(f"{OWN}new/")
        browser.send("POST", f"{OWN}new/", "name=x", FORM)


def _application(recorder: Recorder) -> None:
    with recorder.scenario("an application is registered, changed, given secrets and deleted") as browser:
        signed_in(browser, "owner@example.org")
        made = browser.post(f"{OWN}new/", GOOD | {"name": "Reading Circle"})
        browser.follow(made)
        own = made.location
        assert own.startswith(OWN), re.findall("error.*", made.text)
        browser.get(OWN)
        everything = {
            "name": "Reading Circle",
            "allowed_claims": ["given_name", "birth_date"],
            "response_uris": "http://127.0.0.1:5000/answers",
            "jwks": json.dumps(
                {"keys": [random_values.in_order({"kid": "one", **random_values.jwk(new_key())})]}
            ),
            "requirements": ["requires_pushed_requests"],
            "webhook_url": "http://127.0.0.1:5000/hook",
            "webhook_events": list(EVENTS),
            "wire_format": "openid4vp-1.0",
        }
        browser.follow(browser.post(own, GOOD | everything))
        browser.post(own, GOOD | {"name": "Reading Circle", "redirect_uris": "x"})
        for page in ("secret/", "webhook-secret/"):
            browser.get(own + page)
            browser.post(own + page)
            browser.post(own + page)
        for method in ("HEAD", "DELETE"):
            browser.send(method, own)
        other = recorder.browser()
        signed_in(other, "other@example.org")
        for page in ("", "secret/", "webhook-secret/", "delete/"):
            other.post(own + page)
            other.get(own + page)
        browser.get(own + "delete/")
        browser.follow(browser.post(own + "delete/"))
        browser.get(own)


def _desk(recorder: Recorder) -> None:
    with recorder.scenario("the desk of an application") as browser:
        signed_in(browser, "desk@example.org")
        told = {"webhook_url": "http://127.0.0.1:9/told", "webhook_events": [EVENTS[0]]}
        with browser.quietly():
            own = browser.post(f"{OWN}new/", GOOD | told | {"name": "Writing Circle"}).location
        desk = f"{own}requests/"
        browser.get(desk)
        asked = {"client_id": own.split("/")[-2], "redirect_uri": "http://127.0.0.1:5000/other"}
        with browser.quietly():
            for changes in ({"nonce": "short"}, {"redirect_uri": "https://elsewhere.example/"}):
                refused = recorder.browser().get(AUTHORIZE, asked | changes)
        browser.get(desk)
        browser.follow(browser.post(desk))
        browser.get(f"{OWN}requests/")
        for reference in (refused.header("X-Request-ID")[:8].upper(), "x"):
            browser.get(f"{OWN}requests/", {"reference": reference})
        browser.send("HEAD", desk)
        browser.send("DELETE", desk)
        other = recorder.browser()
        signed_in(other, "other@example.org")
        other.get(desk)
        other.post(desk)


def _strangers(recorder: Recorder) -> None:
    with recorder.scenario("every page of an application, for a stranger") as browser:
        of_one = ("", "secret/", "webhook-secret/", "delete/", "requests/")
        for page in ("new/", "requests/", *(f"somebody/{page}" for page in of_one)):
            browser.get(OWN + page)
            browser.post(OWN + page)
