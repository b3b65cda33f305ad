"""Signed requests, by value and by reference; valid and invalid ones."""

import hmac
import json
from collections.abc import Callable
from typing import Any

from tests.forgery import new_key, sign_jwt, sign_text
from tests.recorded import random_values
from tests.recorded.clock import clock
from tests.recorded.installation import AUTHORIZE, Installation, Party
from tests.recorded.recorder import Recorder
from tests.relying_party import decode, encode

BANK = "Harbour Bank"
Make = Callable[[Installation], str]


def claims(party: str = BANK, **changes: Any) -> Make:
    """The valid object with other claims; None omits one."""
    return lambda service: service[party].request_object(service.base_url, service.asked(party), **changes)


def header(**changes: Any) -> Make:
    """The valid object with another header; None omits a member."""
    return lambda service: service[BANK].request_object(service.base_url, service.asked(BANK), header=changes)


def from_now(**seconds: int | None) -> Make:
    """The valid object with other times, as seconds from now."""

    def make(service: Installation) -> str:
        now = int(clock.seconds())
        times = {name: None if value is None else now + value for name, value in seconds.items()}
        return claims(**times)(service)

    return make


def _by_another_key(service: Installation) -> str:
    stranger = Party(BANK, service[BANK].client_id, new_key(), "", "")
    return stranger.request_object(
        service.base_url, service.asked(BANK), header={"jwk": random_values.jwk(stranger.key)}
    )


def _changed_afterwards(service: Installation) -> str:
    head, _, signature = claims()(service).split(".")
    return f"{head}.{claims(state='another')(service).split('.')[1]}.{signature}"


def _unsigned(service: Installation) -> str:
    return header(alg="none")(service).rpartition(".")[0] + "."


def _by_secret(service: Installation) -> str:
    text = header(alg="HS256")(service).rpartition(".")[0]
    return f"{text}.{encode(hmac.digest(service[BANK].secret.encode(), text.encode(), 'sha256'))}"


def _twice(service: Installation) -> str:
    head, payload, _ = claims()(service).split(".")
    said = decode(payload).decode()
    again = encode(f'{said[:-1]}, "nonce": {json.dumps(json.loads(said)["nonce"])}}}'.encode())
    return sign_text(f"{head}.{again}", service[BANK].key)


def _an_assertion(service: Installation) -> str:
    return service[BANK].assertion(service.base_url)["client_assertion"]


def of_type(kind: str) -> Make:
    return header(typ=kind)


NOT_ITS_OWN: dict[str, Make] = {
    "unsigned": _unsigned,
    "changed after signing": _changed_afterwards,
    "another client_id inside": claims(client_id="somebody"),
    "no client_id inside": claims(client_id=None),
    "signed by a key that it brings": _by_another_key,
    "signed with the client’s secret": _by_secret,
    "a member twice": _twice,
    "alg ES384": header(alg="ES384"),
    "no alg": header(alg=None),
    "an unknown kid": header(kid="two"),
    "a kid that is a number": header(kid=1),
    "no typ": header(typ=None),
    "typ JWT": of_type("JWT"),
    "an access token’s typ": of_type("at+jwt"),
    "a client assertion": _an_assertion,
    "a header that asks for an extension": header(crit=["b64"], b64=False),
    "text": lambda service: "x",
    "two segments": lambda service: "e30.e30",
    "five segments": lambda service: "e30.e30.e30.e30.e30",
    "a payload that is a list": lambda service: sign_jwt({"alg": "ES256"}, [1], service[BANK].key),  # type: ignore[arg-type]
}
NOT_GOOD: dict[str, Make] = {
    "a response_type in a list": claims(response_type=["vp_token"]),
    "a nonce that is a number": claims(nonce=12345678901234567890),
    "a query that is a list": claims(scope=None, dcql_query=[]),
    "metadata that is false": claims(client_metadata=False),
    "transaction data in an object": claims(transaction_data={"a": "b"}),
    "a state that is a number": claims(state=7),
    "a redirect_uri that is a list": claims(redirect_uri=["https://harbour-bank.example/callback"]),
    "an unregistered redirect_uri": claims(redirect_uri="https://evil.example/"),
    "expired": from_now(exp=-300),
    "not valid yet": from_now(nbf=61),
    "made in the future": from_now(iat=61),
    "neither exp nor iat": claims(exp=None, iat=None),
    "without exp and six minutes old": from_now(exp=None, iat=-360),
    "an exp far away": from_now(exp=3660),
    "an exp that is a text": claims(exp="soon"),
    "an exp beyond all numbers": claims(exp=10**400),
    "no aud": claims(aud=None),
    "another aud": claims(aud="https://other.example"),
    "several others in aud": claims(aud=["https://other.example", "https://third.example"]),
    "a sub that is the client": lambda service: claims(sub=service[BANK].client_id)(service),
    "a request in the request": claims(request="e30.e30.e30"),
    "a request_uri in the request": claims(request_uri="https://harbour-bank.example/requests/1"),
    "a short nonce": claims(nonce="short"),
    "an unknown scope": claims(scope="openid"),
    "no login_hint": claims(login_hint=None),
}
GOOD: dict[str, Make] = {
    "as it should be": claims(),
    "nbf a little ahead": from_now(nbf=8),
    "without exp": from_now(exp=None, iat=-240),
    "several in aud": lambda service: claims(aud=[service.base_url, "https://other.example"])(service),
    "typ in full": of_type("application/oauth-authz-req+jwt"),
    "one aud in a list": lambda service: claims(aud=[service.base_url])(service),
    "anybody’s aud": claims(aud="https://self-issued.me/v2"),
    "another iss": claims(iss="somebody"),
    "no kid": header(kid=None),
    "unknown claims": claims(prompt="none"),
    "a query as an object": claims(
        scope=None,
        dcql_query={
            "credentials": [
                {
                    "id": "a",
                    "format": "dc+sd-jwt",
                    "meta": {"vct_values": ["x"]},
                    "claims": [{"path": ["given_name"]}],
                }
            ]
        },
    ),
}


