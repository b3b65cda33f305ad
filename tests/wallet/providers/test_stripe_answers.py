"""Reading Stripe's answers: whatever comes is understood, or refused in one way."""

import contextlib
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wallet.providers.json_values import values
from wallet.credential.evidence import Assurance
from wallet.providers.findings import NeedsReview, Verified
from wallet.providers.stripe_identity.findings import of_error, of_results
from wallet.providers.stripe_identity.responses import OddResponseError, results, session

ASSURANCE = Assurance("https://id.example/assurance", "document_and_selfie")
SESSION = {"id": "vs_1Test", "status": "requires_input", "livemode": False}
RESULTS = {
    "verified_outputs": {
        "first_name": "Jenny",
        "last_name": "Rosen",
        "dob": {"day": 1, "month": 2, "year": 1990},
    },
    "last_verification_report": {
        "created": 1_700_000_000,
        "document": {"status": "verified", "type": "passport", "issuing_country": "DE"},
        "selfie": {"status": "verified"},
    },
}
numbers = st.none() | st.integers() | st.booleans() | st.floats(allow_nan=False)
dates = st.fixed_dictionaries({"day": numbers, "month": numbers, "year": numbers}) | values
outputs = st.fixed_dictionaries(
    {},
    optional={
        "first_name": values,
        "last_name": values,
        "dob": dates,
        "address": values | st.dictionaries(st.sampled_from(["line1", "line2", "city", "country"]), values),
        "unparsed_place_of_birth": values,
    },
)
documents = st.fixed_dictionaries(
    {"status": st.just("verified") | values},
    optional={"type": values, "issuing_country": values, "expiration_date": dates, "number": values},
)
reports = st.fixed_dictionaries(
    {"created": st.integers() | values, "document": documents | values, "selfie": values}
)


def test_a_session_is_read():
    read = session(SESSION | {"last_error": {"code": "abandoned"}, "last_verification_report": "vr_1"})
    assert (read.id, read.status, read.live, read.error, read.report) == (
        *("vs_1Test", "requires_input", False, "abandoned", "vr_1"),
    )
    assert read.outcome == "vr_1:abandoned"
    assert session(SESSION).outcome == ""


def test_results_are_read():
    read = results(RESULTS)
    assert read.birth_date == date(1990, 2, 1)
    assert read.checked_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert isinstance(of_results(read, assurance=ASSURANCE, verified_by="Stripe"), Verified)


def test_address_and_place_of_birth_are_read_as_far_as_they_make_sense():
    address = {"line1": "1 Main St", "line2": None, "city": "Cork", "postal_code": "T12", "country": "IE"}
    told = RESULTS["verified_outputs"] | {"address": address, "unparsed_place_of_birth": "LEEDS"}
    finding = of_results(
        results(RESULTS | {"verified_outputs": told}), assurance=ASSURANCE, verified_by="Stripe"
    )
    assert finding.identity.details == {
        "address": {
            "formatted": "1 Main St\nT12 Cork\nIreland",
            "street_address": "1 Main St",
            "locality": "Cork",
            "postal_code": "T12",
            "country": "IE",
        },
        "place_of_birth": {"locality": "LEEDS"},
    }
    for odd in (
        {"address": "x", "unparsed_place_of_birth": 7},
        {"address": {"line1": "a\u202eb", "line2": 7}},
    ):
        assert results(RESULTS | {"verified_outputs": RESULTS["verified_outputs"] | odd}).details == {}


@pytest.mark.parametrize("member", ["verified_outputs", "last_verification_report"])
def test_results_need_both_parts(member):
    with pytest.raises(OddResponseError):
        results(RESULTS | {member: None})


@given(values | st.dictionaries(st.sampled_from([*SESSION, "last_error", "redaction", "url"]), values))
def test_any_answer_is_a_session_or_refused(answer):
    for facts in (answer, SESSION | answer if isinstance(answer, dict) else answer):
        with contextlib.suppress(OddResponseError):
            session(facts)


@given(st.fixed_dictionaries({"verified_outputs": outputs | values, "last_verification_report": reports}))
def test_any_results_are_an_identity_or_reviewed_or_refused(answer):
    try:
        read = results(answer)
    except OddResponseError:
        return
    finding = of_results(read, assurance=ASSURANCE, verified_by="Stripe")
    assert isinstance(finding, Verified | NeedsReview)


@given(st.text(max_size=40), st.integers(1, 9))
def test_an_error_that_nobody_documented_is_for_an_operator(code, tries):
    assert isinstance(of_error(f"x{code}", tries=tries), NeedsReview)
