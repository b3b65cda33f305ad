"""Holders who follow a request: new ones and known ones."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.presentation.payloads import FULL, MANDATE, SESSION, value
from tests.recorded import people, random_values
from tests.recorded.clock import clock
from tests.recorded.groups.authorize import claims
from tests.recorded.installation import AUTHORIZE, OUTCOME, PRESENTATION, VERIFY
from tests.recorded.recorder import Browser, Recorder, encoded
from tests.relying_party import read_json
from tools.fuzz.gateway import Reply

BANK = "Harbour Bank"
NONCE = "n-0S6_WzA2Mj-0123456"


def run(recorder: Recorder) -> None:
    """All scenarios of holders."""
    _newcomer(recorder)
    _returning(recorder)
    _verified(recorder)
    _ways_out(recorder)
    _questions(recorder)
    _detours(recorder)
    _stale(recorder)
    _lost(recorder)
    _languages(recorder)
    if recorder.service.sandbox:
        _posted(recorder)
    _again(recorder)


def _newcomer(recorder: Recorder) -> None:
    with recorder.scenario("a newcomer, from the request to the answer") as browser:
        page = people.checked(browser, people.to_identity(browser, "nora@example.org"))
        people.decided(browser, page, "share")
    with recorder.scenario("a newcomer who types wrong codes") as browser:
        asked = recorder.service.asked(BANK, login_hint="nico@example.org")
        page = browser.follow(browser.get(AUTHORIZE, asked))
        page = browser.follow(browser.post(page.path))
        wrong = recorder.service.wrong_code(recorder.service.code(page))
        for code in ("", "x", "12345", wrong, wrong, wrong, wrong, wrong, wrong):
            browser.post(page.path, {"code": code})
        browser.get(page.path)
        browser.post(page.path.replace("/code/", "/sign-in/"))


def _languages(recorder: Recorder) -> None:
    """The language of the pages, as the person, the request and the browser say."""
    with recorder.scenario("a person who chooses Spanish") as browser:
        browser.follow(browser.post("/language/", {"language": "es", "next": "/wallet/sign-in/"}))
        browser.post("/language/", {"language": "es", "next": "//elsewhere.example/"})
        browser.post("/language/", {"language": "xx", "next": "/"})
        browser.get("/language/")
    with recorder.scenario("a request with ui_locales") as browser:
        asked = recorder.service.asked(BANK, login_hint="luz@example.org", ui_locales="fr es")
        browser.follow(browser.get(AUTHORIZE, asked))
    with recorder.scenario("a browser that accepts Spanish") as browser:
        browser.get("/nothing/", Accept_Language="es-MX,es;q=0.9")


def _nonce(number: int) -> str:
    return f"n-holders-{number:08}"


def _returning(recorder: Recorder) -> None:
    """Every kind of request, with a holder who is signed in."""
    service = recorder.service
    with recorder.scenario("a holder who comes again, in two requests") as browser:
        people.enrolled(browser, "rosa@example.org")
        page = browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="rosa@example.org")))
        people.decided(browser, page, "share")
        people.decided(browser, page, "share")
        people.decided(browser, page, "decline")
        browser.get(page.path)
        browser.get(AUTHORIZE, service.asked(BANK, login_hint="rosa@example.org"))
    rows: dict[str, dict[str, Any]] = {
        "who declines": {},
        "in the wire format of OpenID4VP": {"party": "Tea House"},
        "without state": {"state": None},
        "to an app": {"redirect_uri": "com.example.bank:/back"},
        "to an address with a query": {"redirect_uri": "https://harbour-bank.example/other?lang=en"},
        "for some claims": claims(["given_name"], ["birth_date"], ["nationalities", None]),
        "for the age alone": claims(["age_equal_or_over", "18"]),
        "for nothing but being verified": claims(),
        "for session data": {"transaction_data": value(SESSION)},
        "for a payment": {"transaction_data": value(MANDATE)},
        "for all transactions": {"transaction_data": json.dumps([value(urn) for urn in FULL])},
    }
    for number, (title, changes) in enumerate(rows.items()):
        with recorder.scenario(f"a holder {title}") as browser:
            email, changes = f"holder{number}@example.org", dict(changes)
            party = changes.pop("party", BANK)
            if "dcql_query" in changes:
                vct = f"{service.base_url}/credential-types/identity/v1"
                changes["dcql_query"] = changes["dcql_query"].replace("a type", vct)
            people.enrolled(browser, email)
            clock.move(minutes=1)
            page = browser.follow(browser.get(AUTHORIZE, service.asked(party, login_hint=email, **changes)))
            people.decided(browser, page, "decline" if title == "who declines" else "share")


def _verified(recorder: Recorder) -> None:
    """Verification and outcome of presentations."""
    service = recorder.service
    with recorder.scenario("a presentation is verified, and then taken back") as browser:
        people.enrolled(browser, "vera@example.org")
        token = service.token(browser, BANK)
        nonce = _nonce(1)
        asked = service.asked(
            BANK, login_hint="vera@example.org", nonce=nonce, transaction_data=value(SESSION)
        )
        page = people.asked(browser, asked)
        browser.get(OUTCOME, {"nonce": nonce}, **token)
        with browser.quietly():
            home = people.decided(browser, page, "share")
        presented = fragment(home)["vp_token"]
        body: dict[str, Any] = {"vp_token": presented, "nonce": nonce, "transaction_data": [value(SESSION)]}
        browser.submit_json(VERIFY, body, **token)
        browser.submit_json(VERIFY, body | {"nonce": "another-nonce-0123456"}, **token)
        browser.submit_json(VERIFY, body | {"transaction_data": []}, **token)
        browser.submit_json(VERIFY, body | {"transaction_data": [value(MANDATE)]}, **token)
        browser.submit_json(VERIFY, body | {"vp_token": {"basic": [presented]}}, **token)
        browser.submit_json(VERIFY, body | {"vp_token": presented[:-4] + "AAAA"}, **token)
        browser.submit_json(VERIFY, body | {"vp_token": presented.rpartition("~")[0] + "~"}, **token)
        browser.submit_json(VERIFY, body, **service.token(browser, "Tea House"))
        browser.get(OUTCOME, {"nonce": nonce}, **token)
        browser.get(OUTCOME, {"nonce": nonce}, **service.token(browser, "Tea House"))
        where = urlsplit(_status_list(presented)).path
        tag = browser.get(where).header("ETag") or ""
        browser.get(where, If_None_Match=tag)
        browser.get(where, Accept_Encoding="gzip")
        for method in ("HEAD", "OPTIONS", "POST"):
            browser.send(method, where)
        receipt = browser.get("/wallet/history/")
        place = people.links(receipt, "/invalidate/")[0]
        browser.get(place)
        browser.send("HEAD", place)
        browser.send("DELETE", place)
        browser.follow(browser.post(place))
        browser.post(place)
        browser.get(place)
        browser.submit_json(VERIFY, body, **token)
        browser.get(OUTCOME, {"nonce": nonce}, **token)
        clock.move(days=2)
        browser.submit_json(VERIFY, body, **service.token(browser, BANK))
        clock.move(days=-2)
    with recorder.scenario("outcomes of requests that came to something else") as browser:
        people.enrolled(browser, "otto@example.org")
        token = service.token(browser, BANK)
        nonces = [_nonce(number) for number in range(2, 5)]
        for nonce in nonces:
            page = people.asked(browser, service.asked(BANK, login_hint="otto@example.org", nonce=nonce))
            if nonce == nonces[0]:
                with browser.quietly():
                    people.decided(browser, page, "decline")
        clock.move(minutes=31)
        for nonce in nonces:
            browser.get(OUTCOME, {"nonce": nonce}, **service.token(browser, BANK))


def _ways_out(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("leaving from the sign-in page, and what is left of it") as browser:
        page = people.asked(browser, service.asked(BANK, login_hint="leo@example.org"))
        leave = people.links(page, "/leave/")[0]
        browser.send("POST", leave)
        browser.get(leave)
        browser.get(leave)
        browser.get(leave.removesuffix("leave/"))
        browser.get(page.path)
    with recorder.scenario("another browser") as browser:
        people.enrolled(browser, "bert@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="bert@example.org"))
        other = recorder.browser()
        other.get(page.path)
        place = people.action(page)
        other.get(place)
        other.post(place, {"decision": "share"})
        other.get(f"{place}leave/")
        other.get(f"{place}delivery/")
        people.enrolled(other, "ben@example.org")
        other.get(page.path)
        other.post(page.path, {"decision": "share"})
    with recorder.scenario("an interaction that nobody began") as browser:
        for more in ("", "leave/", "delivery/"):
            browser.get(f"{PRESENTATION}interactions/00000000-0000-4000-8000-000000000000/{more}")
            browser.post(f"{PRESENTATION}interactions/00000000-0000-4000-8000-000000000000/{more}")
        browser.send("DELETE", f"{PRESENTATION}interactions/00000000-0000-4000-8000-000000000000/")


def _questions(recorder: Recorder) -> None:
    """The consent page, and forms that decide nothing."""
    service = recorder.service

    def question(browser: Browser, email: str, **changes: Any) -> Reply:
        people.enrolled(browser, email)
        return people.asked(browser, service.asked(BANK, login_hint=email, **changes))

    with recorder.scenario("the question by other methods and with other decisions") as browser:
        page = question(browser, "quentin@example.org")
        browser.send("HEAD", page.path)
        browser.send("DELETE", page.path)
        browser.post(page.path, {"decision": "perhaps"})
        browser.post(page.path)
        browser.send("POST", page.path, "decision=share", "application/x-www-form-urlencoded")
        browser.send(
            "POST",
            people.action(page),
            "decision=share",
            "application/x-www-form-urlencoded",
            Origin="https://evil.example",
            Sec_Fetch_Site="cross-site",
        )
        browser.get(f"{people.action(page)}?again=1")
        browser.get(people.action(page))
        browser.send("PUT", people.action(page))
    with recorder.scenario("the decision at the address of the question") as browser:
        page = question(browser, "quinn@example.org")
        browser.follow(browser.post(page.path, {"decision": "share"}))
        browser.post(page.path, {"decision": "share"})
        browser.post(page.path, {"decision": "decline"})
        browser.get(page.path)
    with recorder.scenario("somebody else sits there") as browser:
        page = question(browser, "quigley@example.org")
        browser.follow(people.decided(browser, page, "not_me"))
    with recorder.scenario("a decision that comes too late") as browser:
        page = question(browser, "quimby@example.org")
        clock.move(minutes=28)
        browser.get(page.path)
        clock.move(minutes=3)
        browser.get(page.path)
        people.decided(browser, page, "share")
        browser.get(people.action(page))


def _detours(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("another holder is signed in") as browser:
        people.enrolled(browser, "dora@example.org")
        page = browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="dina@example.org")))
        browser.send("HEAD", page.path)
        browser.follow(browser.post(page.path))
        browser.get(page.path)
    with recorder.scenario("signing out on the way") as browser:
        people.enrolled(browser, "dan@example.org")
        with browser.quietly():
            page = people.to_identity(browser.recorder.browser(), "dave@example.org")
        identity = page.path
        other = recorder.browser()
        with other.quietly():
            page = people.to_identity(other, "doris@example.org")
        browser.get(identity)
        identity = page.path
        other.get(identity.replace("/identity/", "/sign-in/"))
        other.follow(other.post(identity.replace("/identity/", "/sign-out/")))
        other.get(identity)
        other.get(identity.replace("/identity/", "/signed-out/"))
        clock.move(minutes=40)
        other.get(identity.replace("/identity/", "/signed-out/"))
        other.get(identity)
    with recorder.scenario("a payment long after the sign-in") as browser:
        people.enrolled(browser, "paula@example.org")
        clock.move(minutes=10)
        asked = service.asked(BANK, login_hint="paula@example.org", transaction_data=value(MANDATE))
        page = browser.follow(browser.get(AUTHORIZE, asked))
        page = browser.follow(browser.post(page.path))
        people.typed(browser, page)
    with recorder.scenario("a session that has ended by itself") as browser:
        people.enrolled(browser, "sleepy@example.org")
        clock.move(minutes=31)
        browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="sleepy@example.org")))


def _stale(recorder: Recorder) -> None:
    """Something changes between the request and the answer."""
    service = recorder.service
    party = service.rows("presentation", "RelyingParty").filter(client_id=service[BANK].client_id)
    scopes = list(party.get().allowed_scopes)
    with recorder.scenario("suspended between question and decision") as browser:
        people.enrolled(browser, "stella@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="stella@example.org"))
        party.update(state="suspended", suspension_reason="complaints")
        people.decided(browser, page, "share")
        browser.get(people.action(page) + "leave/")
        browser.get("/wallet/history/")
        party.update(state="active", suspension_reason="")
    with recorder.scenario("a scope taken away between question and decision") as browser:
        people.enrolled(browser, "sven@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="sven@example.org"))
        party.update(allowed_scopes=[])
        people.decided(browser, page, "share")
        browser.get("/wallet/history/")
        party.update(allowed_scopes=scopes)
    with recorder.scenario("a wallet suspended between question and decision") as browser:
        people.enrolled(browser, "susi@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="susi@example.org"))
        wallet = service.rows("wallet", "Wallet").filter(email="susi@example.org")
        wallet.update(state="suspended")
        people.decided(browser, page, "share")
        page = browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="susi@example.org")))
        wallet.update(state="active")
    with recorder.scenario("a suspended wallet at sign-in") as browser:
        other = recorder.browser()
        people.enrolled(other, "sid@example.org")
        service.rows("wallet", "Wallet").filter(email="sid@example.org").update(state="suspended")
        page = browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="sid@example.org")))
        people.typed(browser, browser.follow(browser.post(page.path)))
    with recorder.scenario("a credential revoked between question and decision") as browser:
        people.enrolled(browser, "rita@example.org")
        page = people.asked(browser, service.asked(BANK, login_hint="rita@example.org"))
        wallet = service.rows("wallet", "Wallet").get(email="rita@example.org")
        service.rows("wallet", "Credential").filter(wallet=wallet).update(state="revoked")
        browser.follow(people.decided(browser, page, "share"))


def _lost(recorder: Recorder) -> None:
    with recorder.scenario("no cookies at all") as browser:
        page = browser.get(AUTHORIZE, recorder.service.asked(BANK, login_hint="lena@example.org"))
        browser.cookies.clear()
        browser.get(page.location)
        browser.cookies.clear()
        browser.post(page.location)


def _posted(recorder: Recorder) -> None:
    """Answers that are posted to the relying party, which redirects the browser."""
    service = recorder.service
    onward = b'{"redirect_uri": "https://harbour-bank.example/welcome#code=1"}'
    replies: dict[str, tuple[int, bytes]] = {
        "and the relying party says where to go": (200, onward),
        "and the relying party says nothing": (200, b"{}"),
        "and the relying party refuses it": (400, b"{}"),
        "and the relying party fails": (500, b"{}"),
        "and the relying party wants a script opened": (200, b'{"redirect_uri": "javascript:alert(1)"}'),
    }
    for number, (title, reply) in enumerate(replies.items()):
        with recorder.scenario(f"an answer is posted {title}") as browser:
            email = f"posted{number}@example.org"
            people.enrolled(browser, email)
            service.party_server.reply = reply
            page = browser.follow(browser.get(AUTHORIZE, service.posted(BANK, login_hint=email)))
            done = people.decided(browser, page, "share")
            if done.location.startswith("/"):
                browser.get(done.location)
                browser.send("HEAD", done.location)
                browser.post(done.location, {"choice": "again"})
                browser.get(done.location)
                browser.post(done.location, {"choice": "give_up"})
                browser.get(done.location)
            service.party_server.reply = (200, b"{}")
    with recorder.scenario("an answer is posted encrypted") as browser:
        people.enrolled(browser, "enc@example.org")
        jwk = {"kid": "enc", "alg": "ECDH-ES", "use": "enc", **random_values.jwk(service[BANK].key)}
        metadata = {"jwks": {"keys": [jwk]}, "encrypted_response_enc_values_supported": ["A128GCM"]}
        asked = service.posted(
            BANK,
            login_hint="enc@example.org",
            response_mode="direct_post.jwt",
            client_metadata=json.dumps(metadata),
        )
        page = browser.follow(browser.get(AUTHORIZE, asked))
        browser.follow(people.decided(browser, page, "share"))
    with recorder.scenario("a refusal is posted") as browser:
        people.enrolled(browser, "refusing@example.org")
        page = browser.follow(
            browser.get(AUTHORIZE, service.posted("Tea House", login_hint="refusing@example.org"))
        )
        browser.follow(people.decided(browser, page, "decline"))
    with recorder.scenario("an expired request is told by a post") as browser:
        page = people.asked(browser, service.posted(BANK, login_hint="late@example.org"))
        clock.move(minutes=31)
        leave = people.links(page, "/leave/")[0]
        browser.follow(browser.get(leave))


def _status_list(presented: str) -> str:
    """The address of the status list that a presentation names."""
    said = read_json(presented.split(".")[1])["status"]["status_list"]["uri"]
    return str(said)


def fragment(home: Reply) -> dict[str, str]:
    """The parameters of an answer."""
    return dict(parse_qsl(urlsplit(home.location).fragment))


def _again(recorder: Recorder) -> None:
    with recorder.scenario("the same request opened again, before and after its answer") as browser:
        people.enrolled(browser, "olive@example.org")
        asked = recorder.service.asked(BANK, login_hint="olive@example.org")
        browser.get(AUTHORIZE, asked, Sec_Purpose="prefetch")
        browser.send("HEAD", f"{AUTHORIZE}?{encoded(asked)}")
        page = browser.get(AUTHORIZE, asked)
        browser.get(AUTHORIZE, asked)
        people.decided(browser, page, "share")
        browser.get(AUTHORIZE, asked)
