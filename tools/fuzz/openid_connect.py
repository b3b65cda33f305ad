"""Scenarios of clients of OpenID Connect: the request, the code, the tokens and UserInfo."""

import hashlib
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.relying_party import encode
from tools.fuzz.machines import proof
from tools.fuzz.people import decided
from tools.fuzz.requests import AUTHORIZE, PAR, TOKEN, Pairs, basic, request_object

if TYPE_CHECKING:
    from tools.fuzz.browser import Browser
    from tools.fuzz.dataset import Party

USERINFO = "/openid-connect/userinfo"
_CLAIMS = (
    *("given_name", "family_name", "birthdate", "nationalities", "email", "sub", "auth_time", "acr", "amr"),
    *("age_equal_or_over", "age_equal_or_over.18", "vp_token", "verified_claims", "nothing", "name", "nonce"),
)
_VERIFIED = (
    "given_name",
    "family_name",
    "birthdate",
    "nationalities",
    "address",
    "place_of_birth",
    "nothing",
)
_DEMANDS: tuple[Any, ...] = (
    *(None, None, {}, {"essential": True}, {"essential": False}, {"value": "Zoë"}, {"values": ["IE", "ES"]}),
    *({"value": True, "essential": True}, {"purpose": "To send you a book"}, {"max_age": 63_113_852}),
)
# Values of the parameters that only OpenID Connect has (Core 1.0 §3.1.2.1).
_FURTHER = {
    "prompt": ("login", "consent", "none", "select_account", "login consent", "none login", ""),
    "max_age": ("0", "1", "3600", "36000000000", "-1", "1.5", "", "x"),
    "acr_values": ("phr", "phrh phr", "urn:x", "0"),
    "display": ("page", "popup", "x"),
    "ui_locales": ("es en", "zz", "x-" * 100),
    "claims_locales": ("es",),
    "id_token_hint": ("e30.e30.AA", "eyJhbGciOiJub25lIn0.e30."),
    "response_mode": ("query", "fragment", "form_post", "direct_post"),
    "login_hint": ("holder1@example.org", "x", "é@example.org"),
    "registration": ("{}",),
    "nonce": ("n" * 32, "", "n" * 3000),
    "state": ("", "a b&c=d#e", "é" * 20),
    "code_challenge_method": ("S256", "plain", "s256"),
    "response_type": ("code", "code id_token", "id_token", "none", "vp_token", "code vp_token"),
}


def sign_in(browser: "Browser") -> None:
    """A holder signs in at a client, which exchanges the code and reads UserInfo."""
    rng, dataset = browser.mutator.rng, browser.runner.dataset
    shop, holder = rng.choice(dataset.shops), rng.choice(dataset.holders)
    if rng.random() < 0.9:
        browser.cookies["holder"] = dataset.holder_cookie(holder)
    verifier = encode(rng.randbytes(32))
    asked = parameters(browser, shop, verifier)
    page = browser.follow(browser.get(AUTHORIZE, carried(browser, shop, asked)))
    home = decided(browser, page)
    sent = dict(parse_qsl(urlsplit(home.location).query))
    browser.runner.account.reached["codes given"] += "code" in sent
    code = sent.get("code", rng.choice(("", "x", "a" * 43)))
    access_token = redeem(browser, shop, code, asked.get("redirect_uri", ""), verifier)
    for _ in range(2):
        user_info(browser, access_token)
    if rng.random() < 0.3:  # a stolen code ends what it was exchanged for
        redeem(browser, rng.choice(dataset.shops), code, asked.get("redirect_uri", ""), verifier)
        user_info(browser, access_token)


def parameters(browser: "Browser", shop: "Party", verifier: str) -> dict[str, str]:
    """The parameters of a request, some of which OpenID Connect forbids."""
    rng = browser.mutator.rng
    asked = {
        "response_type": "code",
        "client_id": shop.client_id,
        "redirect_uri": rng.choice(shop.redirect_uris[:2]),
        "scope": rng.choice(("openid", "openid profile", "openid profile email", "profile", "openid openid")),
        "state": "af0ifjsldkj",
        "nonce": encode(rng.randbytes(12)),
        "code_challenge": encode(hashlib.sha256(verifier.encode()).digest()),
        "code_challenge_method": "S256",
    }
    if rng.random() < 0.6:
        asked["claims"] = browser.mutator.json(claims(browser))
    while rng.random() < 0.3:
        name = rng.choice(list(_FURTHER))
        asked[name] = rng.choice(_FURTHER[name])
    return asked


