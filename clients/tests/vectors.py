"""The attack table as one JSON file for the client libraries of every language."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.forgery import (
    BASE_URL,
    CLIENT_ID,
    HONEST,
    NONCE,
    NOW,
    REDIRECT_URI,
    TAMPERINGS,
    WRONG_CHAINS,
    Forger,
    Tampering,
    certificate,
    new_key,
)

CLAIMS = ["given_name", "family_name", "age_equal_or_over.18"]
STATE = "s" * 32


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def case(forger: Forger, tampering: Tampering, failing: list[str]) -> dict[str, Any]:
    """What an application has and gets. One of the checks in `failing` must fail; none if it is honest."""
    vp_token = forger.present(tampering)
    published = {
        forger.base_url + path: content if isinstance(content, str) else json.dumps(content)
        for path, content in forger.documents().items()
    }
    return {
        "failing": failing,
        "wallet": {
            "base_url": BASE_URL,
            "client_id": CLIENT_ID,
            "redirect_uri": REDIRECT_URI,
            "root": pem(forger.root),
            "documents": published,
            "now": NOW,
        },
        "pending": {
            "issuer": BASE_URL,
            "client_id": CLIENT_ID,
            "nonce": NONCE,
            "claims": CLAIMS,
            "transaction_data": tampering.expect.get("transactionData", []),
            "state": STATE,
            "begun": NOW,
        },
        "fields": {"vp_token": vp_token, "state": STATE},
    }


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else 1


def issued(failing: list[str], **payload: Any) -> dict[str, Any]:
    """A genuine presentation of a token with this payload too."""
    return case(Forger(), Tampering([], issue=lambda _h, said, _s: said.update(payload)), failing)


def certified(failing: list[str], *, middle: bool = False, host: str = "wallet.example") -> dict[str, Any]:
    """A presentation whose key is certified for a host, perhaps by a lower authority."""
    forger, key = Forger(), new_key()
    issuing = ("Issuing CA", forger.issuing_key)
    above, issuer = [forger.issuing, forger.root], issuing
    if middle:
        forger.issuing = certificate(*issuing, ("Root", forger.root_key), authority=True)
        above = [certificate("Below", key, issuing, authority=True), forger.issuing, forger.root]
        issuer = ("Below", key)
    leaf = certificate("Signer", forger.signing_key, issuer, authority=False, host=host)
    forger.publish([leaf, *above])
    return case(forger, HONEST["as asked"], failing)


def around(honest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same presentation in other forms, and for other sessions."""
    token = honest["fields"]["vp_token"]
    pendings: dict[str, tuple[dict[str, Any], list[str]]] = {
        "a request of two hours ago": ({"begun": NOW - 8000}, ["state"]),
        "more was disclosed": ({"claims": CLAIMS[:2]}, ["claims"]),
        "a claim is missing": ({"claims": [*CLAIMS, "nationalities"]}, ["claims"]),
        "an optional claim is missing": ({"claims": [*CLAIMS, "nationalities?"]}, []),
    }
    fields: dict[str, tuple[dict[str, Any], list[str]]] = {
        "as an object": ({"vp_token": json.dumps({"basic": [token]}), "iss": BASE_URL}, []),
        "another state": ({"vp_token": token, "state": "t" * 32}, ["state"]),
        "no state": ({"vp_token": token, "state": None}, ["state"]),
        "another issuer": ({"vp_token": token, "iss": "https://evil.example"}, ["iss"]),
        "nothing": ({}, ["structure"]),
        "two presentations": ({"vp_token": json.dumps({"a": [token, token]})}, ["structure"]),
        "an object of texts": ({"vp_token": json.dumps({"a": token})}, ["structure"]),
        "an object with a name twice": (
            {"vp_token": f'{{"a": ["{token}"], "a": ["{token}"]}}'},
            ["structure"],
        ),
        "broken JSON": ({"vp_token": "{"}, ["structure"]),
        "too long": ({"vp_token": token + "~" * 70_000}, ["structure"]),
        "encrypted, unasked": ({"response": "a.b.c.d.e"}, ["encryption"]),
    }
    return {
        name: honest | {"pending": honest["pending"] | change, "failing": failing}
        for name, (change, failing) in pendings.items()
    } | {
        name: honest | {"fields": {"state": STATE} | sent, "failing": failing}
        for name, (sent, failing) in fields.items()
    }


