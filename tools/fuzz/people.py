"""Scenarios of holders at their browsers, from the relying party's link to its answer."""

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from tools.fuzz.dataset import answer
from tools.fuzz.gateway import BASE_URL, Reply
from tools.fuzz.requests import AUTHORIZE, Pairs, carried, parameters

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser

# https, a native application of the relying party, or the same machine. No other redirect is allowed.
_MAY_BE_FOLLOWED = re.compile(
    r"https://[a-z0-9]|com\.example\.app:/|http://(localhost|127\.0\.0\.1)[:/]", re.IGNORECASE
)
_CODE = re.compile(r"(?<!\d)(\d{6})(?!\d)")
_OUTCOMES = (
    *("adult", "adult", "under-18", "non-latin", "one-word", "long-name", "resubmit", "review", "declined"),
    *("error", "slow", "turns-18-tomorrow"),
)


def present(browser: "Browser") -> None:
    """A known holder shares or declines, and the relying party has the presentation verified."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    holder, party = rng.choice(dataset.holders), rng.choice(dataset.parties)
    if rng.random() < 0.9:
        browser.cookies["holder"] = dataset.holder_cookie(holder)
    asked, data = parameters(browser, party, holder.email)
    _party_answers(browser)
    address = carried(browser, party, asked)
    page = browser.follow(browser.get(AUTHORIZE, address))
    if rng.random() < 0.1:
        page = browser.follow(browser.get(AUTHORIZE, address))  # a reload
    browser.runner.account.reached["consent pages"] += (
        page.path.startswith("/consent/") and page.status == 200
    )
    home = decided(browser, page)
    if not home.location:
        return
    said = dict(parse_qsl(urlsplit(home.location).fragment))
    if "vp_token" in said:
        _verified(
            browser, party, {"vp_token": said["vp_token"], "nonce": asked["nonce"], "transaction_data": data}
        )
    if browser.mutator.rng.random() < 0.3:
        _looks_back(browser)


def decided(browser: "Browser", page: Reply) -> Reply:
    """Submits a decision to the address of the form on the consent page, or to a wrong one."""
    rng = browser.mutator.rng
    if "/consent/" not in page.path or page.status != 200:
        return page
    action = re.search(r'<form[^>]+action="([^"]+)"', page.text)
    place = action[1] if action and rng.random() < 0.8 else page.path
    decision = rng.choice(("share", "share", "share", "share", "decline", "not_me"))
    reply = browser.post(place, [("decision", decision)])
    reply = browser.follow(reply)
    if "/delivery/" in reply.path:
        browser.runner.account.reached["answers posted"] += 1
    return reply


def _party_answers(browser: "Browser") -> None:
    """Sets the server's reply to a posted answer: nothing, a redirect URI, or random content."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    said: dict[str, object] = {}
    onward = rng.choice((f"{BASE_URL}/playground/callback/?x=1", "https://relying-party1.example/done#a"))
    body = b"{}"
    if rng.random() < 0.5:
        body = browser.mutator.json({"redirect_uri": onward}).encode("utf-8", "surrogatepass")
        with suppress(ValueError, RecursionError):
            said = json.loads(body)
    # A registered server may choose where the browser goes (OpenID4VP 1.0 §8.2).
    chosen = said.get("redirect_uri") if isinstance(said, dict) else None
    followed = isinstance(chosen, str) and _MAY_BE_FOLLOWED.match(chosen)
    browser.runner.oracles.onward = str(chosen) if followed else ""
    status = rng.choice(("200 OK", "200 OK", "200 OK", "500 No", "204 No Content", "302 Found"))
    dataset.party_server.reply = answer(body, status=status)
    if browser.mutator.turns(0.1):
        dataset.party_server.reply = rng.choice(
            (b"", b"\xff" * 50, b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/9 \r\n\r\n" * 3)
        )


def _verified(browser: "Browser", party: object, body: dict[str, object]) -> None:
    from tools.fuzz.machines import send_to_verify

    if not browser.runner.dataset.others:  # the dataset is not complete yet
        browser.runner.dataset.presentations.append({"party": party, "body": body})
    send_to_verify(browser, party, body)


def _looks_back(browser: "Browser") -> None:
    """Opens the receipts and revokes a presentation."""
    history = browser.get(
        "/wallet/history/", [("requester", "a"), ("since", "2026-01-01")] if browser.mutator.turns() else None
    )
    found = re.search(r'href="(/wallet/history/[^"]+/invalidate/)"', history.text)
    if found:
        browser.get(found[1])
        reply = browser.follow(browser.post(found[1], []))
        browser.runner.account.reached["presentations taken back"] += "invalidated=" in reply.query


def enrol(browser: "Browser") -> None:
    """A new holder signs in with the code, is verified, and decides."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    party = rng.choice(dataset.parties)
    email = f"new{rng.getrandbits(60):x}@example.org"
    asked, _ = parameters(browser, party, email)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, party, asked)))
    page = signed_in(browser, page)
    for _ in range(3):
        if "/identity/" not in page.path or page.status != 200:
            break
        page = _checked(browser, page)
    decided(browser, page)


def signed_in(browser: "Browser", page: Reply) -> Reply:
    """Signs in with a code, from the page that sends one or takes it; returns the page after it."""
    if page.path.endswith("/sign-in/"):
        page = browser.follow(browser.post(page.path, []))
    code = _CODE.search(page.text)
    if not page.path.endswith("/code/"):
        return page
    typed = code[1] if code and browser.mutator.rng.random() < 0.85 else "123456"
    after = browser.follow(browser.post(page.path, [("code", typed)]))
    browser.runner.account.reached["sign-ins by code"] += not after.path.endswith("/code/")
    return after


def _checked(browser: "Browser", page: Reply) -> Reply:
    redirect_task = page.path.split("/")[3]
    started = browser.post(f"/wallet/errands/{redirect_task}/identity/start/", [("provider", "simulated")])
    provider = browser.follow(started)
    if provider.path.startswith("/sandbox/identity/"):
        outcome = browser.mutator.rng.choice(_OUTCOMES)
        page = browser.follow(browser.post(provider.path, [("outcome", outcome)]))
        browser.runner.account.reached["identity checks"] += 1
        return page
    if browser.mutator.rng.random() < 0.3:
        return browser.follow(browser.post(f"/wallet/errands/{redirect_task}/identity/cancel/", []))
    return browser.get(f"/wallet/errands/{redirect_task}/identity/")


def sign_in(browser: "Browser") -> None:
    """A holder opens the wallet without a request and enters an e-mail address."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    email = rng.choice((rng.choice(dataset.holders).email, f"own{rng.getrandbits(60):x}@example.org"))
    browser.get("/wallet/sign-in/")
    fields: Pairs = [("email", email)]
    page = browser.follow(browser.post("/wallet/sign-in/", fields))
    if page.path.endswith("/code/"):
        code = _CODE.search(page.text)
        page = browser.follow(browser.post(page.path, [("code", code[1] if code else "000000")]))
    browser.runner.account.reached["wallets opened"] += page.path == "/wallet/"
    if rng.random() < 0.5:
        browser.follow(browser.post("/wallet/sign-out/", []))


def by_link(browser: "Browser") -> None:
    """The codes of a mailbox are used up, so the holder signs in with a link."""
    dataset = browser.runner.dataset
    email = browser.mutator.rng.choice(dataset.holders).email
    dataset.use_up_codes(email)
    page = browser.follow(browser.post("/wallet/sign-in/", [("email", email)]))
    letters = browser.get("/sandbox/mailbox/")
    found = re.search(
        r'href="(?:' + re.escape(BASE_URL) + r')?(/wallet/link/[^"]+)"', page.text + letters.text
    )
    if found is None:
        return
    browser.get(found[1])
    after = browser.follow(browser.post(found[1], []))
    browser.runner.account.reached["sign-ins by link"] += after.path == "/wallet/"


def somebody_else(browser: "Browser") -> None:
    """The request names another holder than the one signed in, or the holder signs out."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    signed_in, asked_for = rng.sample(dataset.holders, 2)
    browser.cookies["holder"] = dataset.holder_cookie(signed_in)
    party = rng.choice(dataset.parties)
    asked, _ = parameters(browser, party, asked_for.email)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, party, asked)))
    if not page.path.startswith("/wallet/errands/"):
        return
    redirect_task = page.path.split("/")[3]
    if rng.random() < 0.5:
        after = browser.follow(browser.post(f"/wallet/errands/{redirect_task}/switch/", []))
        browser.runner.account.reached["holders switched"] += after.path.endswith("/sign-in/")
    else:
        after = browser.follow(browser.post(f"/wallet/errands/{redirect_task}/sign-out/", []))
        browser.runner.account.reached["sign-outs half-way"] += after.path.endswith("/signed-out/")


def as_json(reply: Reply) -> dict[str, object]:
    """The members of a JSON reply; empty for any other."""
    try:
        said = json.loads(reply.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
