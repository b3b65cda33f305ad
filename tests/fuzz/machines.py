"""Stories of relying parties' servers, of CI, and of whoever reads published documents."""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.fuzz.gateway import BASE_URL
from tests.fuzz.requests import (
    AUTHORIZE,
    JSON_TYPE,
    PAR,
    PRESENTATION,
    TOKEN,
    Pairs,
    basic,
    bearer,
    client_assertion,
    parameters,
    request_object,
)

if TYPE_CHECKING:
    from tests.fuzz.player import Browser

_DOCUMENTS = (
    *(
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/.well-known/jwt-vc-issuer",
    ),
    *("/openid-connect/jwks", "/credential-types/identity/v1", "/trust/root.pem", "/trust/root.der"),
    *("/status-lists", "/status-lists/1", "/status-lists/2", "/status-lists/07", "/status-lists/" + "9" * 30),
    *(
        "/status-lists/" + "9" * 5000,
        "/status-lists/%D9%A3",
        "/sandbox/api/openapi.json",
        "/.well-known/nothing",
    ),
)


def _party(browser: "Browser") -> Any:
    return browser.spoiler.chance.choice(browser.player.world.parties)


def _proof(browser: "Browser", party: Any) -> tuple[Pairs, dict[str, str]]:
    """Who asks, in one of the ways that there are."""
    match browser.spoiler.chance.randrange(4):
        case 0:
            return [("client_id", party.client_id), ("client_secret", party.secret)], {}
        case 1:
            return client_assertion(browser, party), {}
        case 2:
            return [], bearer(browser, party)
        case _:
            return [], basic(party)


def token(browser: "Browser") -> None:
    """Access tokens, asked for in every way."""
    party = _party(browser)
    for _ in range(4):
        proof, headers = _proof(browser, party)
        scope = browser.spoiler.chance.choice(
            ("", "presentation:verify", "presentation:push presentation:read")
        )
        pairs = [("grant_type", "client_credentials"), ("scope", scope), *proof]
        reply = browser.send("POST", TOKEN, browser.spoiler.form(pairs), **headers)
        browser.player.account.reached["access tokens given"] += reply.status == 200


def push(browser: "Browser") -> None:
    """Requests pushed ahead, plain or signed."""
    party = _party(browser)
    for _ in range(4):
        asked, _data = parameters(browser, party, "holder1@example.org")
        proof, headers = _proof(browser, party)
        pairs = [*asked.items(), *proof]
        if browser.spoiler.chance.random() < 0.4:
            pairs = [("request", request_object(browser, party, asked)), *proof]
        reply = browser.send("POST", PAR, browser.spoiler.form(pairs), **headers)
        browser.player.account.reached["requests pushed"] += reply.status == 201
        if reply.status == 201 and browser.spoiler.chance.random() < 0.5:
            handle = json.loads(reply.body)["request_uri"]
            browser.get(AUTHORIZE, [("client_id", party.client_id), ("request_uri", handle)])


def send_to_verify(browser: "Browser", party: Any, body: dict[str, Any]) -> None:
    """A presentation to be verified, spoilt or not."""
    if browser.spoiler.turns(0.4) and isinstance(body["vp_token"], str):
        body = body | {"vp_token": browser.spoiler.segments(body["vp_token"])}
    path, headers = PRESENTATION + "verify", bearer(browser, party)
    reply = browser.send("POST", path, browser.spoiler.json(body), JSON_TYPE, **headers)
    browser.player.account.reached["presentations verified"] += reply.status == 200
    browser.player.account.reached["presentations found valid"] += b'"valid":true' in reply.body


def verify(browser: "Browser") -> None:
    """Presentations that were made before, as they are and spoilt, for their party and for others."""
    known = browser.player.world.presentations
    for _ in range(4):
        one = browser.spoiler.chance.choice(known) if known else {"party": _party(browser), "body": _NOTHING}
        party = _party(browser) if browser.spoiler.chance.random() < 0.15 else one["party"]
        send_to_verify(browser, party, dict(one["body"]))


_NOTHING = {"vp_token": "eyJhbGciOiJFUzI1NiJ9.e30.AA~", "nonce": "n" * 16, "transaction_data": ["e30"]}


def outcome(browser: "Browser") -> None:
    """How a request went."""
    party, known = _party(browser), browser.player.world.presentations
    for _ in range(3):
        one = browser.spoiler.chance.choice(known) if known else {"party": party, "body": _NOTHING}
        path, headers = PRESENTATION + "outcome", bearer(browser, one["party"])
        reply = browser.get(path, [("nonce", one["body"]["nonce"])], **headers)
        browser.player.account.reached["outcomes told"] += reply.status == 200


def play_holder(browser: "Browser") -> None:
    """The sandbox plays the person, for CI."""
    chance, party = browser.spoiler.chance, _party(browser)
    asked, _data = parameters(browser, party, f"ci{chance.randrange(50)}@example.org")
    address = f"{BASE_URL}{AUTHORIZE}?{urlencode({k: v for k, v in asked.items() if v}, errors='replace')}"
    body = {"authorize_url": address, "persona": chance.choice(("adult", "under-18", "review"))}
    body["decision"] = chance.choice(("share", "decline"))
    text = browser.spoiler.json(body)
    browser.player.oracles.asking = _clients_in(text)
    reply = browser.send("POST", "/sandbox/holder", text, JSON_TYPE)
    browser.player.account.reached["redirects by the sandbox’s holder"] += b'"redirect_to":"' in reply.body
    browser.player.account.reached["tokens by the sandbox’s holder"] += b"vp_token=" in reply.body


def _clients_in(text: str) -> list[str]:
    """Who asks by the address of the authorization endpoint in a call of the sandbox's holder."""
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        query = urlsplit(str(json.loads(text)["authorize_url"])).query
        return [value for name, value in parse_qsl(query) if name == "client_id"]
    return []


def playground(browser: "Browser") -> None:
    """Answers posted to the playground, and read there."""
    state = f"{browser.spoiler.chance.getrandbits(100):x}"
    pairs = browser.spoiler.chance.choice(
        (
            [("vp_token", "a~b"), ("state", state)],
            [("error", "x"), ("state", state)],
            [("response", "e30.a.b.c.d")],
        )
    )
    reply = browser.send("POST", "/playground/answers/", browser.spoiler.form(pairs))
    code = "x"
    if reply.status == 200:
        code = json.loads(reply.body)["redirect_uri"].partition("response_code=")[2]
    pairs = [("response_code", code), ("state", state)]
    reply = browser.send("POST", "/playground/answers/read/", browser.spoiler.form(pairs))
    browser.player.account.reached["answers read at the playground"] += reply.status == 200


def documents(browser: "Browser") -> None:
    """What everybody may read, by every method and under every condition."""
    chance = browser.spoiler.chance
    for _ in range(4):
        method = chance.choice(("GET", "GET", "HEAD", "OPTIONS", "POST"))
        path = chance.choice(_DOCUMENTS)
        reply = browser.send(method, path, Accept_Encoding=chance.choice(("", "gzip")))
        if tag := reply.header("ETag"):
            browser.send("GET", path, If_None_Match=tag)
    reply = browser.get(f"/relying-parties/{_party(browser).client_id}/logo")
    browser.player.account.reached["logos shown"] += reply.status == 200 and reply.body[1:4] == b"PNG"
    browser.get("/metrics", Authorization=f"Bearer {'m' * 40}")
    browser.get("/static/" + chance.choice(("base.css", "admin/css/base.css", "../settings.py", "x")))
