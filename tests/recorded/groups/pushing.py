"""Pushed requests, and opening them by their reference."""

import json
from typing import Any

from tests.presentation.payloads import MANDATE, SESSION, value
from tests.recorded import people
from tests.recorded.groups.authorize import claims as query
from tests.recorded.groups.request_objects import GOOD, NOT_GOOD, NOT_ITS_OWN
from tests.recorded.installation import AUTHORIZE, BASIC, PAR
from tests.recorded.recorder import FORM, JSON, Recorder, encoded

BANK = "Harbour Bank"
ENCRYPTED = {"response_mode": "direct_post.jwt"}
WRONG: dict[str, dict[str, Any]] = {
    "an unregistered redirect_uri": {"redirect_uri": "https://harbour-bank.example/elsewhere"},
    "a published request": {"request_uri": "https://harbour-bank.example/requests/1"},
    "another client’s name": {"client_id": "somebody"},
    "no client_id": {"client_id": None},
    "no redirect_uri": {"redirect_uri": None},
    "no nonce": {"nonce": None},
    "a short nonce": {"nonce": "short"},
    "no login_hint": {"login_hint": None},
    "a login_hint that is no address": {"login_hint": "Alice"},
    "no response_type": {"response_type": None},
    "another response_type": {"response_type": "code"},
    "an unknown response_mode": {"response_mode": "query"},
    "neither scope nor query": {"scope": None},
    "an unknown scope": {"scope": "openid"},
    "scope and query": {"dcql_query": "{}"},
    "a query that is none": {"scope": None, "dcql_query": "{}"},
    "a claim that is not its to ask": query(["age_equal_or_over", "65"]),
    "a state beyond its limit": {"state": "s" * 2049},
    "transaction data that is none": {"transaction_data": "e30"},
    "transaction data beyond its limit": {"transaction_data": "a" * 32769},
    "a request object that is none": {"request": "x"},
    "nonce twice": {"nonce": ["n-0S6_WzA2Mj-0123456", "n-0S6_WzA2Mj-0123456"]},
}
WRONG_POSTED: dict[str, dict[str, Any]] = {
    "to nowhere": {"response_uri": None},
    "to an unregistered address": {"response_uri": "https://evil.example/answers"},
    "beside a redirect_uri": {"redirect_uri": "https://harbour-bank.example/callback"},
    "encrypted to nobody": ENCRYPTED,
    "encrypted by metadata that is no JSON": ENCRYPTED | {"client_metadata": "{"},
    "encrypted by metadata that is a list": ENCRYPTED | {"client_metadata": "[]"},
    "encrypted by metadata without keys": ENCRYPTED | {"client_metadata": "{}"},
    "encrypted by metadata beyond its limit": ENCRYPTED | {"client_metadata": "x" * 8193},
}


def run(recorder: Recorder) -> None:
    """Wrong requests, then valid ones."""
    service = recorder.service
    for title, changes in WRONG.items():
        with recorder.scenario(f"refused: {title}") as browser:
            browser.submit(PAR, service.asked(BANK, **changes), **service[BANK].basic)
    for title, changes in WRONG_POSTED.items():
        with recorder.scenario(f"refused: to be posted {title}") as browser:
            browser.submit(PAR, service.posted(BANK, **changes), **service[BANK].basic)
    for title, make in {**NOT_ITS_OWN, **NOT_GOOD, **GOOD}.items():
        with recorder.scenario(f"a request object: {title}") as browser:
            browser.submit(PAR, {"request": make(service)}, **service[BANK].basic)
    _proofs(recorder)
    _bodies(recorder)
    _handles(recorder)


