"""Evidence and what was found, as they are kept: read back as written, and nothing else is read."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.people import evidence_of
from tests.wallet.attempts import NORA_NEW, attempt_in
from wallet.credential import credentials
from wallet.credential.evidence import DOCUMENT_KINDS, METHODS, Assurance, Evidence, EvidenceError
from wallet.identity import sealed_findings
from wallet.identity.settling import settle
from wallet.models import Credential
from wallet.providers.findings import NeedsReview, Verified

VISIBLE = st.text(st.sampled_from("abcXYZ019:/._-#é€"), min_size=1, max_size=30)
IDENTIFIERS = st.from_regex(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", fullmatch=True)
COUNTRIES = st.from_regex(r"[A-Z]{2}", fullmatch=True)
ZONES = st.builds(lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-1439, 1439))
EVIDENCE = st.builds(
    Evidence,
    method=st.sampled_from(sorted(METHODS)),
    assurance=st.builds(Assurance, IDENTIFIERS, IDENTIFIERS | st.just("")),
    verified_by=VISIBLE,
    verified_at=st.datetimes(datetime(1901, 1, 2), datetime(9998, 1, 1), timezones=ZONES),
    document_kind=st.sampled_from(sorted(DOCUMENT_KINDS)),
    issuing_country=COUNTRIES | st.just(""),
    document_expires_on=st.dates() | st.none(),
    document_number=VISIBLE | st.just(""),
)


@given(evidence=EVIDENCE)
def test_evidence_is_read_back_as_it_was_written(evidence):
    again = Evidence.from_json(evidence.to_json())
    assert again == evidence
    assert again.document_number == evidence.document_number
    assert repr(again) == "<Evidence>"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted(json.loads(evidence_of().to_json()))


@given(text=st.text(max_size=60) | st.binary(max_size=60) | JSON.map(json.dumps))
def test_anything_else_is_not_evidence(text):
    with pytest.raises(EvidenceError):
        Evidence.from_json(text)


@given(field=st.sampled_from(FIELDS), value=JSON)
def test_a_changed_field_is_read_as_evidence_or_refused(field, value):
    facts = json.loads(evidence_of(document_expires_on=date(2030, 1, 1)).to_json()) | {field: value}
    with suppress(EvidenceError):
        assert isinstance(Evidence.from_json(json.dumps(facts)), Evidence)


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_may_be_missing_and_none_be_added(field):
    facts = json.loads(evidence_of().to_json())
    with pytest.raises(EvidenceError):
        Evidence.from_json(json.dumps(facts | {"more": 1}))
    if field not in (
        "document_kind",
        "issuing_country",
        "document_number",
        "subject",
    ):  # which may be unknown
        del facts[field]
        with pytest.raises(EvidenceError):
            Evidence.from_json(json.dumps(facts))


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "guess"},
        {"document_kind": "library card"},
        {"issuing_country": "ie"},
        {"issuing_country": "IRL"},
        {"verified_at": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"verified_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},  # before the first year
        {"verified_at": datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12)))},
        {"verified_at": date(2026, 1, 1)},
        {"document_expires_on": datetime(2026, 1, 1, tzinfo=UTC)},
        {"verified_by": "x" * 201},
        {"verified_by": "a\nb"},
        {"document_number": 7},
    ],
)
def test_facts_that_do_not_fit_are_no_evidence(wrong):
    with pytest.raises(EvidenceError):
        evidence_of(**wrong)


@pytest.mark.parametrize(("days", "expired"), [(-1, True), (0, False), (1, False)])
def test_a_document_is_good_on_its_last_day(days, expired):
    now = datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert evidence_of(document_expires_on=now.date() + timedelta(days=days)).has_expired(now) is expired
    assert not evidence_of(document_expires_on=None).has_expired(now)


@pytest.mark.parametrize("text", ["", " ", "a b c", "a  b", "a\nb", 'a"b', "é", "x" * 201])
def test_an_assurance_is_a_framework_and_perhaps_a_level(text):
    with pytest.raises(EvidenceError):
        Assurance.parse(text)
    assert str(Assurance.parse("eidas high")) == "eidas high"
    assert str(Assurance.parse("de_aml")) == "de_aml"


# --- What a provider found, while an operator reviews it ---------------------------------------------------


@pytest.mark.parametrize("identity", [NORA_NEW, None])
@pytest.mark.parametrize("evidence", [evidence_of(document_number="X123"), None])
def test_what_was_found_is_opened_as_it_was_sealed(nora, now, identity, evidence):
    verification = attempt_in("processing", nora, now)
    settle(verification, NeedsReview("unsure", identity, evidence), now=now)
    verification.refresh_from_db()
    assert sealed_findings.unseal(verification) == (identity, evidence, {})
    if identity is None and evidence is None:
        assert verification.sealed_claims is None
    else:
        assert b"Nora" not in bytes(verification.sealed_claims)
        assert b"X123" not in bytes(verification.sealed_claims)


# --- The credential ends with its document -----------------------------------------------------------------


@pytest.mark.parametrize(("days", "ends_early"), [(10, True), (5000, False)])
def test_a_credential_ends_with_its_document_and_with_the_validity(nora, now, settings, days, ends_early):
    last_day = now.date() + timedelta(days=days)
    evidence = evidence_of(verified_at=now, document_expires_on=last_day)
    settle(attempt_in("processing", nora, now), Verified(NORA_NEW, evidence), now=now)
    credential = Credential.objects.get()
    if ends_early:
        assert credential.expires_at == datetime.combine(last_day, time(10), UTC)  # over in UTC+14
        assert credentials.last_day(credential) == last_day
    else:
        ends = now + settings.IDENTITY_VALIDITY
        assert ends - timedelta(days=1) < credential.expires_at <= ends  # to the day
        assert credential.expires_at.timetz() == time(10, tzinfo=UTC)
    assert credentials.valid_credential(nora, now=now)


def test_whose_document_has_expired_is_looked_at_by_an_operator(nora, now):
    evidence = evidence_of(verified_at=now, document_expires_on=now.date() - timedelta(days=2))
    verification = attempt_in("processing", nora, now)
    settle(verification, Verified(NORA_NEW, evidence), now=now)
    assert (verification.state, verification.reason) == ("review", "document_expired")
    assert not Credential.objects.exists()
