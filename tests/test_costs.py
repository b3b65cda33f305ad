"""The worst input that each step of docs/architecture.md accepts ("What a step may cost"), counted.

No test measures time: it counts calls or lines, or the system ends the work at its limit of CPU time.
"""

import gc
import importlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from infra import base64url, strict_json
from infra.audit import recording
from infra.strict_json import StrictJsonError
from keys.certificates.path import MOST_IN_CHAIN
from presentation import verification
from presentation.dcql import parsing as dcql
from presentation.dcql.evaluation import Offer, has_alternatives, select
from presentation.parameters import LIMITS
from presentation.relying_parties.metadata import logos
from tests.source_modules import ROOT, modules
from tests.wallet import sd_jwts
from tests.wallet.providers.pids import Authority, encrypted, world
from tests.wallet.providers.wallet_responses import REQUEST, read
from tests.warm_start import run
from wallet.providers import in_person
from wallet.providers.other_wallet.trust_anchors import TrustAnchors, UnknownIssuerError
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.parsing import MAX_DISCLOSURES, MAX_TOKEN
from wallet.sd_jwt.verification import verify

Work = Callable[[], object]
FACTS: dict[str, Any] = {
    "issuer_key": sd_jwts.ISSUER.public_key,
    "audience": sd_jwts.AUDIENCE,
    "nonce": sd_jwts.NONCE,
    "now": sd_jwts.NOW,
}


