"""Scenarios of relying parties' servers, of CI, and of clients that read published documents."""

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tools.fuzz.gateway import BASE_URL, METRICS_TOKEN
from tools.fuzz.requests import (
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
    from tools.fuzz.browser import Browser

_DOCUMENTS = (
    *(
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/.well-known/jwt-vc-issuer",
    ),
    *(
        "/openid-connect/jwks",
        "/statements/jwks",
        "/credential-types/identity/v1",
        "/trust/root.pem",
        "/trust/root.der",
    ),
    *("/status-lists", "/status-lists/1", "/status-lists/2", "/status-lists/07", "/status-lists/" + "9" * 30),
    *(
        "/status-lists/" + "9" * 5000,
        "/status-lists/%D9%A3",
        "/sandbox/api/openapi.json",
        "/.well-known/nothing",
    ),
)


def _party(browser: "Browser") -> Any:
    return browser.mutator.rng.choice(browser.runner.dataset.parties)


def proof(browser: "Browser", party: Any) -> tuple[Pairs, dict[str, str]]:
    """Form fields and headers that authenticate the client, by a random method."""
    match browser.mutator.rng.randrange(4):
        case 0:
            return [("client_id", party.client_id), ("client_secret", party.secret)], {}
        case 1:
            return client_assertion(browser, party), {}
        case 2:
            return [], bearer(browser, party)
        case _:
            return [], basic(party)


def token(browser: "Browser") -> None:
    """Requests access tokens by every method of authentication."""
    party = _party(browser)
    for _ in range(4):
        fields, headers = proof(browser, party)
        scope = browser.mutator.rng.choice(("", "presentation:verify", "presentation:push presentation:read"))
        pairs = [("grant_type", "client_credentials"), ("scope", scope), *fields]
        reply = browser.send("POST", TOKEN, browser.mutator.form(pairs), **headers)
        browser.runner.account.reached["access tokens given"] += reply.status == 200


def push(browser: "Browser") -> None:
    """Pushes requests, plain or signed."""
    party = _party(browser)
    for _ in range(4):
        asked, _data = parameters(browser, party, "holder1@example.org")
        fields, headers = proof(browser, party)
        pairs = [*asked.items(), *fields]
        if browser.mutator.rng.random() < 0.4:
            pairs = [("request", request_object(browser, party, asked)), *fields]
        reply = browser.send("POST", PAR, browser.mutator.form(pairs), **headers)
        browser.runner.account.reached["requests pushed"] += reply.status == 201
        if reply.status == 201 and browser.mutator.rng.random() < 0.5:
            handle = json.loads(reply.body)["request_uri"]
            browser.get(AUTHORIZE, [("client_id", party.client_id), ("request_uri", handle)])


def send_to_verify(browser: "Browser", party: Any, body: dict[str, Any]) -> None:
    """Sends a presentation to the verification endpoint, mutated or not."""
    if browser.mutator.turns(0.4) and isinstance(body["vp_token"], str):
        body = body | {"vp_token": browser.mutator.segments(body["vp_token"])}
    path, headers = PRESENTATION + "verify", bearer(browser, party)
    reply = browser.send("POST", path, browser.mutator.json(body), JSON_TYPE, **headers)
    browser.runner.account.reached["presentations verified"] += reply.status == 200
    browser.runner.account.reached["presentations found valid"] += b'"valid":true' in reply.body


def verify(browser: "Browser") -> None:
    """Has existing presentations verified, valid and mutated, by their own relying party and by others."""
    known = browser.runner.dataset.presentations
    for _ in range(4):
        one = browser.mutator.rng.choice(known) if known else {"party": _party(browser), "body": NOTHING}
        party = _party(browser) if browser.mutator.rng.random() < 0.15 else one["party"]
        send_to_verify(browser, party, dict(one["body"]))


NOTHING = {"vp_token": "eyJhbGciOiJFUzI1NiJ9.e30.AA~", "nonce": "n" * 16, "transaction_data": ["e30"]}


def outcome(browser: "Browser") -> None:
    """Queries the outcome of a request."""
    party, known = _party(browser), browser.runner.dataset.presentations
    for _ in range(3):
        one = browser.mutator.rng.choice(known) if known else {"party": party, "body": NOTHING}
        path, headers = PRESENTATION + "outcome", bearer(browser, one["party"])
        reply = browser.get(path, [("nonce", one["body"]["nonce"])], **headers)
        browser.runner.account.reached["outcomes told"] += reply.status == 200


def simulate_holder(browser: "Browser") -> None:
    """Calls the simulated holder of the sandbox."""
    rng, party = browser.mutator.rng, _party(browser)
    asked, _data = parameters(browser, party, f"ci{rng.randrange(50)}@example.org")
    address = f"{BASE_URL}{AUTHORIZE}?{urlencode({k: v for k, v in asked.items() if v}, errors='replace')}"
    body = {"authorize_url": address, "persona": rng.choice(("adult", "under-18", "review"))}
    body["decision"] = rng.choice(("share", "decline"))
    text = browser.mutator.json(body)
    browser.runner.oracles.asking = _clients_in(text)
    reply = browser.send("POST", "/sandbox/holder", text, JSON_TYPE)
    browser.runner.account.reached["redirects by the sandbox’s holder"] += b'"redirect_to":"' in reply.body
    browser.runner.account.reached["tokens by the sandbox’s holder"] += b"vp_token=" in reply.body


def _clients_in(text: str) -> list[str]:
    """The client IDs in the authorization request that a call of the simulated holder contains."""
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        query = urlsplit(str(json.loads(text)["authorize_url"])).query
        return [value for name, value in parse_qsl(query) if name == "client_id"]
    return []


def playground(browser: "Browser") -> None:
    """Posts answers to the playground and reads them there."""
    state = f"{browser.mutator.rng.getrandbits(100):x}"
    pairs = browser.mutator.rng.choice(
        (
            [("vp_token", "a~b"), ("state", state)],
            [("error", "x"), ("state", state)],
            [("response", "e30.a.b.c.d")],
        )
    )
    reply = browser.send("POST", "/playground/answers/", browser.mutator.form(pairs))
    code = "x"
    if reply.status == 200:
        code = json.loads(reply.body)["redirect_uri"].partition("response_code=")[2]
    pairs = [("response_code", code), ("state", state)]
    reply = browser.send("POST", "/playground/answers/read/", browser.mutator.form(pairs))
    browser.runner.account.reached["answers read at the playground"] += reply.status == 200


def documents(browser: "Browser") -> None:
    """Requests published documents by every method and with conditional headers."""
    rng = browser.mutator.rng
    for _ in range(4):
        method = rng.choice(("GET", "GET", "HEAD", "OPTIONS", "POST"))
        path = rng.choice(_DOCUMENTS)
        reply = browser.send(method, path, Accept_Encoding=rng.choice(("", "gzip")))
        if tag := reply.header("ETag"):
            browser.send("GET", path, If_None_Match=tag)
    reply = browser.get(f"/relying-parties/{_party(browser).client_id}/logo")
    browser.runner.account.reached["logos shown"] += reply.status == 200 and reply.body[1:4] == b"PNG"
    browser.get("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    browser.get("/static/" + rng.choice(("base.css", "admin/css/base.css", "../settings.py", "x")))
