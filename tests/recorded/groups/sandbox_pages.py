"""Sandbox only: mailbox, playground, guide, description of the endpoints, and the holder for CI."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.presentation.payloads import MANDATE, value
from tests.recorded import people
from tests.recorded.clock import clock
from tests.recorded.groups.authorize import claims
from tests.recorded.installation import AUTHORIZE, BASIC
from tests.recorded.recorder import FORM, JSON, Recorder, encoded

HOLDER = "/sandbox/holder"
ANSWERS, READ = "/playground/answers/", "/playground/answers/read/"


def run(recorder: Recorder) -> None:
    """All but the pages for developers' own applications."""
    _mailbox(recorder)
    _guide(recorder)
    _description(recorder)
    _playground(recorder)
    _answers(recorder)
    _holder(recorder)
    _logos(recorder)


def _mailbox(recorder: Recorder) -> None:
    with recorder.scenario("the mailbox of this browser and of another") as browser:
        browser.get("/sandbox/mailbox/")
        with browser.quietly():
            page = browser.follow(browser.post("/wallet/sign-in/", {"email": "mia@example.org"}))
            clock.move(minutes=2)
            browser.post(page.path.replace("/code/", "/sign-in/"), {"link": "1"})
        browser.get("/sandbox/mailbox/")
        recorder.browser().get("/sandbox/mailbox/")
        browser.send("HEAD", "/sandbox/mailbox/")
        browser.post("/sandbox/mailbox/")


def _guide(recorder: Recorder) -> None:
    with recorder.scenario("the guide") as browser:
        for name in ("", "integrate/", "transaction-data/", "credential-status/", "operate/", "x/"):
            browser.get(f"/sandbox/guide/{name}")
        browser.send("HEAD", "/sandbox/guide/")
        browser.post("/sandbox/guide/")


def _description(recorder: Recorder) -> None:
    with recorder.scenario("the description of the endpoints") as browser:
        browser.get("/sandbox/api/")
        browser.get("/sandbox/api/openapi.json")
        for path in ("/sandbox/api/", "/sandbox/api/openapi.json"):
            browser.send("HEAD", path)
            browser.post(path)


def _playground(recorder: Recorder) -> None:
    service = recorder.service
    demo = [party.client_id for party in service.rows("presentation", "RelyingParty").order_by("name")]
    known = [one for one in demo if one not in {party.client_id for party in service.parties.values()}]
    queries: dict[str, dict[str, Any]] = {
        "as it opens": {},
        "for the first relying party": {"client_id": known[0]},
        "for the second": {"client_id": known[-1]},
        "for one that is not answered there": {"client_id": service["Harbour Bank"].client_id},
        "with a payment": {"transaction": MANDATE},
        "to be posted": {"client_id": known[0], "response_mode": "direct_post"},
        "to be posted encrypted": {"client_id": known[0], "response_mode": "direct_post.jwt"},
        "with nonsense": {"x": "y", "scope": "z", "nonce": "n", "login_hint": "<script>"},
    }
    for title, asked in queries.items():
        with recorder.scenario(f"the playground {title}") as browser:
            browser.get("/playground/", asked)
    with recorder.scenario("the playground’s Go without JavaScript") as browser:
        chosen = {"client_id": known[0], "scope": BASIC, "login_hint": "typed@example.org", "go": "1"}
        browser.get("/playground/", chosen)
    with recorder.scenario("the playground by other methods, and its callback") as browser:
        browser.send("HEAD", "/playground/")
        browser.post("/playground/")
        browser.get("/playground/callback/")
        browser.get("/playground/callback/?response_code=x")
        browser.post("/playground/callback/")