def _proofs(recorder: Recorder) -> None:
    service = recorder.service
    asked = service.asked(BANK)
    with recorder.scenario("who pushes: nobody, and with wrong proofs") as browser:
        browser.submit(PAR, asked)
        browser.submit(PAR, asked, Authorization="Basic eDp5")
        browser.submit(PAR, asked, Authorization="Bearer x.y.z")
        browser.submit(PAR, asked, Authorization="Digest x")
        browser.submit(PAR, asked | {"client_secret": "wrong"})
        browser.submit(PAR, asked, **service["Tea House"].basic)
        browser.submit(PAR, service.asked("Closed Store"), **service["Closed Store"].basic)
    with recorder.scenario("who pushes: by every proof") as browser:
        browser.submit(PAR, asked, **service[BANK].basic)
        browser.submit(PAR, asked | {"client_secret": service[BANK].secret})
        browser.submit(PAR, asked | service[BANK].assertion(service.base_url))
        browser.submit(PAR, asked, **service.token(browser, BANK, "presentation:push"))
        browser.submit(PAR, asked, **service.token(browser, BANK, "presentation:read"))
        browser.submit(PAR, asked, **service.token(browser, "Tea House"))
        browser.submit(PAR, service.asked("Pushing Agency"), **service["Pushing Agency"].basic)
        browser.submit(PAR, service.asked("Signing Agency"), **service["Signing Agency"].basic)
        browser.submit(PAR, service.asked("Small Kiosk"), **service["Small Kiosk"].basic)


def _bodies(recorder: Recorder) -> None:
    service = recorder.service
    proof = service[BANK].basic
    with recorder.scenario("bodies that are no form, and other methods") as browser:
        browser.send("POST", PAR, "", FORM, **proof)
        browser.send("POST", PAR, json.dumps(service.asked(BANK)), JSON, **proof)
        browser.send("POST", PAR, "a=%zz", FORM, **proof)
        browser.send("POST", PAR, "a=b&" * 100, FORM, **proof)
        browser.send("POST", PAR, "a" * 140_000, FORM, **proof)
        browser.send("POST", f"{PAR}?a=b", encoded(service.asked(BANK)), FORM, **proof)
        browser.send("GET", PAR, **proof)
        browser.send("OPTIONS", PAR, **proof)
        browser.send("PUT", PAR, "a=b", FORM, **proof)


def _handles(recorder: Recorder) -> None:
    service = recorder.service

    def pushed(browser: Any, name: str, **changes: Any) -> dict[str, str]:
        reply = browser.submit(PAR, service.asked(name, **changes), **service[name].basic)
        return {"client_id": service[name].client_id, "request_uri": json.loads(reply.body)["request_uri"]}

    with recorder.scenario("a handle is opened, and opened again") as browser:
        handle = pushed(browser, BANK, transaction_data=value(SESSION))
        browser.get(AUTHORIZE, handle)
        browser.get(AUTHORIZE, handle)
    with recorder.scenario("a handle is opened by another browser as well") as browser:
        handle = pushed(browser, BANK)
        browser.get(AUTHORIZE, handle)
        recorder.browser().get(AUTHORIZE, handle)
    with recorder.scenario("a handle beside other parameters") as browser:
        browser.get(AUTHORIZE, pushed(browser, BANK) | {"state": "outside", "nonce": "short", "scope": BASIC})
    with recorder.scenario("a handle of another client") as browser:
        browser.get(AUTHORIZE, pushed(browser, BANK) | {"client_id": service["Tea House"].client_id})
    with recorder.scenario("a handle without a client_id") as browser:
        browser.get(AUTHORIZE, {"request_uri": pushed(browser, BANK)["request_uri"]})
    with recorder.scenario("a handle of somebody who has to push") as browser:
        browser.get(AUTHORIZE, pushed(browser, "Pushing Agency"))
    with recorder.scenario("a handle that has expired") as browser:
        handle = pushed(browser, BANK)
        from tests.recorded.clock import clock

        clock.move(seconds=90)
        browser.get(AUTHORIZE, handle)
    with recorder.scenario("a holder opens the handle of a payment, and again after the answer") as browser:
        people.enrolled(browser, "penny@example.org")
        handle = pushed(browser, BANK, transaction_data=value(MANDATE), login_hint="penny@example.org")
        page = browser.get(AUTHORIZE, handle)
        people.decided(browser, page, "share")
        browser.get(AUTHORIZE, handle)
        recorder.browser().get(AUTHORIZE, handle)
