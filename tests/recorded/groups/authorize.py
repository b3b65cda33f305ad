"""The authorization endpoint: what a browser brings in the address."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.presentation.payloads import FULL, MANDATE, SESSION, value, with_changes
from tests.recorded.installation import AUTHORIZE, BASIC, Installation
from tests.recorded.recorder import Recorder, encoded

BANK = "Harbour Bank"
HOME = "https://harbour-bank.example/callback"


def run(recorder: Recorder) -> None:
    """Requests that end at a page, then those that end with an error redirect, then valid ones."""
    service = recorder.service
    for title, asked in _untrusted(service):
        with recorder.scenario(f"a page: {title}") as browser:
            browser.get(AUTHORIZE, asked)
    _unreadable(recorder)
    for title, changes in {**_WRONG, **_wrong_queries(service), **_wrong_transactions()}.items():
        with recorder.scenario(f"goes home: {title}") as browser:
            browser.get(AUTHORIZE, service.asked(BANK, **changes))
    _repeated(recorder)
    _by_party(recorder)
    _posted(recorder)
    for title, changes in {**_GOOD, **_good_queries(service), **_good_transactions()}.items():
        with recorder.scenario(f"goes on: {title}") as browser:
            browser.get(AUTHORIZE, service.asked(BANK, **changes))
    _methods(recorder)


def _untrusted(service: Installation) -> Iterator[tuple[str, dict[str, Any]]]:
    for title, changes in _UNTRUSTED.items():
        yield title, service.asked(BANK, **changes)
    yield "nothing at all", {}
    yield "a suspended relying party", service.asked("Closed Store")
    yield "another’s redirect_uri", service.asked(BANK, redirect_uri="https://tea-house.example/callback")
    yield "client_id twice", service.asked(BANK, client_id=[service[BANK].client_id, service[BANK].client_id])
    yield "redirect_uri twice", service.asked(BANK, redirect_uri=[HOME, HOME])
    yield "a client_id in capitals", service.asked(BANK, client_id=service[BANK].client_id.upper())


_UNTRUSTED: dict[str, dict[str, Any]] = {
    "no client_id": {"client_id": None},
    "an empty client_id": {"client_id": ""},
    "an unknown client_id": {"client_id": "somebody-else"},
    "a client_id with a prefix": {"client_id": f"redirect_uri:{HOME}"},
    "a client_id with NUL": {"client_id": "a\0b"},
    "a client_id beyond its limit": {"client_id": "a" * 101},
    "no redirect_uri": {"redirect_uri": None},
    "an empty redirect_uri": {"redirect_uri": ""},
    "an unregistered redirect_uri": {"redirect_uri": "https://evil.example/callback"},
    "a redirect_uri that continues a registered one": {"redirect_uri": f"{HOME}/../x"},
    "a redirect_uri in another case": {"redirect_uri": "https://harbour-bank.example/Callback"},
    "a redirect_uri with a slash more": {"redirect_uri": f"{HOME}/"},
    "a redirect_uri with a query": {"redirect_uri": f"{HOME}?x=1"},
    "a redirect_uri with a fragment": {"redirect_uri": f"{HOME}#x"},
    "a redirect_uri with a port": {"redirect_uri": "https://harbour-bank.example:443/callback"},
    "a redirect_uri with user information": {"redirect_uri": "https://harbour-bank.example@evil.example/"},
    "an endless redirect_uri": {"redirect_uri": HOME + "a" * 600},
    "localhost in the place of 127.0.0.1": {"redirect_uri": "http://localhost:5000/callback"},
    "another path on 127.0.0.1": {"redirect_uri": "http://127.0.0.1:5000/other"},
}
_WRONG: dict[str, dict[str, Any]] = {
    "no response_type": {"response_type": None},
    "another response_type": {"response_type": "code"},
    "a combined response_type": {"response_type": "vp_token id_token"},
    "a response_type in capitals": {"response_type": "VP_TOKEN"},
    "an unknown response_mode": {"response_mode": "query"},
    "response_mode direct_post without a response_uri": {"response_mode": "direct_post"},
    "response_mode direct_post beside a redirect_uri": {
        "response_mode": "direct_post",
        "response_uri": "https://evil.example/",
    },
    "no nonce": {"nonce": None},
    "an empty nonce": {"nonce": ""},
    "a nonce of 15 characters": {"nonce": "a" * 15},
    "a nonce of 513 characters": {"nonce": "a" * 513},
    "a nonce with a space": {"nonce": "a" * 16 + " b"},
    "a nonce beyond ASCII": {"nonce": "é" * 20},
    "no login_hint": {"login_hint": None},
    "a login_hint that is no address": {"login_hint": "alice"},
    "two addresses in login_hint": {"login_hint": "a@example.org, b@example.org"},
    "a header in login_hint": {"login_hint": "a@example.org\r\nBcc: b@example.org"},
    "a name in login_hint": {"login_hint": "Alice <alice@example.org>"},
    "a Kelvin sign in login_hint": {"login_hint": "\u212aelly@example.org"},
    "a login_hint beyond its limit": {"login_hint": "a" * 250 + "@example.org"},
    "a state beyond its limit": {"state": "s" * 2049},
    "a state with NUL": {"state": "a\0b"},
    "no scope": {"scope": None},
    "an unknown scope": {"scope": "openid"},
    "one unknown scope of two": {"scope": f"{BASIC} openid"},
    "two spaces in scope": {"scope": f"{BASIC}  {BASIC}"},
    "a scope in capitals": {"scope": BASIC.upper()},
    "client_metadata that is no JSON": {"client_metadata": "{"},
    "request_uri_method alone": {"request_uri_method": "put"},
    "no state and another response_type": {"state": None, "response_type": "code"},
    "a state with every sign": {"state": "a b+c&d=e%20#f'\"<ü✓>\t\n~!*()", "response_type": "code"},
    "a redirect_uri with a registered query": {
        "redirect_uri": "https://harbour-bank.example/other?lang=en",
        "response_type": "code",
    },
    "a loopback address with another port": {
        "redirect_uri": "http://127.0.0.1:61234/callback",
        "response_type": "code",
    },
    "an app’s scheme": {"redirect_uri": "com.example.bank:/back", "response_type": "code"},
}


def claims(*paths: list[Any], **more: Any) -> dict[str, Any]:
    """A DCQL query for these claims, as parameters."""
    return {"scope": None, "dcql_query": json.dumps(query(*paths, **more))}


def query(*paths: list[Any], **more: Any) -> dict[str, Any]:
    """The same as JSON, without `vct`, which depends on the base address."""
    one: dict[str, Any] = {"id": "identity", "format": "dc+sd-jwt", "meta": {"vct_values": ["a type"]}}
    if paths:
        one["claims"] = [{"path": path} for path in paths]
    return {"credentials": [one | more]}


def _wrong_queries(service: Installation) -> dict[str, dict[str, Any]]:
    texts = {
        "that is no JSON": "{",
        "that is a list": "[]",
        "without credentials": "{}",
        "with an empty list of credentials": '{"credentials": []}',
        "with a member twice": '{"credentials": [], "credentials": []}',
        "that is NaN": "NaN",
        "of endless depth": "[" * 2000,
        "of one credential in another format": json.dumps(
            {"credentials": [{"id": "mdl", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.x"}}]}
        ),
        "for two credentials": json.dumps({"credentials": [{**_one("a")}, {**_one("b")}]}),
        "with the same id twice": json.dumps({"credentials": [{**_one("a")}, {**_one("a")}]}),
    }
    said = {f"a query {title}": {"scope": None, "dcql_query": text} for title, text in texts.items()}
    ones: dict[str, dict[str, Any]] = {
        "without an id": {"id": ""},
        "with an id of other characters": {"id": "a b"},
        "with another format": {"format": "jwt_vc_json"},
        "without meta": {"meta": None},
        "with claims that are no list": {"claims": {}},
        "with an empty list of claims": {"claims": []},
        "with a path that is empty": {"claims": [{"path": []}]},
        "with a path below zero": {"claims": [{"path": ["nationalities", -1]}]},
        "with a path of true": {"claims": [{"path": [True]}]},
        "with claim_sets that name nobody": {
            "claims": [{"id": "a", "path": ["given_name"]}],
            "claim_sets": [["b"]],
        },
        "with values that are objects": {"claims": [{"path": ["given_name"], "values": [{}]}]},
        "with multiple": {"multiple": "yes"},
    }
    for title, changes in ones.items():
        said[f"a query {title}"] = {"scope": None, "dcql_query": json.dumps(query(["given_name"], **changes))}
    said["a query for claims that it may not ask"] = claims(["given_name"], ["age_equal_or_over", "65"])
    said["a query for a claim and all in its group"] = claims(["age_equal_or_over"])
    said["a scope and a query"] = {"dcql_query": json.dumps(query(["given_name"]))}
    return said


def _one(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "format": "dc+sd-jwt",
        "meta": {"vct_values": ["a type"]},
        "claims": [{"path": ["given_name"]}],
    }


def _wrong_transactions() -> dict[str, dict[str, Any]]:
    padded = base64.urlsafe_b64encode(b'{"type":"x"}  ').decode() + "=="
    wrong = {
        "that is no base64url": "{}",
        "with padding": padded,
        "that is no JSON": "e30x",
        "that is no object": base64.urlsafe_b64encode(b"[1]  ").decode().rstrip("="),
        "of an empty object": "e30",
        "of an unknown type": value(SESSION, type="urn:example:other"),
        "without a type": value(SESSION, type=...),
        "for another credential": value(SESSION, credential_ids=["other"]),
        "for no credential": value(SESSION, credential_ids=[]),
        "without credential_ids": value(SESSION, credential_ids=...),
        "with a member more": value(SESSION, more=1),
        "with an unknown hash": value(SESSION, transaction_data_hashes_alg=["sha-999"]),
        "without payload": value(SESSION, payload=...),
        "of two, the second broken": f"{value(SESSION)} {value(SESSION, [])}",
        "with two spaces": f"{value(SESSION)}  {value(SESSION)}",
        "as a list with a number": "[1]",
        "as an empty list": "[]",
    }
    for urn, payload in FULL.items():
        kind = urn.rpartition("transaction-data:")[2]
        for name in payload:
            wrong[f"{kind} without {name}"] = value(urn, with_changes(urn, {name: ...}))
            wrong[f"{kind} with {name} of a wrong type"] = value(urn, with_changes(urn, {name: [7]}))
        wrong[f"{kind} with an unknown field"] = value(urn, with_changes(urn, {"x": 1}))
    wrong["a payment of a negative amount"] = value(MANDATE, with_changes(MANDATE, {"amount": -1}))
    wrong["a payment in no currency"] = value(MANDATE, with_changes(MANDATE, {"currency": "XXXX"}))
    wrong["a payment with too many digits"] = value(MANDATE, with_changes(MANDATE, {"amount": 1.2345}))
    return {f"transaction data {title}": {"transaction_data": text} for title, text in wrong.items()}


def _repeated(recorder: Recorder) -> None:
    service = recorder.service
    names = ("response_type", "scope", "login_hint", "nonce", "state", "transaction_data", "response_mode")
    for name in names:
        asked = service.asked(BANK, transaction_data=value(SESSION), response_mode="fragment")
        with recorder.scenario(f"goes home: {name} twice") as browser:
            browser.get(AUTHORIZE, asked | {name: [asked[name], asked[name]]})


def _unreadable(recorder: Recorder) -> None:
    good = encoded(recorder.service.asked(BANK))
    for title, text in {
        "a query that is too long": good + "&x=" + "a" * 8200,
        "a broken escape": good + "&x=%zz",
        "a nonce that is no UTF-8": good + "&state=%ff",
        "a client_id that is no UTF-8": "client_id=%ff",
        "semicolons": good.replace("&", ";"),
        "an ampersand at the end": good + "&",
        "only a question mark": "",
    }.items():
        with recorder.scenario(f"unusual: {title}") as browser:
            browser.send("GET", f"{AUTHORIZE}?{text}")


def _by_party(recorder: Recorder) -> None:
    service = recorder.service
    session = {"transaction_data": value(SESSION)}
    for title, asked in {
        "a transaction type that is not allowed": service.asked("Small Kiosk", **session),
        "a claim that is not allowed": service.asked("Small Kiosk", **claims(["birth_date"])),
        "a claim of its scope in a query": service.asked("Small Kiosk", **claims(["given_name"])),
        "an error in the wire format of OpenID4VP": service.asked("Tea House", nonce="short"),
        "a query for two credentials in that format": service.asked(
            "Tea House", scope=None, dcql_query=json.dumps({"credentials": [_one("a"), _one("b")]})
        ),
        "a request that had to be signed": service.asked("Signing Agency"),
        "a request that had to be pushed": service.asked("Pushing Agency"),
    }.items():
        with recorder.scenario(f"by relying party: {title}") as browser:
            browser.get(AUTHORIZE, asked)


def _posted(recorder: Recorder) -> None:
    """Answers to be posted. Production makes no calls, because the addresses of the table do not exist."""
    service = recorder.service
    uri = service[BANK].response_uri
    pages: dict[str, dict[str, Any]] = {
        "no response_uri": {"response_uri": None},
        "an unregistered response_uri": {"response_uri": "https://evil.example/answers"},
        "a redirect URI as response_uri": {"response_uri": HOME},
        "a response_uri that continues the registered one": {"response_uri": f"{uri}/more"},
        "a response_uri with a query": {"response_uri": f"{uri}?x=1"},
    }
    for title, changes in pages.items():
        with recorder.scenario(f"posted: {title}") as browser:
            browser.get(AUTHORIZE, service.posted(BANK, **changes))
    if not service.sandbox:
        return
    for title, changes in {
        "a redirect_uri beside it": {"redirect_uri": HOME},
        "no nonce": {"nonce": None},
        "an unknown scope": {"scope": "everything"},
        "another response_type": {"response_type": "code"},
        "encrypted to nobody": {"response_mode": "direct_post.jwt"},
        "encrypted by client metadata that is a list": {
            "response_mode": "direct_post.jwt",
            "client_metadata": "[]",
        },
        "encrypted by client metadata without keys": {
            "response_mode": "direct_post.jwt",
            "client_metadata": "{}",
        },
    }.items():
        with recorder.scenario(f"posted: {title}") as browser:
            browser.get(AUTHORIZE, service.posted(BANK, **changes))
    with recorder.scenario("posted: a mistake, and the relying party says where to go on") as browser:
        service.party_server.reply = (200, b'{"redirect_uri": "https://harbour-bank.example/sorry"}')
        browser.get(AUTHORIZE, service.posted(BANK, nonce=None))
        service.party_server.reply = (500, b"{}")
        browser.get(AUTHORIZE, service.posted(BANK, nonce=None))
        service.party_server.reply = (200, b"{}")


_GOOD: dict[str, dict[str, Any]] = {
    "as the contract has it": {},
    "without state": {"state": None},
    "with response_mode fragment": {"response_mode": "fragment"},
    "with unknown parameters": {"prompt": "none", "x": "y"},
    "with a nonce of 16": {"nonce": "~" * 16},
    "with a nonce of 512": {"nonce": "~" * 512},
    "with a login_hint in capitals": {"login_hint": "Alice@Example.ORG"},
    "with a scope twice": {"scope": f"{BASIC} {BASIC}"},
    "with an empty dcql_query": {"dcql_query": ""},
    "to 127.0.0.1 at another port": {"redirect_uri": "http://127.0.0.1:61234/callback"},
}


def _good_queries(service: Installation) -> dict[str, dict[str, Any]]:
    return {
        "a query for two claims": claims(["given_name"], ["birth_date"]),
        "a query for nationalities one by one": claims(["nationalities", None]),
        "a query without claims": claims(),
        "a query for a type that is not there": claims(
            ["given_name"], meta={"vct_values": ["https://other.example"]}
        ),
    }


def _good_transactions() -> dict[str, dict[str, Any]]:
    said = {f"transaction data {urn.rpartition('transaction-data:')[2]}": value(urn) for urn in FULL}
    said["all transaction data together"] = " ".join(value(urn) for urn in FULL)
    said["transaction data as a list"] = json.dumps([value(urn) for urn in FULL])
    return {title: {"transaction_data": text} for title, text in said.items()}


def _methods(recorder: Recorder) -> None:
    asked = encoded(recorder.service.asked(BANK))
    with recorder.scenario("methods") as browser:
        for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            browser.send(method, f"{AUTHORIZE}?{asked}")
        browser.post(AUTHORIZE, recorder.service.asked(BANK))