def called(work: Work) -> Counter[str]:
    """The functions that `work` calls, by name, also those in C."""
    found: Counter[str] = Counter()

    def count(frame: FrameType, event: str, about: Any) -> None:
        if event == "c_call":
            found[about.__name__] += 1
        elif event == "call":
            found[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def lines(work: Work) -> int:
    """How many lines of Python `work` runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _about: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()  # it may run finalizers of other tests
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def refused(work: Work, *errors: type[Exception]) -> Work:
    def attempt() -> None:
        with pytest.raises(errors):
            work()

    return attempt


def test_every_row_of_the_table_names_tests_that_there_are() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("## What a step may cost")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 12
    for row in rows:
        named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", row[-1])
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (ROOT / path).read_text(), name


@pytest.mark.parametrize("filler", [b"\xff", b"\xff\xd0", b"\xff\xe0\0\2", b"\xff\x01"])
def test_the_size_of_a_logo_is_read_in_few_lines_for_each_byte(filler: bytes) -> None:
    picture = (b"\xff\xd8" + filler * logos.LARGEST)[: logos.LARGEST]
    assert lines(lambda: logos.problem_with(picture)) < 6 * logos.LARGEST
    assert lines(lambda: logos.problem_with(picture + b"\xff")) < 10, "longer ones are not read at all"


def test_a_qr_code_holds_what_this_service_chose() -> None:
    assert in_person.as_case_number("2" * 100_000) == ""
    assert in_person.as_case_number("  2345 6789  ") == "2345-6789"
    assert len(in_person.qr_code("2345-6789")) < 3000


@pytest.mark.parametrize(
    "text",
    [
        "[" * 131_072 + "]" * 131_072,
        "[" + "9" * 250_000 + "]",
        "[" + ",".join(["1e999999"] * 29_000) + "]",
        "{" + ",".join(f'"{number}":[]' for number in range(20_000)) + "}",
        '["\\ud83d\\ude00",' + ",".join(["1e-99999"] * 29_000) + "]",
    ],
    ids=["deep", "a long number", "large numbers", "many names", "half characters"],
)
def test_json_is_read_in_few_lines_for_each_byte(text: str) -> None:
    assert len(text) <= verification.LONGEST

    def read_it() -> None:
        with suppress(StrictJsonError):
            strict_json.loads(text, deepest=4)

    assert lines(read_it) < 2 * len(text)
    assert sum(called(read_it).values()) < len(text)


def test_no_more_certificates_are_parsed_and_tried_than_a_chain_may_have() -> None:
    anchors = TrustAnchors([(world().authority.certificate, ["any"])])
    most = Authority.make("Stranger").x5c * MOST_IN_CHAIN
    parsed = called(refused(lambda: anchors.issuer({"x5c": most}, datetime.now(UTC)), UnknownIssuerError))
    assert parsed["load_der_x509_certificate"] == MOST_IN_CHAIN
    parsed = called(refused(lambda: anchors.issuer({"x5c": [*most, *most]}, datetime.now(UTC)), SdJwtError))
    assert parsed["load_der_x509_certificate"] == 0


def test_a_wallet_cannot_choose_how_often_a_key_is_derived() -> None:
    """Neither by PBES2 with a count (RFC 7518 §4.8), nor by compressed content (RFC 7516 §4.1.3)."""
    _head, *rest = encrypted(REQUEST, {"vp_token": {}}).split(".")
    for header in (
        {"alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2c": 2**31 - 1, "p2s": "c2FsdHNhbHQ"},
        {"alg": "ECDH-ES", "enc": "A128GCM", "zip": "DEF"},
    ):
        response = ".".join([base64url.encode(json.dumps(header).encode()), *rest])
        done = called(lambda response=response: read(response))
        assert not done["derive"] + done["decrypt"] + done["decompress"]
        assert read(response) is None


def largest_query() -> str:
    """As many credential queries, claims, options and sets as fit into the parameter."""
    ids = [f"c{number}" for number in range(10)]
    claims = [{"id": name, "path": ["age_equal_or_over", "18"]} for name in ids]
    credentials = [
        {
            "id": f"q{number}",
            "format": "dc+sd-jwt",
            "meta": {"vct_values": ["type"]},
            "claims": claims,
            "claim_sets": [ids[: number % 10 + 1]] * 12,
        }
        for number in range(dcql.MOST_CREDENTIALS)
    ]
    sets = [{"options": [[f"q{number}" for number in range(10)]] * 10} for _ in range(dcql.MOST_CREDENTIALS)]
    return json.dumps({"credentials": credentials, "credential_sets": sets}, separators=(",", ":"))


def test_the_largest_query_is_evaluated_in_few_calls() -> None:
    text = largest_query()
    assert 0.8 * LIMITS["dcql_query"] < len(text) <= LIMITS["dcql_query"]
    query = dcql.parse(text)
    offer = Offer("type", (), {("age_equal_or_over", "18"): None}, {})
    held = {"age_equal_or_over": {"18": True}}

    done = called(lambda: (dcql.parse(text), select(query, offer, held), has_alternatives(query)))

    assert sum(done.values()) < len(text)


def test_a_presentation_with_the_most_disclosures_is_verified_in_few_calls() -> None:
    """Each disclosure is read once, and no signature more is verified than two."""
    claims = {f"claim_{number}": number for number in range(MAX_DISCLOSURES)}
    whole = sd_jwts.issued(sd_jwts.PLAIN | sd_jwts.issuance.all_withheld(claims))
    token = sd_jwts.presented(whole)
    assert len(token) < MAX_TOKEN

    done = called(lambda: verify(token, **FACTS))

    assert done["verify_signature"] == 2
    assert sum(done.values()) < 40 * MAX_DISCLOSURES
    too_many = token.rpartition("~")[0] + "~" + "WzFd~" * MAX_DISCLOSURES
    assert sum(called(refused(lambda: sd_jwts.parse(too_many), SdJwtError)).values()) < 100


NASTY = ("a", "a@", "a.", "1", "A", "-", " ", "\n", '\\"', '"', "'", "%", "/", "[", "(", "<form ", "<input ")
NASTY += ("<button ", "<script>", "=", ":", "@", "\\", '"a" ', "_", "DETAIL: x\n", "http://127.0.0.1:", "ا")
LONG = 2000  # characters: more than fields of forms and parameters of addresses that are matched have


def test_no_regular_expression_takes_more_than_the_square_of_its_input() -> None:
    """With more, one of these thousands of searches alone would exceed the limit of CPU time."""
    program = "import django, resource; django.setup(); resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
    program += "from tests.test_costs import search_with_all; print(search_with_all())"
    searched = run(os.environ, "-c", program)
    assert searched.returncode == 0, searched.stderr[-2000:]
    assert int(searched.stdout.split()[-1]) > 70


def search_with_all() -> int:
    """Searches long texts with every compiled expression of the service; how many there are."""
    found = 0
    for name, path in modules():
        if "re.compile" not in path.read_text() or name.endswith("picture_decoder"):
            continue
        for pattern in vars(importlib.import_module(name)).values():
            if isinstance(pattern, re.Pattern):
                found += 1
                for text in (
                    start * (LONG // len(start)) + end for start in NASTY for end in ("", "!", "\0")
                ):
                    searched = text if isinstance(pattern.pattern, str) else text.encode()
                    pattern.search(searched)
                    pattern.fullmatch(searched)
    return found


def test_a_reason_for_the_audit_record_is_cleaned_in_one_pass() -> None:
    assert recording._clean("a@b " * 3) == " ".join([recording.LEFT_OUT] * 3)
    assert recording._clean("see a@b, @c d@ @") == f"see {recording.LEFT_OUT} @c d@ @"
    assert called(lambda: recording._clean("a" * 250_000))["sub"] == 0