def extended() -> dict[str, dict[str, Any]]:
    """Headers that ask for an extension, which a verifier that has none must refuse (RFC 7515 §4.1.11)."""
    found = {}
    for what, members in {
        "crit": {"crit": ["exp"], "exp": NOW + 60},
        "an empty crit": {"crit": []},
        "b64": {"b64": True},
        "crit and b64": {"crit": ["b64"], "b64": False},
    }.items():
        change = partial(_header, members=members)
        found[f"{what} of the issuer"] = case(Forger(), Tampering([], issue=change), ["alg"])
        found[f"{what} of the holder"] = case(Forger(), Tampering([], bind=change), ["kb-typ"])
        found[f"{what} of the list"] = case(Forger(), Tampering([], listed=change), ["status"])
    return found


def at_the_edges() -> dict[str, dict[str, Any]]:
    """Times just within and just beyond the tolerance, which is the same for all of them."""

    def with_times(failing: list[str], part: str, **times: int) -> dict[str, Any]:
        def change(*parts: Any) -> None:
            parts[1].update(times)

        return case(Forger(), Tampering([], **{part: change}), failing)  # type: ignore[arg-type]

    return {
        "a token that ended just now": with_times([], "issue", exp=NOW - 299),
        "a token that ended": with_times(["exp"], "issue", exp=NOW - 300),
        "a token that begins soon": with_times([], "issue", nbf=NOW + 300),
        "a token that begins later": with_times(["exp"], "issue", nbf=NOW + 301),
        "a binding of before": with_times([], "bind", iat=NOW - 300),
        "a binding of long before": with_times(["kb-iat"], "bind", iat=NOW - 301),
        "a binding of a fast clock": with_times([], "bind", iat=NOW + 300),
        "a binding of a clock that is too fast": with_times(["kb-iat"], "bind", iat=NOW + 301),
        "a list that ended just now": with_times([], "listed", exp=NOW - 299),
        "a list that ended": with_times(["status"], "listed", exp=NOW - 300),
        "a list of a fast clock": with_times([], "listed", iat=NOW + 300),
        "a list of a clock that is too fast": with_times(["status"], "listed", iat=NOW + 301),
    }


def _header(header: dict[str, Any], *_others: Any, members: dict[str, Any]) -> None:
    header.update(members)


@cache
def vectors() -> dict[str, dict[str, Any]]:
    """The attack table by name, and what it has no place for."""
    found = {name: case(Forger(), each, each.failing) for name, each in (HONEST | TAMPERINGS).items()}
    for name, (chain, check) in WRONG_CHAINS.items():
        forger = Forger()
        forger.publish(chain(forger))
        found[f"chain: {name}"] = case(forger, Tampering([]), [check])
    found["a list that is not there"]["failing"] = ["unavailable"]  # that is no forgery
    others = {
        "chain: three authorities": certified([], middle=True),
        "chain: for another host": certified(["certificate-chain"], host="other.example"),
        "a claim beside the disclosures": issued(["disclosures-form"], given_name="Alice"),
        "issued for us and others": issued([], aud=["corner-shop", CLIENT_ID]),
        "issued for us": issued([], aud=CLIENT_ID),
        "issued for another application": issued(["kb-aud"], aud="corner-shop"),
        "issued for other applications": issued(["kb-aud"], aud=["corner-shop"]),
        "issued for nobody": issued(["kb-aud"], aud=[]),
        "issued for us and a number": issued(["kb-aud"], aud=[CLIENT_ID, 7]),
        "nested": issued(["disclosures-form", "claims"], deep=nested(40)),
        "nested deeply": issued(["disclosures-form", "claims"], deep=nested(400)),
    }
    return found | others | extended() | around(found["as asked"]) | at_the_edges()


def write(file: Path) -> None:
    """The one file of vectors, from which the libraries of every language read the cases."""
    file.write_text(json.dumps(vectors()))
