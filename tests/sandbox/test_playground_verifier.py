"""The playground's verifier (JavaScript) in Node: the standard's examples, and forged presentations.

The independent verifier in Python is tested with the same table of forgeries.
"""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from django.test import Client
from django.urls import reverse

from tests.forgery import HONEST, TAMPERINGS, WRONG_CHAINS, Forger, Tampering
from tests.sd_jwt_vectors import ISSUER_JWK, VECTORS

pytestmark = pytest.mark.node

AS_ASKED = HONEST["as asked"]


def case(tampering: Tampering, forger: Forger | None = None, **expect: Any) -> dict[str, Any]:
    forger = forger or Forger()
    token = forger.present(tampering)
    return {"token": token, "expected": forger.expectations() | tampering.expect | expect}


def failing(result: dict[str, Any]) -> list[str]:
    return [check["id"] for check in result["checks"] if not check["passed"]]


def test_the_key_bound_examples_of_rfc_9901_are_verified(node: Callable[..., dict[str, Any]]) -> None:
    vectors = [vector for vector in VECTORS if not vector["serialized"].endswith("~")]
    signatures = [{"token": v["serialized"], "issuerKey": ISSUER_JWK} for v in vectors]
    found = node(signatures=signatures)["decoded"]
    assert len(found) == 3
    for presentation_, vector in zip(found, vectors, strict=True):
        shown = [
            [part for name in ("salt", "name", "value") if (part := d.get(name)) is not None]
            for d in presentation_["disclosures"]
        ]
        assert shown == vector["disclosures"]
        assert presentation_["jwt"]["payload"] == vector["payload"]
        assert presentation_["problems"] == {"form": [], "repeated": [], "unreferenced": []}


def test_the_recursive_example_of_rfc_9901_is_unfolded(node: Callable[..., dict[str, Any]]) -> None:
    token = next(vector["serialized"] for vector in VECTORS if vector["line"] == 3549)
    (found,) = node(signatures=[{"token": token, "issuerKey": ISSUER_JWK}])["decoded"]
    assert found["claims"]["age_equal_or_over"] == {"18": True}
    assert found["claims"]["nationalities"] == ["DE"]
    assert sorted(disclosure["path"] for disclosure in found["disclosures"]) == [
        ["age_equal_or_over"],
        ["age_equal_or_over", "18"],
        ["nationalities"],
    ]


def test_the_array_element_of_rfc_9901_is_put_in_its_place(node: Callable[..., dict[str, Any]]) -> None:
    token = next(vector["serialized"] for vector in VECTORS if vector["line"] == 1164)
    (found,) = node(signatures=[{"token": token, "issuerKey": ISSUER_JWK}])["decoded"]
    assert found["claims"]["nationalities"] == ["US"]
    assert ["nationalities", 0] in [disclosure["path"] for disclosure in found["disclosures"]]


def test_honest_presentations_pass_every_check(node: Callable[..., dict[str, Any]]) -> None:
    answer = node(presentations=[case(honest) for honest in HONEST.values()])
    for result in answer["presentations"]:
        assert failing(result) == []
        assert [check["id"] for check in result["checks"]] == ["structure", *answer["names"]]
        assert result["presentation"]["claims"] == {
            "given_name": "Alice",
            "family_name": "Müller",
            "age_equal_or_over": {"18": True},
        }


@pytest.fixture(scope="module")
def tampered(node: Callable[..., dict[str, Any]]) -> dict[str, list[str]]:
    """The failed checks of each forgery, from one run of Node."""
    cases = [case(tampering) for tampering in TAMPERINGS.values()]
    results = node(presentations=cases)["presentations"]
    return dict(zip(TAMPERINGS, map(failing, results), strict=True))


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_presentation_fails_just_the_checks_it_must(
    name: str, tampered: dict[str, list[str]]
) -> None:
    assert tampered[name] == TAMPERINGS[name].failing


def test_every_check_can_fail(node: Callable[..., dict[str, Any]]) -> None:
    first = {tampering.failing[0] for tampering in TAMPERINGS.values()}
    elsewhere = {"discovery", *(check for _chain, check in WRONG_CHAINS.values())}
    assert first | elsewhere == {"structure", *node()["names"]}