def _answers(recorder: Recorder) -> None:
    with recorder.scenario("answers posted to the playground, and read there once") as browser:
        for form in (
            {"vp_token": "a~b", "state": "playground-state-0123456"},
            {"error": "access_denied", "state": "playground-state-0123457"},
            {"response": "e30.a.b.c.d"},
            {},
            {"state": "x"},
        ):
            browser.submit(ANSWERS, form)
        reply = browser.submit(ANSWERS, {"vp_token": "a~b", "state": "playground-state-0123458"})
        code = dict(parse_qsl(urlsplit(json.loads(reply.body)["redirect_uri"]).query))["response_code"]
        browser.submit(READ, {"response_code": code, "state": "another"})
        browser.submit(READ, {"response_code": code, "state": "playground-state-0123458"})
        browser.submit(READ, {"response_code": code, "state": "playground-state-0123458"})
        for path in (ANSWERS, READ):
            browser.send("POST", path, "", FORM)
            browser.send("POST", path, "{}", JSON)
            browser.send("POST", path, "a=%zz", FORM)
            browser.send("POST", path, "a" * 300_000, FORM)
            browser.get(path)
            browser.send("OPTIONS", path)


def _holder(recorder: Recorder) -> None:
    service = recorder.service
    bank = "Harbour Bank"

    def call(**more: Any) -> dict[str, Any]:
        changes = more.pop("changes", {})
        email = more.pop("email", "ci@example.org")
        asked = service.asked(bank, login_hint=email, **changes)
        return {"authorize_url": f"{service.base_url}{AUTHORIZE}?{encoded(asked)}"} | more

    rows: dict[str, dict[str, Any]] = {
        "shares": call(email="ci-share@example.org"),
        "declines": call(email="ci-decline@example.org", decision="decline"),
        "is under age": call(email="ci-young@example.org", persona="under-18"),
        "is reviewed": call(email="ci-review@example.org", persona="review"),
        "is declined": call(email="ci-declined@example.org", persona="declined"),
        "meets an error": call(email="ci-error@example.org", persona="error"),
        "makes a payment": call(email="ci-pay@example.org", changes={"transaction_data": value(MANDATE)}),
        "is asked with a query": call(email="ci-query@example.org", changes=claims(["birth_date"])),
        "meets a page": call(changes={"redirect_uri": "https://evil.example/"}),
        "meets a mistake": call(changes={"nonce": "short"}),
    }
    for title, body in rows.items():
        with recorder.scenario(f"the holder for CI {title}") as browser:
            browser.submit_json(HOLDER, body)
    with recorder.scenario("calls of the holder for CI that make no sense") as browser:
        for body in (
            "",
            "x",
            "[]",
            "{}",
            call(persona="nobody"),
            call(decision="perhaps"),
            call(more=1),
            {"authorize_url": 7},
            {"authorize_url": "https://elsewhere.example/"},
            {"authorize_url": f"{service.base_url}{AUTHORIZE}?é"},
            {"authorize_url": f"{service.base_url}{AUTHORIZE}?" + "a" * 10_001},
            "[" * 5000,
            "x" * 20_000,
        ):
            browser.submit_json(HOLDER, body)
        browser.send("POST", HOLDER, "a=b", FORM)
        browser.get(HOLDER)
        browser.send("OPTIONS", HOLDER)


def _logos(recorder: Recorder) -> None:
    with recorder.scenario("logos of relying parties") as browser:
        for party in recorder.service.rows("presentation", "RelyingParty").order_by("name"):
            path = f"/relying-parties/{party.client_id}/logo"
            browser.get(path)
            browser.send("HEAD", path)
        browser.post(path)
    with recorder.scenario("a holder is asked by a relying party with a logo") as browser:
        rows = recorder.service.rows("presentation", "RelyingParty").exclude(logo=b"").order_by("name")
        people.enrolled(browser, "logo@example.org")
        for party in rows:
            asked = recorder.service.asked("Harbour Bank", login_hint="logo@example.org")
            uri = f"{recorder.service.base_url}/playground/callback/"
            asked |= {"client_id": party.client_id, "redirect_uri": uri}
            browser.follow(browser.get(AUTHORIZE, asked))