def claims(browser: "Browser") -> dict[str, Any]:
    """The parameter `claims` (Core 1.0 §5.5), perhaps with `verified_claims`."""
    rng = browser.mutator.rng

    def some(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: rng.choice(_DEMANDS) for name in rng.sample(names, rng.randint(1, 4))}

    said: dict[str, Any] = {place: some(_CLAIMS) for place in ("id_token", "userinfo") if rng.random() < 0.7}
    if rng.random() < 0.4:
        frameworks: tuple[Any, ...] = (
            None,
            {"value": "http://localhost:8000/assurance"},
            {"values": ["x", "y"]},
        )
        verification = {"trust_framework": rng.choice(frameworks)}
        if rng.random() < 0.5:
            members: tuple[tuple[str, Any], ...] = (
                *(("assurance_level", None), ("time", {"max_age": 63_113_852})),
                *(("evidence", [{"type": {"value": "document"}}]), ("nothing", {})),
            )
            verification |= dict(rng.sample(members, rng.randint(1, 3)))
        one = {"verification": verification, "claims": some(_VERIFIED)}
        said.setdefault(rng.choice(("id_token", "userinfo")), {})["verified_claims"] = (
            one if rng.random() < 0.7 else [one, one]
        )
    return said


def carried(browser: "Browser", shop: "Party", asked: dict[str, str]) -> Pairs:
    """The query of the authorization endpoint: the request by value, signed, or pushed."""
    pairs = [(name, value) for name, value in asked.items() if value]
    match browser.mutator.rng.randrange(5):
        case 0:
            openid = [
                (name, asked[name]) for name in ("client_id", "scope", "response_type") if name in asked
            ]
            return [*openid, ("request", request_object(browser, shop, asked))]
        case 1:
            reply = browser.send("POST", PAR, browser.mutator.form(pairs), **basic(shop))
            if reply.status == 201:
                return [("client_id", shop.client_id), ("request_uri", json.loads(reply.body)["request_uri"])]
    return pairs


def redeem(browser: "Browser", shop: "Party", code: str, redirect_uri: str, verifier: str) -> str:
    """Exchanges the code, with the right proof and verifier or not; the access token, or an invented one."""
    rng = browser.mutator.rng
    fields, headers = ([], basic(shop)) if rng.random() < 0.7 else proof(browser, shop)
    if browser.mutator.turns(0.5):
        verifier = rng.choice(("", "é", "a" * 42, "a" * 129, encode(rng.randbytes(32))))
    pairs = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("code_verifier", verifier),
    ]
    reply = browser.send("POST", TOKEN, browser.mutator.form([*pairs, *fields]), **headers)
    browser.runner.account.reached["codes exchanged"] += b'"id_token":' in reply.body
    with suppress(ValueError, KeyError, TypeError):
        return str(json.loads(reply.body)["access_token"])
    return rng.choice(("", "x", "a" * 43, "a.b.c", "é"))


def user_info(browser: "Browser", access_token: str) -> None:
    """Reads UserInfo with the token in the header, in a form, or in both."""
    rng = browser.mutator.rng
    token = browser.mutator.text(access_token) if browser.mutator.turns(0.4) else access_token
    token = re.sub(r"[\r\n]", " ", token)
    headers = {"Authorization": f"Bearer {token}"} if rng.random() < 0.7 else {}
    if rng.random() < 0.6:
        reply = browser.send("GET", USERINFO, **headers)
    else:
        body = browser.mutator.form([("access_token", token)])
        reply = browser.send("POST", USERINFO, body, **headers)
    browser.runner.account.reached["UserInfo given"] += reply.status == 200 and b'"sub":' in reply.body


def guess(browser: "Browser") -> None:
    """Sends requests that are answered without a holder: silent ones, wrong ones, and invented codes."""
    shop = browser.mutator.rng.choice(browser.runner.dataset.shops)
    for _ in range(3):
        asked = parameters(browser, shop, "v" * 43)
        if browser.mutator.rng.random() < 0.5:
            asked |= {"prompt": "none", "max_age": browser.mutator.rng.choice(_FURTHER["max_age"])}
        if browser.mutator.rng.random() < 0.3:  # OpenID Connect Core 1.0 §3.1.2.1: also by POST
            browser.send("POST", AUTHORIZE, urlencode(asked, errors="replace"))
        else:
            browser.get(AUTHORIZE, list(asked.items()))
        redeem(browser, shop, "c" * 43, asked["redirect_uri"], "v" * 43)
