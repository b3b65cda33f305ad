"""Stories of holders at their browsers, from the relying party's link to its answer."""

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from tests.fuzz.gateway import BASE_URL, Reply
from tests.fuzz.requests import AUTHORIZE, Pairs, carried, parameters
from tests.fuzz.world import answer

if TYPE_CHECKING:
    from tests.fuzz.player import Browser

# https, an app of the party's, or the same machine: no text at all may lead the browser anywhere else.
_MAY_BE_FOLLOWED = re.compile(
    r"https://[a-z0-9]|com\.example\.app:/|http://(localhost|127\.0\.0\.1)[:/]", re.IGNORECASE
)
_CODE = re.compile(r"(?<!\d)(\d{6})(?!\d)")
_OUTCOMES = (
    *("adult", "adult", "under-18", "non-latin", "one-word", "long-name", "resubmit", "review", "declined"),
    *("error", "slow", "turns-18-tomorrow"),
)


def present(browser: "Browser") -> None:
    """A holder who is known shares what is asked, or does not; the party has it verified."""
    chance, world = browser.spoiler.chance, browser.player.world
    holder, party = chance.choice(world.holders), chance.choice(world.parties)
    if chance.random() < 0.9:
        browser.cookies["holder"] = world.holder_cookie(holder)
    asked, data = parameters(browser, party, holder.email)
    _far_end_answers(browser)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, party, asked)))
    browser.player.account.reached["consent pages"] += (
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
    if browser.spoiler.chance.random() < 0.3:
        _looks_back(browser)


def decided(browser: "Browser", page: Reply) -> Reply:
    """A decision on the consent page, sent where its form goes, or beside it."""
    chance = browser.spoiler.chance
    if "/consent/" not in page.path or page.status != 200:
        return page
    action = re.search(r'<form[^>]+action="([^"]+)"', page.text)
    place = action[1] if action and chance.random() < 0.8 else page.path
    decision = chance.choice(("share", "share", "share", "share", "decline", "not_me"))
    reply = browser.post(place, [("decision", decision)])
    reply = browser.follow(reply)
    if "/delivery/" in reply.path:
        browser.player.account.reached["answers posted"] += 1
    return reply


def _far_end_answers(browser: "Browser") -> None:
    """What the party's server says to a posted answer: nothing, where to go on, or anything."""
    chance, world = browser.spoiler.chance, browser.player.world
    said: dict[str, object] = {}
    onward = chance.choice((f"{BASE_URL}/playground/callback/?x=1", "https://relying-party1.example/done#a"))
    body = b"{}"
    if chance.random() < 0.5:
        body = browser.spoiler.json({"redirect_uri": onward}).encode("utf-8", "surrogatepass")
        with suppress(ValueError, RecursionError):
            said = json.loads(body)
    # Its server is registered, so where it sends the browser is its own choice (OpenID4VP 1.0 §8.2).
    chosen = said.get("redirect_uri") if isinstance(said, dict) else None
    followed = isinstance(chosen, str) and _MAY_BE_FOLLOWED.match(chosen)
    browser.player.oracles.onward = str(chosen) if followed else ""
    status = chance.choice(("200 OK", "200 OK", "200 OK", "500 No", "204 No Content", "302 Found"))
    world.far_end.reply = answer(body, status=status)
    if browser.spoiler.turns(0.1):
        world.far_end.reply = chance.choice(
            (b"", b"\xff" * 50, b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/9 \r\n\r\n" * 3)
        )


def _verified(browser: "Browser", party: object, body: dict[str, object]) -> None:
    from tests.fuzz.machines import send_to_verify

    if not browser.player.world.others:  # the world is still being made
        browser.player.world.presentations.append({"party": party, "body": body})
    send_to_verify(browser, party, body)


def _looks_back(browser: "Browser") -> None:
    """The receipts, and taking one back."""
    history = browser.get("/wallet/history/", [("page", "1")] if browser.spoiler.turns() else None)
    found = re.search(r'href="(/wallet/history/[^"]+/invalidate/)"', history.text)
    if found:
        browser.get(found[1])
        reply = browser.follow(browser.post(found[1], []))
        browser.player.account.reached["presentations taken back"] += "invalidated=" in reply.query


def enrol(browser: "Browser") -> None:
    """Somebody new: signs in with the code, has their identity checked, and decides."""
    chance, world = browser.spoiler.chance, browser.player.world
    party = chance.choice(world.parties)
    email = f"new{chance.getrandbits(60):x}@example.org"
    asked, _ = parameters(browser, party, email)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, party, asked)))
    page = signed_in(browser, page)
    for _ in range(3):
        if "/identity/" not in page.path or page.status != 200:
            break
        page = _checked(browser, page)
    decided(browser, page)


