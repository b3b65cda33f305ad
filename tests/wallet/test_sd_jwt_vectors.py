"""The examples of RFC 9901 as published: each one verifies, and discloses its claims."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keys.jwk import public_key_of
from keys.jws import decode_segment
from tests.wallet.sd_jwts import verify_issued
from wallet.sd_jwt import parsing
from wallet.sd_jwt.issuance import SdJwtError, digest
from wallet.sd_jwt.verification import verify

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "rfc9901_sdjwt_vectors.json").read_text())
ISSUER = public_key_of(
    {
        "kty": "EC",
        "crv": "P-256",
        "x": "b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ",
        "y": "Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8",
    }
)
SD_HASHES = {
    1164: "fMV05vuMARs3uG0Dg0BYd_7mQR9EGBkRof0cTZyuqXE",
    3549: "tH-FtRi55OOnr4VhdJF5LJMlB_bvbon-Y7pYffXyYKo",
}
by_line = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"line {vector['line']}")


def verified(vector: dict[str, Any], **options: Any) -> dict[str, Any]:
    token: str = vector["serialized"]
    facts: dict[str, Any] = {
        "issuer_key": ISSUER,
        "now": datetime.fromtimestamp(_moment(token), UTC),
        "typ": vector["header"]["typ"],
        "required": (),
    }
    if token.endswith("~"):
        return verify_issued(token, **(facts | options))
    facts |= {"audience": "https://verifier.example.org", "nonce": "1234567890"}
    return verify(token, **(facts | options))


def _moment(token: str) -> int:
    """The time of the key binding; without one, any time at which the token is valid."""
    binding = token.rsplit("~", 1)[1]
    return decode_segment(binding.split(".")[1])["iat"] if binding else 1_700_000_000


def names_in(value: Any) -> set[str]:
    """The names of all members at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


def test_all_the_examples_are_there():
    assert [vector["line"] for vector in VECTORS] == [1125, 1164, 2817, 3102, 3214, 3549, 3670, 3900]


@by_line
def test_the_example_verifies(vector: dict[str, Any]):
    result = verified(vector)
    assert not names_in(result) & {"_sd", "_sd_alg", "..."}
    disclosed = {content[1] for content in vector["disclosures"] if len(content) == 3}
    assert disclosed <= names_in(result)


@by_line
def test_the_example_is_parsed_as_published(vector: dict[str, Any]):
    parsed = parsing.parse(vector["serialized"])
    assert [disclosure.content for disclosure in parsed.disclosures.values()] == vector["disclosures"]
    if vector["line"] in SD_HASHES:
        assert parsed.sd_hash == SD_HASHES[vector["line"]]
    assert list(parsed.disclosures) == [digest(d.text) for d in parsed.disclosures.values()]


@by_line
def test_the_example_without_a_disclosure_its_digests_or_its_nonce_is_refused(vector: dict[str, Any]):
    first, second, *rest = vector["serialized"].split("~")
    bound = bool(rest[-1])
    wrong: list[tuple[str, dict[str, Any]]] = [("~".join([first, second, second, *rest]), {})]
    if bound:
        wrong += [
            ("~".join([first, *rest]), {}),
            (vector["serialized"], {"nonce": "1234567891"}),
            (vector["serialized"], {"audience": "https://verifier.example.com"}),
        ]
    for token, options in wrong:
        with pytest.raises(SdJwtError):
            verified(vector | {"serialized": token}, **options)


def test_the_presentation_of_a_3_says_the_age_and_nothing_more():
    payload = verified(VECTORS[5])
    assert payload["age_equal_or_over"] == {"18": True}
    assert payload["nationalities"] == ["DE"]
    assert "given_name" not in payload
