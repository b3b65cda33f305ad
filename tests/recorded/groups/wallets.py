"""Holders without a request: signing in and out, receipts, and identity verification."""

import re
from datetime import timedelta

from infra import base64url
from tests.recorded import people, random_values
from tests.recorded.clock import clock
from tests.recorded.installation import AUTHORIZE
from tests.recorded.recorder import FORM, Recorder

BANK = "Harbour Bank"
NOBODY = "00000000-0000-4000-8000-000000000000"


def run(recorder: Recorder) -> None:
    """The pages in the order in which people see them."""
    _front_door(recorder)
    _codes(recorder)
    _links(recorder)
    _browsers(recorder)
    _receipts(recorder)
    _passkeys(recorder)
    _strangers(recorder)
    _identity(recorder)
    _data(recorder)
    _addresses(recorder)


def _front_door(recorder: Recorder) -> None:
    with recorder.scenario("the front door, and what is typed there") as browser:
        browser.get("/operator/logo")
        browser.get("/operator/style.css")
        browser.get("/wallet/")
        browser.get("/wallet/sign-in/")
        browser.send("HEAD", "/wallet/sign-in/")
        browser.send("PUT", "/wallet/sign-in/")
        for email in (
            "",
            "x",
            "a@b",
            "a@example.org, b@example.org",
            "ö@example.org",
            "a" * 250 + "@example.org",
        ):
            browser.post("/wallet/sign-in/", {"email": email})
        browser.send("POST", "/wallet/sign-in/", "email=a@example.org", FORM)
        browser.get("/wallet/sign-in/?again=1")
    with recorder.scenario("in by the front door, and out") as browser:
        people.signed_in(browser, "Fanny@Example.org")
        browser.get("/wallet/sign-in/")
        browser.get("/wallet/")
        browser.get("/")
        browser.get("/wallet/sign-out/")
        browser.follow(browser.post("/wallet/sign-out/"))
        browser.post("/wallet/sign-out/")
        browser.post("/wallet/signed-out/")


def _browsers(recorder: Recorder) -> None:
    with recorder.scenario("the signed-in browsers, and signing them out") as browser:
        browser.get("/wallet/security/")
        browser.post(f"/wallet/security/browsers/{NOBODY}/sign-out/")
        browser.post("/wallet/security/browsers/sign-out/", {"where": "everywhere"})
        people.signed_in(browser, "bea@example.org")
        browser.get("/wallet/security/")
        browser.get(f"/wallet/security/browsers/{NOBODY}/sign-out/")
        browser.post(f"/wallet/security/browsers/{NOBODY}/sign-out/")
        browser.get("/wallet/security/browsers/sign-out/")
        browser.post("/wallet/security/browsers/sign-out/", {"where": "others"})
        browser.post("/wallet/security/browsers/sign-out/", {"where": "everywhere"})
        browser.get("/wallet/security/")


ADDRESS, LOST = "/wallet/security/address/", "/wallet/lost-mailbox/"


def _addresses(recorder: Recorder) -> None:
    """The change of an e-mail address, and the way back into a wallet after a lost mailbox."""
    pages = (
        *(ADDRESS, f"{ADDRESS}confirm/", f"{ADDRESS}changed/"),
        *(f"{LOST}old-address/", f"{LOST}move/", f"{LOST}check/", f"{LOST}stop/"),
        *("/wallet/address-undo/unknown/", "/wallet/move-stop/unknown/", LOST),
    )
    with recorder.scenario("pages about addresses, for somebody who is not signed in") as browser:
        for page in pages:
            browser.get(page)
            browser.post(page)
        browser.post(LOST, {"email": "x"})
        browser.follow(browser.post(LOST, {"email": "lost.new@example.org"}))
    with recorder.scenario("an e-mail address is to be changed") as browser:
        people.signed_in(browser, "ada@example.org")
        browser.get("/wallet/security/")
        for page in pages[:2]:
            browser.get(page)
        for email in ("", "x", "ada@example.org", "ada.new@example.org", "ada.newer@example.org"):
            browser.post(ADDRESS, {"email": email})
        browser.get(f"{ADDRESS}confirm/")
        for code in ("", "x", "00000"):
            browser.post(f"{ADDRESS}confirm/", {"code": code})
        browser.get(f"{ADDRESS}changed/")
        clock.move(minutes=6)
        browser.follow(browser.get(ADDRESS))
    with recorder.scenario("a mailbox is lost") as browser:
        people.signed_in(browser, "lost.new@example.org")
        browser.get(LOST)
        for email in ("", "x", "lost.new@example.org", "lost.old@example.org"):
            browser.post(f"{LOST}old-address/", {"email": email})
        browser.get(f"{LOST}move/")
        browser.follow(browser.post(f"{LOST}check/"))
        browser.post(f"{LOST}stop/")