def signed_in(browser: "Browser", page: Reply) -> Reply:
    """From the sign-in page over the code to what comes after it."""
    if not page.path.endswith("/sign-in/"):
        return page
    page = browser.follow(browser.post(page.path, []))
    code = _CODE.search(page.text)
    if not page.path.endswith("/code/"):
        return page
    typed = code[1] if code and browser.spoiler.chance.random() < 0.85 else "123456"
    after = browser.follow(browser.post(page.path, [("code", typed)]))
    browser.player.account.reached["sign-ins by code"] += not after.path.endswith("/code/")
    return after


def _checked(browser: "Browser", page: Reply) -> Reply:
    errand = page.path.split("/")[3]
    started = browser.post(f"/wallet/errands/{errand}/identity/start/", [])
    provider = browser.follow(started)
    if provider.path.startswith("/sandbox/identity/"):
        outcome = browser.spoiler.chance.choice(_OUTCOMES)
        page = browser.follow(browser.post(provider.path, [("outcome", outcome)]))
        browser.player.account.reached["identity checks"] += 1
        return page
    if browser.spoiler.chance.random() < 0.3:
        return browser.follow(browser.post(f"/wallet/errands/{errand}/identity/cancel/", []))
    return browser.get(f"/wallet/errands/{errand}/identity/")


def sign_in(browser: "Browser") -> None:
    """A holder who comes on their own, with an address that is typed."""
    chance, world = browser.spoiler.chance, browser.player.world
    email = chance.choice((chance.choice(world.holders).email, f"own{chance.getrandbits(60):x}@example.org"))
    browser.get("/wallet/sign-in/")
    fields: Pairs = [("email", email)]
    page = browser.follow(browser.post("/wallet/sign-in/", fields))
    if page.path.endswith("/code/"):
        code = _CODE.search(page.text)
        page = browser.follow(browser.post(page.path, [("code", code[1] if code else "000000")]))
    browser.player.account.reached["wallets opened"] += page.path == "/wallet/history/"
    if chance.random() < 0.5:
        browser.follow(browser.post("/wallet/sign-out/", []))


def by_link(browser: "Browser") -> None:
    """Wrong codes have been typed in the holder's name all day, so an e-mail brings a link."""
    world = browser.player.world
    email = browser.spoiler.chance.choice(world.holders).email
    world.use_up_codes(email)
    page = browser.follow(browser.post("/wallet/sign-in/", [("email", email)]))
    letters = browser.get("/sandbox/mailbox/")
    found = re.search(
        r'href="(?:' + re.escape(BASE_URL) + r')?(/wallet/link/[^"]+)"', page.text + letters.text
    )
    if found is None:
        return
    browser.get(found[1])
    after = browser.follow(browser.post(found[1], []))
    browser.player.account.reached["sign-ins by link"] += after.path == "/wallet/history/"


def somebody_else(browser: "Browser") -> None:
    """One holder is signed in, and the party asks for another; or the holder signs out half-way."""
    chance, world = browser.spoiler.chance, browser.player.world
    signed_in, asked_for = chance.sample(world.holders, 2)
    browser.cookies["holder"] = world.holder_cookie(signed_in)
    party = chance.choice(world.parties)
    asked, _ = parameters(browser, party, asked_for.email)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, party, asked)))
    if not page.path.startswith("/wallet/errands/"):
        return
    errand = page.path.split("/")[3]
    if chance.random() < 0.5:
        after = browser.follow(browser.post(f"/wallet/errands/{errand}/switch/", []))
        browser.player.account.reached["holders switched"] += after.path.endswith("/sign-in/")
    else:
        after = browser.follow(browser.post(f"/wallet/errands/{errand}/sign-out/", []))
        browser.player.account.reached["sign-outs half-way"] += after.path.endswith("/signed-out/")


def as_json(reply: Reply) -> dict[str, object]:
    """The members of a reply, or none."""
    try:
        said = json.loads(reply.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