def run(recorder: Recorder) -> None:
    """By value, then by reference."""
    service = recorder.service
    for title, make in {**NOT_ITS_OWN, **NOT_GOOD, **GOOD}.items():
        with recorder.scenario(f"brought along: {title}") as browser:
            brought = {"client_id": service[BANK].client_id, "request": make(service)}
            browser.get(AUTHORIZE, brought | {"state": "outside"})
    with recorder.scenario("brought along, and required") as browser:
        make = claims("Signing Agency")
        browser.get(AUTHORIZE, {"client_id": service["Signing Agency"].client_id, "request": make(service)})
    with recorder.scenario("brought along without a client_id beside it") as browser:
        browser.get(AUTHORIZE, {"request": claims()(service)})
    with recorder.scenario("brought along by another client") as browser:
        browser.get(AUTHORIZE, {"client_id": service["Tea House"].client_id, "request": claims()(service)})
    with recorder.scenario("brought along and published at once") as browser:
        both = {"request": claims()(service), "request_uri": "https://harbour-bank.example/requests/1"}
        browser.get(AUTHORIZE, {"client_id": service[BANK].client_id} | both)
    with recorder.scenario("brought along by a suspended relying party") as browser:
        closed = service["Closed Store"]
        text = closed.request_object(service.base_url, service.asked("Closed Store"))
        browser.get(AUTHORIZE, {"client_id": closed.client_id, "request": text})
    _references(recorder)
    if service.sandbox:
        _published(recorder)


def _references(recorder: Recorder) -> None:
    service = recorder.service
    for title, uri in {
        "at an unregistered address": "https://evil.example/requests/1",
        "at an address over http": "http://harbour-bank.example/requests/1",
        "at no address": "x",
        "at an endless address": "https://harbour-bank.example/" + "a" * 600,
        "pushed with a handle that nobody has": "urn:ietf:params:oauth:request_uri:" + "x" * 43,
        "pushed with an empty handle": "urn:ietf:params:oauth:request_uri:",
    }.items():
        with recorder.scenario(f"referred to {title}") as browser:
            browser.get(AUTHORIZE, {"client_id": service[BANK].client_id, "request_uri": uri})
            browser.get(AUTHORIZE, service.asked(BANK) | {"request_uri": uri})


def _published(recorder: Recorder) -> None:
    """The relying party's server is called: only the sandbox may call loopback."""
    service = recorder.service
    jwt = "application/oauth-authz-req+jwt"
    where = "/harbour-bank/requests/1"
    uri = f"{service.party_server.origin}{where}"
    rows: dict[str, tuple[str, str, dict[str, str]]] = {
        "as it should be": (jwt, claims()(service), {}),
        "with another media type": ("text/plain", claims()(service), {}),
        "that is no object": (jwt, "x", {}),
        "signed by somebody else": (jwt, _by_another_key(service), {}),
        "that is empty": (jwt, "", {}),
        "that is too long": (jwt, "x" * 200_000, {}),
        "by post without the nonce": (jwt, claims()(service), {"request_uri_method": "post"}),
        "by an unknown method": (jwt, claims()(service), {"request_uri_method": "put"}),
    }
    for title, (media_type, text, beside) in rows.items():
        with recorder.scenario(f"published {title}") as browser:
            service.party_server.documents[where] = (media_type, text.encode())
            asked = {"client_id": service[BANK].client_id, "request_uri": uri} | beside
            browser.get(AUTHORIZE, asked)
    with recorder.scenario("published nowhere") as browser:
        browser.get(AUTHORIZE, {"client_id": service[BANK].client_id, "request_uri": uri + "7"})