def _codes(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("codes: too soon, too often, too late") as browser:
        page = browser.follow(browser.post("/wallet/sign-in/", {"email": "cora@example.org"}))
        sign_in = page.path.replace("/code/", "/sign-in/")
        browser.get(page.path)
        browser.get(sign_in)
        browser.post(sign_in)
        for _ in range(6):
            clock.move(minutes=1)
            browser.post(sign_in)
        clock.move(minutes=11)
        browser.get(page.path)
        browser.post(page.path, {"code": "123456"})
        browser.get(f"{sign_in}?lapsed=1")
        clock.move(minutes=30)
        browser.get(sign_in)
        browser.get(page.path)
    with recorder.scenario("a code in another writing, twice") as browser:
        page = browser.follow(browser.post("/wallet/sign-in/", {"email": "carl@example.org"}))
        code = service.code(page)
        random_values.name(f"{code[:3]}-{code[3:]}", "‹code in two halves›")
        browser.post(page.path, {"code": f" {code[:3]}-{code[3:]} "})
        browser.post(page.path, {"code": code})
        browser.get(page.path)


def _links(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("a link in the place of a code") as browser:
        page = browser.follow(browser.post("/wallet/sign-in/", {"email": "lisa@example.org"}))
        sign_in = page.path.replace("/code/", "/sign-in/")
        clock.move(minutes=2)
        page = browser.follow(browser.post(sign_in, {"link": "1"}))
        link = service.link(browser)
        recorder.browser().get(link)
        browser.send("HEAD", link)
        browser.get(link)
        browser.get(page.path)
        browser.follow(browser.post(link))
        browser.get(link)
        browser.post(link)
        browser.send("PUT", link)
    with recorder.scenario("a link that has expired, and one that nobody sent") as browser:
        page = browser.follow(browser.post("/wallet/sign-in/", {"email": "lola@example.org"}))
        clock.move(minutes=2)
        browser.post(page.path.replace("/code/", "/sign-in/"), {"link": "1"})
        link = service.link(browser)
        clock.move(minutes=60)
        browser.get(link)
        browser.get("/wallet/link/nobody-has-this-one/")
        browser.post("/wallet/link/nobody-has-this-one/")


def _receipts(recorder: Recorder) -> None:
    service = recorder.service
    with recorder.scenario("receipts of all kinds, page by page") as browser:
        people.enrolled(browser, "helen@example.org")
        for number in range(22):
            asked = service.asked(BANK, login_hint="helen@example.org", nonce=f"n-receipts-{number:08}")
            page = people.asked(browser, asked)
            with browser.quietly():
                people.decided(browser, page, ("share", "decline")[number % 2])
        browser.get("/wallet/history/")
        browser.send("HEAD", "/wallet/history/")
        browser.post("/wallet/history/")
        for query in ("requester=acme", "requester=nobody", "since=x", "since=2026-03-10&until=2026-03-09"):
            browser.get(f"/wallet/history/?{query}")
        for query in ("older=x", "newer=x", "invalidated=x", f"invalidated={NOBODY}"):
            browser.get(f"/wallet/history/?{query}")
        browser.get(f"/wallet/history/{NOBODY}/")
        browser.post("/wallet/share-emails/", {"share_emails": "on"})
        browser.get("/wallet/share-emails/")
        browser.get(f"/wallet/history/{NOBODY}/invalidate/")
        browser.post(f"/wallet/history/{NOBODY}/invalidate/")
        other = recorder.browser()
        people.enrolled(other, "hugo@example.org")
        with browser.quietly():
            receipt = people.links(browser.get("/wallet/history/"), "/invalidate/")[0]
        browser.get(receipt.removesuffix("invalidate/"))
        for address in (receipt.removesuffix("invalidate/"), receipt):
            other.get(address)
        other.post(receipt)
        for page in ("statement/", "number/"):
            browser.get(receipt.replace("invalidate/", page))
        browser.post(receipt.replace("invalidate/", "number/"))
        for address in (
            "/statements/jwks",
            "/receipt-check/",
            "/wallet/requesters/",
            f"/wallet/requesters/{NOBODY}/",
        ):
            browser.get(address)
        browser.post("/receipt-check/", {"statement": "x"})
        with browser.quietly():
            listed = browser.get("/wallet/requesters/").text
        requester = re.findall(r'href="(/wallet/requesters/[^"]+)"', listed)[0]
        for page in ("", "deletion/", "report/"):
            browser.get(requester + page)
        browser.post(f"{requester}deletion/")
        browser.post(f"{requester}report/", {})
        browser.post(f"{requester}report/", {"reason": "other"})


def _passkeys(recorder: Recorder) -> None:
    """Without an authenticator: its signatures would be others each time."""
    service = recorder.service
    with recorder.scenario("passkeys: the pages, and what no authenticator makes") as browser:
        with browser.quietly():
            people.enrolled(browser, "pascale@example.org")
        wallet = service.rows("wallet", "Wallet").get(email="pascale@example.org")
        random_values.name(base64url.encode(wallet.pk.bytes), "‹ID of the wallet in base64url›")
        browser.get("/wallet/history/")
        browser.get("/wallet/passkeys/add/")
        browser.post("/wallet/passkeys/options/add/")
        browser.post(f"/wallet/passkeys/options/confirm/{NOBODY}/")
        for posted in ("", "{}", "x" * 20_000):
            browser.post("/wallet/passkeys/add/", {"passkey": posted})
        browser.send("PUT", "/wallet/passkeys/add/")
        browser.follow(browser.post("/wallet/passkeys/no-thanks/"))
        clock.move(minutes=11)
        browser.post("/wallet/passkeys/add/", {"passkey": "{}"})
        browser.post("/wallet/passkeys/options/add/")
        page = browser.follow(browser.get("/wallet/passkeys/add/"))
        redirect_task = page.path.removesuffix("sign-in/")
        browser.post(f"{redirect_task}passkey/options/")
        browser.post(f"{redirect_task}passkey/", {"passkey": "{}"})
        browser.get(f"{redirect_task}passkey/")
    with recorder.scenario("passkeys at the front door, for a stranger") as browser:
        browser.post("/wallet/passkeys/options/sign-in/")
        browser.post("/wallet/passkeys/sign-in/", {"passkey": "{}"})


def _strangers(recorder: Recorder) -> None:
    with recorder.scenario("every page of a wallet, for a stranger") as browser:
        redirect_task = f"/wallet/errands/{NOBODY}"
        for path in (
            "/wallet/history/",
            f"/wallet/history/{NOBODY}/",
            f"/wallet/history/{NOBODY}/invalidate/",
            "/wallet/requesters/",
            f"/wallet/requesters/{NOBODY}/",
            f"/wallet/requesters/{NOBODY}/deletion/",
            f"/wallet/requesters/{NOBODY}/report/",
            "/wallet/share-emails/",
            f"/consent/{NOBODY}/",
            f"{redirect_task}/sign-in/",
            f"{redirect_task}/code/",
            f"{redirect_task}/switch/",
            f"{redirect_task}/sign-out/",
            f"{redirect_task}/signed-out/",
            f"{redirect_task}/identity/",
            f"{redirect_task}/identity/start/",
            f"{redirect_task}/identity/continue/",
            f"{redirect_task}/identity/cancel/",
            f"{redirect_task}/identity/in-person/",
            f"{redirect_task}/identity/upload/",
            f"{redirect_task}/identity/other-wallet/",
            f"{redirect_task}/passkey/",
            f"{redirect_task}/passkey/options/",
            "/wallet/passkeys/add/",
            "/wallet/passkeys/no-thanks/",
            "/wallet/passkeys/sign-in/",
            "/wallet/passkeys/options/add/",
            "/wallet/passkeys/options/sign-in/",
            f"/wallet/passkeys/options/confirm/{NOBODY}/",
            f"/wallet/passkeys/{NOBODY}/name/",
            f"/wallet/passkeys/{NOBODY}/remove/",
            "/wallet/identity/",
            f"/wallet/identity/{NOBODY}/return/",
            *(f"/wallet/identity/{name}/{end}" for name in ("simulated", "unknown") for end in MESSAGES),
        ):
            browser.get(path)
            browser.post(path)


# Where providers' machines call, and where browsers come back with parameters; nothing is there by itself.
MESSAGES = ("", "callback/", "callback/further/", "return/")


def _identity(recorder: Recorder) -> None:
    """In the sandbox every outcome of its provider, in production verification by an operator."""
    service = recorder.service
    with recorder.scenario("the check of an identity is begun and given up") as browser:
        with browser.quietly():
            page = people.to_identity(browser, "ida@example.org")
        address = page.path
        browser.get(address)
        browser.send("HEAD", address)
        browser.post(address)
        browser.get(f"{address}start/")
        provider = browser.follow(browser.post(f"{address}start/"))
        browser.get(address)
        browser.get(f"{address}continue/")
        browser.get(f"{address}in-person/")
        browser.get(f"{address}cancel/")
        browser.follow(browser.post(f"{address}cancel/"))
        browser.get(provider.path)
        browser.post(f"{address}in-person/")
        recorder.browser().get(provider.path)
        number = str(service.rows("wallet", "IdentityVerification").order_by("-created_at").first().pk)
        browser.get(f"/wallet/identity/{number}/return/")
        recorder.browser().get(f"/wallet/identity/{number}/return/")
        browser.post(f"/wallet/identity/{number}/return/")
    if service.sandbox:
        _outcomes(recorder)
    else:
        _in_person(recorder)
    with recorder.scenario("a verified identity that has ended") as browser:
        people.enrolled(browser, "ended@example.org")
        wallet = service.rows("wallet", "Wallet").get(email="ended@example.org")
        rows = service.rows("wallet", "Credential").filter(wallet=wallet)
        rows.update(
            issued_at=clock.now() - timedelta(days=800), expires_at=clock.now() - timedelta(minutes=1)
        )
        browser.follow(browser.get(AUTHORIZE, service.asked(BANK, login_hint="ended@example.org")))


def _outcomes(recorder: Recorder) -> None:
    for outcome in (
        "under-18",
        "turns-18-tomorrow",
        "non-latin",
        "one-word",
        "year-of-birth",
        "long-name",
        "resubmit",
        "review",
        "declined",
        "error",
        "slow",
        "early",
        "result-first",
        "never",
        "elsewhere",
    ):
        with recorder.scenario(f"the check of an identity ends with: {outcome}") as browser:
            with browser.quietly():
                page = people.to_identity(browser, f"{outcome}@example.org")
            address = page.path
            with browser.quietly():
                provider = browser.follow(browser.post(f"{address}start/"))
            page = browser.follow(browser.post(provider.path, {"outcome": outcome}))
            browser.get(provider.path)
            if "/identity/" not in page.path:
                continue
            clock.move(minutes=2)
            page = browser.follow(browser.get(address))
            if "/identity/" not in page.path:
                continue
            page = browser.follow(browser.post(f"{address}start/"))
            if page.path == provider.path:
                browser.follow(browser.post(provider.path, {"outcome": outcome}))
            browser.follow(browser.post(f"{address}cancel/"))
    with recorder.scenario("an outcome that there is not") as browser:
        with browser.quietly():
            page = people.to_identity(browser, "none@example.org")
        provider = browser.follow(browser.post(f"{page.path}start/"))
        browser.send("HEAD", provider.path)
        browser.post(provider.path)
        browser.post(provider.path, {"outcome": "x"})
        browser.send("PUT", provider.path)
        browser.get(f"/sandbox/identity/{NOBODY}/")
        recorder.browser().post(provider.path, {"outcome": "adult"})


def _in_person(recorder: Recorder) -> None:
    with recorder.scenario("an operator declines") as browser:
        with browser.quietly():
            page = people.to_identity(browser, "declined@example.org")
        address = page.path
        browser.post(f"{address}start/")
        browser.get(f"{address}in-person/")
        browser.follow(browser.post(f"{address}in-person/"))
        browser.get(address)
        people.decline(browser)
        browser.get(address)
        browser.follow(browser.post(f"{address}start/"))
        clock.move(minutes=20)
        browser.get(address)


def _data(recorder: Recorder) -> None:
    pages = ("/wallet/data/", "/wallet/data/json/", "/wallet/data/html/", "/wallet/close/")
    with recorder.scenario("what is kept, and strangers at the data of holders") as browser:
        browser.get("/what-is-kept/")
        for page in (*pages, "/wallet/close/keep/"):
            browser.get(page)
            browser.post(page)
    with recorder.scenario("data downloaded, the wallet closed and kept") as browser:
        people.signed_in(browser, "delphine@example.org")
        for page in pages:
            browser.get(page)
        browser.follow(browser.post("/wallet/close/"))
        browser.follow(browser.post("/wallet/close/keep/"))
        clock.move(minutes=16)
        for page in pages:
            browser.get(page)