def test_a_discovery_document_for_another_issuer_fails(node: Callable[..., dict[str, Any]]) -> None:
    discovery = {"issuer": "https://wallet.example/"}
    (result,) = node(presentations=[case(AS_ASKED, discovery=discovery)])["presentations"]
    assert failing(result) == ["discovery", "iss"]


@pytest.mark.parametrize("name", WRONG_CHAINS)
def test_a_wrong_chain_fails(name: str, node: Callable[..., dict[str, Any]]) -> None:
    forger, (chain, check) = Forger(), WRONG_CHAINS[name]
    forger.publish(chain(forger))
    (result,) = node(presentations=[case(AS_ASKED, forger)])["presentations"]
    assert failing(result) == [check]


def test_an_answer_is_read_from_the_fragment_in_both_wire_formats_and_encodings(
    node: Callable[..., dict[str, Any]],
) -> None:
    as_object = json.dumps({"basic": ["a.b.c~d~e.f.g"]})
    error = "#error=access_denied&error_description={}&state=s"
    answers = node(
        fragments=[
            "#vp_token=a.b.c~d~e.f.g&state=x%20y",
            "#vp_token=a.b.c~d~e.f.g&state=x+y",
            f"#vp_token={quote(as_object)}&iss=i",
            f"#vp_token={quote_plus(as_object)}&iss=i",
            error.format("Not%20now."),
            error.format("Not+now."),
            "",
        ]
    )["answers"]
    assert answers[0] == answers[1] == {"presentation": "a.b.c~d~e.f.g", "queryIds": None, "state": "x y"}
    assert answers[2] == answers[3] == {"presentation": "a.b.c~d~e.f.g", "queryIds": ["basic"], "iss": "i"}
    assert answers[4] == answers[5] == {"error": "access_denied", "description": "Not now.", "state": "s"}
    assert answers[6] is None


def test_an_answer_that_breaks_a_rule_is_refused(node: Callable[..., dict[str, Any]]) -> None:
    fragments = [
        "#state=s",
        "#vp_token=a&vp_token=b",
        "#vp_token=a&error=b",
        "#vp_token={",
        "#vp_token={}",
        '#vp_token={"basic":"a"}',
        '#vp_token={"basic":["a","b"]}',
        '#vp_token={"basic":[7]}',
        "#" + "a" * 70_000,
    ]
    assert all("refused" in answer for answer in node(fragments=fragments)["answers"])


def test_every_check_is_explained_on_the_page_once(
    client: Client, db: None, node: Callable[..., dict[str, Any]]
) -> None:
    page = client.get(reverse("playground_callback")).content.decode()
    explained = re.findall(r'data-check="([^"]+)"', page)
    made = node(answered=[[{"state": "s", "queryIds": None}, {"state": "s", "wireFormat": "string"}]])
    before = [check["id"] for check in made["answered"][0]]
    assert explained == [*before, "structure", *made["names"]]


ISSUER = "https://wallet.example"
STRING = {"state": "s", "wireFormat": "string"}
AS_OBJECT = {"state": "s", "wireFormat": "openid4vp-1.0"}


@pytest.mark.parametrize(
    ("answer", "request_", "failing"),
    [
        ({"state": "s", "queryIds": None}, STRING, []),
        ({"state": "s", "queryIds": ["basic"], "iss": ISSUER}, AS_OBJECT, []),
        ({"state": "t", "queryIds": None}, STRING, ["state"]),
        ({"queryIds": None}, STRING, ["state"]),
        ({"state": "s", "queryIds": ["basic"]}, STRING, ["wire-format"]),
        ({"state": "s", "queryIds": None, "iss": ISSUER}, STRING, ["response-iss"]),
        ({"state": "s", "queryIds": ["basic"]}, AS_OBJECT, ["response-iss"]),
        ({"state": "s", "queryIds": ["basic"], "iss": "https://evil.example"}, AS_OBJECT, ["response-iss"]),
    ],
)
def test_an_answer_must_fit_its_request(
    answer: dict[str, Any], request_: dict[str, Any], failing: list[str], node: Callable[..., dict[str, Any]]
) -> None:
    (checks,) = node(answered=[[answer, request_]])["answered"]
    assert [check["id"] for check in checks if not check["passed"]] == failing
