"""Stripe Identity, against a server that speaks its documented interface."""

import inspect
import json
import logging
import re
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import stripe
from django.conf import settings
from django.test import Client

from infra import waiting
from tests.wallet.conftest import together
from tests.wallet.operators import claimed, reviewer
from tests.wallet.providers.refreshing import refreshed
from tests.wallet.providers.stripe_play import NAME
from tests.wallet.providers.stripe_server import FAULTS, SECRET, signed
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.identity import attempts, progress, review, state_machine
from wallet.identity.state_machine import State
from wallet.models import Credential, IdentityEvidence, IdentityVerification
from wallet.providers import registry
from wallet.providers.contract import ProviderError
from wallet.providers.findings import REASONS
from wallet.providers.options import OptionError
from wallet.providers.stripe_identity import findings

pytestmark = pytest.mark.slow
MINUTE = timedelta(minutes=1)
LIVE = {"type": "stripe", "key": "rk_live_of_the_tests", "webhook_secret": SECRET}
EVERY_CODE = {
    "consent_declined": ("cancelled", "consent_declined"),
    "country_not_supported": ("cancelled", "country_unsupported"),
    "device_not_supported": ("resubmit", "device_unsupported"),
    "document_expired": ("resubmit", "document_expired"),
    "document_type_not_supported": ("resubmit", "document_unsupported"),
    "document_type_not_allowed": ("resubmit", "document_unsupported"),
    "document_unverified_other": ("resubmit", "document_unclear"),
    "email_unverified_other": ("error", "provider_failed"),
    "email_verification_declined": ("error", "provider_failed"),
    "id_number_insufficient_document_data": ("error", "provider_failed"),
    "id_number_mismatch": ("error", "provider_failed"),
    "id_number_unverified_other": ("error", "provider_failed"),
    "phone_unverified_other": ("error", "provider_failed"),
    "phone_verification_declined": ("error", "provider_failed"),
    "selfie_document_missing_photo": ("resubmit", "document_without_photo"),
    "selfie_face_mismatch": ("resubmit", "face_mismatch"),
    "selfie_manipulated": ("review", "unsure"),
    "selfie_unverified_other": ("resubmit", "selfie_unclear"),
    "under_supported_age": ("cancelled", "too_young"),
    "a_code_of_next_year": ("review", "unsure"),
}


def moves(verification):
    return [row.to_state for row in verification.transitions.all()]


# --- Beginning ---------------------------------------------------------------------------------------------


def test_the_session_asks_for_a_document_and_a_selfie_and_tells_stripe_nothing_about_the_person(
    verification, address, play
):
    (_method, _path, headers, body) = play.server.calls[0]
    assert parse_qs(body) == {
        "type": ["document"],
        "client_reference_id": [str(verification.id)],
        "return_url": [progress.check_of(verification).return_url],
        "options[document][allowed_types][0]": ["passport"],
        "options[document][allowed_types][1]": ["id_card"],
        "options[document][allowed_types][2]": ["driving_license"],
        "options[document][require_live_capture]": ["true"],
        "options[document][require_matching_selfie]": ["true"],
    }
    assert headers["idempotency-key"].startswith(f"{verification.id}:0:")
    assert not [word for word in ("telemetry", "platform", "lang_version") if word in str(headers)]
    assert address == play.server.sessions[verification.provider_reference]["url"]


def test_the_address_of_the_page_is_fetched_each_time_and_kept_nowhere(begun, play, now):
    verification, first = begun
    play.server.open_page(first)
    second = progress.go_on(verification, now=now)
    assert second != first
    assert play.server.open_page(second) == verification.provider_reference
    stored = str(IdentityVerification.objects.values().get())
    assert "/start/" not in stored
    assert "/start/" not in json.dumps(dict(progress.check_of(verification).memory))


def test_a_start_whose_answer_was_lost_is_repeated_without_a_second_session(play, nora, redirect_task, now):
    verification = attempts.attempt(nora, redirect_task, NAME, now=now)
    progress.begin(IdentityVerification.objects.get(), now=now)
    IdentityVerification.objects.update(state=State.CREATED, provider_reference="", sealed_memory=None)
    verification.refresh_from_db()
    progress.begin(verification, now=now)
    assert len(play.server.sessions) == 1
    assert play.server.made("POST") == 2


def test_a_server_error_at_the_start_is_tried_once_more(play, nora, redirect_task, now):
    verification = attempts.attempt(nora, redirect_task, NAME, now=now)
    with play.server.failing("500", times=1):
        progress.begin(verification, now=now)
    assert verification.state == State.STARTED


@pytest.mark.parametrize("change", [{"client_reference_id": "another attempt"}, {"livemode": True}])
def test_a_new_session_has_to_be_of_this_attempt_and_of_this_mode(
    play, nora, redirect_task, now, monkeypatch, change
):
    create = play.server._create
    monkeypatch.setattr(play.server, "_create", lambda key, body: create(key, body) | change)
    verification = attempts.attempt(nora, redirect_task, NAME, now=now)
    with pytest.raises(ProviderError):
        progress.begin(verification, now=now)
    assert verification.state == State.CREATED


@pytest.mark.parametrize("status", ["processing", "verified"])
def test_whoever_follows_the_link_after_submitting_is_sent_back_for_the_result(
    verification, address, play, now, status
):
    session = play.server.open_page(address)
    play.server.submit(session)
    if status == "verified":
        play.server.verify(session)
    assert progress.go_on(verification, now=now) == progress.check_of(verification).return_url
    assert refreshed(verification, now).state == ("approved" if status == "verified" else "processing")


@pytest.mark.parametrize("end", ["canceled", "redacted", "unknown to this account"])
def test_a_session_that_is_over_is_an_error_and_the_next_start_creates_another(
    verification, address, play, now, end
):
    first = verification.provider_reference
    if end == "unknown to this account":
        del play.server.sessions[first]
    else:
        changes = {"canceled": {"status": "canceled"}, "redacted": {"redaction": {"status": "redacted"}}}
        play.server.sessions[first] |= changes[end]
    assert refreshed(verification, now).state == State.ERROR
    assert verification.submissions == 0
    address = progress.begin(verification, now=now)
    assert verification.provider_reference != first
    play.person_ends(verification, address, "verified")
    assert refreshed(verification, now).state == State.APPROVED


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "https://user@evil.example/", 7])
def test_only_an_address_is_followed(verification, play, now, url):
    play.server.sessions[verification.provider_reference]["url"] = url
    with pytest.raises(ProviderError):
        progress.go_on(verification, now=now)


# --- Results -----------------------------------------------------------------------------------------------


def test_a_verified_person_gets_a_credential_and_evidence(verification, address, play, nora, now):
    play.person_ends(verification, address, "verified", outputs={"first_name": "  Jenny  Ann "})
    assert refreshed(verification, now).state == State.APPROVED
    evidence = IdentityEvidence.objects.get()
    report = play.server.results[verification.provider_reference]["report"]
    assert (evidence.method, evidence.verified_by) == ("remote_automatic", "Stripe")
    assert evidence.trust_framework.endswith("/assurance")
    assert evidence.assurance_level == "document_and_selfie"
    assert (evidence.document_kind, evidence.issuing_country) == ("passport", "DE")
    assert evidence.document_expires_on == date(2090, 1, 1)
    assert int(evidence.verified_at.timestamp()) == report["created"]
    assert Credential.objects.get().wallet == nora


def found(verification, now):
    """What the provider finds, without anything moving."""
    provider = registry.by_name(NAME)
    return provider.result(progress.check_of(verification), now=now)


def test_names_date_and_number_are_read_and_the_issuing_country_is_no_nationality(
    verification, address, play, now
):
    play.person_ends(verification, address, "verified", outputs={"last_name": None})
    finding = found(verification, now)
    assert (finding.identity.given_name, finding.identity.family_name) == ("Jenny", "")
    assert finding.identity.birth_date == date(1990, 2, 1)
    assert finding.identity.nationalities == ()
    assert finding.evidence.document_number == "C01X00T47"


@pytest.mark.parametrize(
    ("dob", "known"),
    [
        ({"day": None, "month": 4, "year": 1990}, PartialDate(1990, 4)),
        ({"day": 0, "month": 0, "year": 1990}, PartialDate(1990)),
        ({"year": 1990}, PartialDate(1990)),
    ],
)
def test_a_birth_date_that_the_document_has_in_part_is_taken_as_far_as_it_is_known(
    verification, address, play, now, dob, known
):
    play.person_ends(verification, address, "verified", outputs={"dob": dob})
    assert found(verification, now).identity.birth_date == known


def test_a_birth_date_to_come_goes_to_an_operator(verification, address, play, now):
    play.person_ends(verification, address, "verified", outputs={"dob": {"day": 1, "month": 1, "year": 2999}})
    assert refreshed(verification, now).state == State.REVIEW


@pytest.mark.parametrize(
    ("stripes", "ours"),
    [("id_card", "idcard"), ("driving_license", "driving_permit"), ("library_card", "other"), (None, "")],
)
def test_kinds_of_documents_have_the_names_of_identity_assurance(
    verification, address, play, now, stripes, ours
):
    play.person_ends(verification, address, "verified", document={"type": stripes})
    assert found(verification, now).evidence.document_kind == ours


@pytest.mark.parametrize(
    ("outputs", "document"),
    [
        ({"dob": None}, {}),
        ({"dob": {"day": 1, "month": None, "year": 1990}}, {}),
        ({"dob": {"day": None, "month": None, "year": None}}, {}),
        ({"dob": {"day": 30, "month": 2, "year": 1990}}, {}),
        ({"dob": {"day": 1, "month": 1, "year": 1}}, {}),
        ({"dob": {"day": 1, "month": 1, "year": 10**30}}, {}),
        ({"first_name": None, "last_name": ""}, {}),
        ({"first_name": "n" * 151}, {}),
        ({"first_name": "a\u202eb"}, {}),
        ({}, {"issuing_country": "DEU"}),
        ({}, {"expiration_date": {"day": None, "month": 4, "year": 2090}}),
        ({}, {"expiration_date": {"day": 0, "month": 0, "year": 2090}}),
        ({}, {"expiration_date": {"day": 31, "month": 2, "year": 2090}}),
        ({}, {"number": "1" * 201}),
    ],
)
def test_what_cannot_be_an_identity_goes_to_an_operator(verification, address, play, now, outputs, document):
    play.person_ends(verification, address, "verified", outputs=outputs, document=document)
    assert refreshed(verification, now).state == State.REVIEW
    assert verification.reason == "unreadable"


@pytest.mark.parametrize("part", ["document", "selfie"])
def test_a_session_without_both_checks_goes_to_an_operator(verification, address, play, now, part):
    play.person_ends(verification, address, "verified")
    play.server.results[verification.provider_reference]["report"][part]["status"] = "unverified"
    assert refreshed(verification, now).state == State.REVIEW
    assert verification.reason == "not_verified"


def test_an_operator_who_approves_what_stripe_could_not_decide_is_the_verifier(
    verification, address, play, now
):
    play.person_ends(verification, address, "review")
    refreshed(verification, now)
    nora_new = Identity("Nora", "New", date(1999, 12, 31))
    evidence = review.claims(verification)[1]
    claimed(verification)
    review.approve(verification, nora_new, evidence, operator=reviewer(), reason="Seen.", now=now)
    stored = IdentityEvidence.objects.get()
    assert stored.method == "remote_pictures"
    assert stored.verified_by == urlsplit(settings.BASE_URL).netloc


@pytest.mark.parametrize("day", [None, {}, {"day": None, "month": None, "year": None}])
def test_a_document_without_a_last_day_never_ends(verification, address, play, now, day):
    play.person_ends(verification, address, "verified", document={"expiration_date": day})
    assert found(verification, now).evidence.document_expires_on is None


def test_a_document_that_has_expired_goes_to_an_operator(verification, address, play, now):
    day = {"day": 1, "month": 1, "year": 2020}
    play.person_ends(verification, address, "verified", document={"expiration_date": day})
    assert refreshed(verification, now).state == State.REVIEW


def test_two_days_later_the_date_of_birth_is_gone_and_an_operator_decides(verification, address, play, now):
    play.person_ends(verification, address, "verified")
    play.server.seconds_later = 48 * 3600 + 60
    assert refreshed(verification, now).state == State.REVIEW
    assert verification.reason == "unreadable"


@pytest.mark.parametrize(
    "change",
    [
        {"status": "done"},
        {"status": ["verified"]},
        {"status": None},
        {"livemode": True},
        {"livemode": 0},
        {"id": "vs_ofSomebodyElse"},
        {"id": 7},
        {"client_reference_id": "another attempt"},
        {"last_error": "document_expired"},
        {"last_error": {"code": 7}},
        {"last_error": {"code": "x\n" * 10}},
        {"last_verification_report": 7},
        {"redaction": "yes"},
    ],
)
def test_an_answer_of_other_types_changes_nothing(verification, address, play, now, change):
    play.person_ends(verification, address, "verified")
    play.server.sessions[verification.provider_reference].update(change)
    assert refreshed(verification, now).state == State.STARTED


@pytest.mark.parametrize(
    ("outputs", "document"),
    [
        ({"first_name": ["Jenny"]}, {}),
        ({"dob": "1990-02-01"}, {}),
        ({"dob": {"day": True, "month": 2, "year": 1990}}, {}),
        ({"dob": {"day": 1.0, "month": 2, "year": 1990}}, {}),
        ({}, {"number": 7}),
        ({}, {"type": {}}),
    ],
)
def test_results_of_other_types_change_nothing(verification, address, play, now, outputs, document):
    play.person_ends(verification, address, "verified", outputs=outputs, document=document)
    assert refreshed(verification, now).state == State.STARTED


# --- Error codes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(EVERY_CODE))
def test_each_error_code_has_its_state_and_its_words(verification, address, play, now, code):
    play.server.fail(play.server.open_page(address), code)
    state, reason = EVERY_CODE[code]
    assert (refreshed(verification, now).state, verification.reason) == (state, reason)
    assert reason in REASONS


def test_the_codes_are_those_that_the_library_documents():
    source = inspect.getsource(stripe.identity.VerificationSession.LastError)
    codes = set(re.findall(r'"([a-z_]+)",', source))
    assert codes - {"abandoned"} <= EVERY_CODE.keys()
    assert all(findings.is_known(code) for code in codes)
    assert len(codes) == 19


def test_a_failure_is_charged_once_and_not_again_when_the_person_begins_again(
    verification, address, play, now
):
    play.person_ends(verification, address, "again")
    assert refreshed(verification, now).state == State.RESUBMIT
    progress.begin(verification, now=now)
    for moment in (now, now + MINUTE):
        assert refreshed(verification, moment).state == State.STARTED
        progress.go_on(verification, now=moment)
    assert verification.submissions == 1
    assert len(play.server.sessions) == 1
    play.person_ends(verification, progress.go_on(verification, now=now), "again")
    assert refreshed(verification, now).state == State.RESUBMIT
    assert verification.submissions == 2


def test_following_the_link_does_not_hide_a_failure_that_nobody_has_settled(verification, address, play, now):
    play.person_ends(verification, address, "again")
    progress.go_on(verification, now=now)
    assert refreshed(verification, now).state == State.RESUBMIT
    assert verification.submissions == 1


def test_the_same_failure_after_a_check_that_was_seen_to_run_counts_again(verification, address, play, now):
    play.server.fail(play.server.open_page(address), "device_not_supported", with_report=False)
    refreshed(verification, now)
    session = play.server.open_page(progress.begin(verification, now=now))
    play.server.submit(session)
    assert refreshed(verification, now).state == State.PROCESSING
    play.server.fail(session, "device_not_supported", with_report=False)
    assert refreshed(verification, now).state == State.RESUBMIT


@pytest.mark.parametrize("seen_running", [True, False])
def test_the_second_inconclusive_check_goes_to_an_operator(verification, address, play, now, seen_running):
    for state in (State.RESUBMIT, State.REVIEW):
        session = play.server.open_page(address)
        play.server.submit(session)
        if seen_running:
            assert refreshed(verification, now).state == State.PROCESSING
        play.server.fail(session, "document_unverified_other")
        assert refreshed(verification, now).state == state
        if state == State.RESUBMIT:
            address = progress.begin(verification, now=now)


def test_after_a_review_the_person_submits_to_a_new_session_and_the_old_one_is_erased(
    verification, address, play, now
):
    first = verification.provider_reference
    play.person_ends(verification, address, "verified", outputs={"dob": None})
    assert refreshed(verification, now).state == State.REVIEW
    state_machine.move_to(verification, State.RESUBMIT, actor="olga", reason="unreadable", now=now)
    address = progress.begin(verification, now=now)
    assert verification.provider_reference != first
    assert play.server.sessions[first]["redaction"] == {"status": "processing"}
    assert refreshed(verification, now).state == State.STARTED
    play.person_ends(verification, address, "verified")
    assert refreshed(verification, now).state == State.APPROVED


def test_somebody_who_goes_on_with_a_phone_after_all_is_verified(verification, address, play, now):
    session = play.server.open_page(address)
    play.server.fail(session, "device_not_supported", with_report=False)
    assert refreshed(verification, now).state == State.RESUBMIT
    play.server.submit(session)
    play.server.verify(session)
    progress.begin(verification, now=now)
    assert refreshed(verification, now).state == State.APPROVED
    assert len(play.server.sessions) == 1


# --- Waiting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_server_in_trouble_changes_nothing(verification, address, play, now, fault):
    play.person_ends(verification, address, "verified")
    with play.server.failing(fault):
        assert refreshed(verification, now).state == State.STARTED
        with pytest.raises(ProviderError):
            progress.go_on(verification, now=now)
    assert refreshed(verification, now).state == State.APPROVED


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_trouble_between_the_two_reads_never_approves_half_a_result(verification, address, play, now, fault):
    play.person_ends(verification, address, "verified")
    with play.server.failing(fault, after=1):
        assert refreshed(verification, now).state == State.STARTED


def test_a_redaction_between_the_two_reads_is_noticed(verification, address, play, now, monkeypatch):
    play.person_ends(verification, address, "verified")
    answer = play.server.answer

    def redacted_after(method, *rest):
        answered = dict(answer(method, *rest))
        if not play.server.sessions[verification.provider_reference]["redaction"]:
            play.server._redact(verification.provider_reference)
        return answered

    monkeypatch.setattr(play.server, "answer", redacted_after)
    assert refreshed(verification, now).state == State.ERROR
    assert Credential.objects.count() == 0


def test_it_does_not_take_the_last_thread(verification, play, now, settings):
    called = ("identity provider", play.server.address)
    with waiting.waiting_for(called), waiting.waiting_for(called):
        before = len(play.server.calls)
        with pytest.raises(ProviderError):
            progress.go_on(verification, now=now)
        assert len(play.server.calls) == before


def test_neither_names_nor_secrets_are_logged(verification, address, play, now, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    play.person_ends(verification, address, "verified", outputs={"first_name": ["Jenny"]})
    refreshed(verification, now)
    with play.server.failing("html"):
        refreshed(verification, now)
    text = capsys.readouterr().err
    for private in ("Jenny", "Rosen", "C01X00T47", "rk_test", SECRET, "_secret", "/start/"):
        assert private not in text


# --- Callbacks ---------------------------------------------------------------------------------------------


def sent(client, call):
    headers = {name: value for name, value in call.headers.items() if value}
    return client.post(call.path, data=call.body, content_type="application/json", headers=headers)


def test_a_forged_callback_changes_nothing_and_calls_nobody(verification, address, play):
    play.person_ends(verification, address, "verified")
    before = len(play.server.calls)
    for forgery in play.forgeries(verification):
        assert sent(Client(), forgery).status_code == 400
    verification.refresh_from_db()
    assert verification.state == State.STARTED
    assert len(play.server.calls) == before


def test_callbacks_that_are_doubled_late_or_out_of_order_reach_the_same_result(
    verification, address, play, now
):
    reference = verification.provider_reference
    early = [play.server.event(reference, kind) for kind in ("created", "processing", "requires_input")]
    play.person_ends(verification, address, "verified")
    path = play.callback(verification).path
    verified = play.server.event(reference, "verified")
    for body in (verified, *reversed(early), verified, play.server.event(reference, "redacted")):
        headers = {"stripe-signature": signed(body)}
        answer = Client().post(path, data=body, content_type="application/json", headers=headers)
        assert answer.status_code == 200
    verification.refresh_from_db()
    assert verification.state == State.APPROVED
    assert moves(verification).count("approved") == 1


@pytest.mark.django_db
def test_an_event_about_a_session_of_somebody_else_is_accepted_and_does_nothing(play):
    before = len(play.server.calls)
    call = play._call(play.server.event("vs_ofAnotherService", "verified"))
    assert sent(Client(), call).status_code == 200
    assert len(play.server.calls) == before


# --- Races -------------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_starts_at_once_create_one_session(play, nora, redirect_task, now):
    attempts.attempt(nora, redirect_task, NAME, now=now)

    def begin(number: int) -> str:
        return progress.begin(IdentityVerification.objects.get(), now=now)

    together(begin, 4)
    assert len(play.server.sessions) == 1
    verification = IdentityVerification.objects.get()
    assert verification.provider_reference == play.server.only()


# --- Settings ----------------------------------------------------------------------------------------------


def loaded(settings: Any, **values: str) -> Any:
    settings.IDENTITY_PROVIDERS = {NAME: LIVE | values}
    return registry.offered()[NAME]


def test_a_live_key_is_all_that_production_needs(settings):
    settings.IDENTITY_TEST_MODE = False
    settings.LOOPBACK_CALLS = False
    provider = loaded(settings)
    assert [str(each) for each in provider.assurances] == [
        f"{settings.BASE_URL}/assurance document_and_selfie"
    ]


def test_production_refuses_a_test_key(settings):
    settings.IDENTITY_TEST_MODE = False
    with pytest.raises(OptionError, match="IDENTITY_PROVIDERS_FILE: stripe.key must be a live key"):
        loaded(settings, key="rk_test_x")


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"key": ""}, "key must be set"),
        ({"key": "sk_live_secret"}, "key must be a restricted key"),
        ({"key": "rk_live_a b"}, "key must be a restricted key"),
        ({"webhook_secret": ""}, "webhook_secret must be set"),
        ({"webhook_secret": "whsec_a nonsense"}, "webhook_secret must be signing secrets"),
        ({"document_types": "passport library_card"}, "document_types must be some of"),
        ({"live_capture": "maybe"}, "live_capture must be one of"),
        ({"assurance": "eidas substantial"}, "assurance must not be of eidas"),
        ({"address": "https://stripe.example"}, "address is for tests only"),
        ({"surprise": "1"}, "IDENTITY_PROVIDERS_FILE: stripe.surprise: this provider has no such option"),
    ],
)
def test_a_mistake_in_the_settings_is_found_before_people_come(settings, values, complaint):
    with pytest.raises(OptionError, match=complaint) as error:
        loaded(settings, **values)
    assert "nonsense" not in str(error.value)


def test_in_production_no_other_address_is_called(settings):
    settings.LOOPBACK_CALLS = False
    with pytest.raises(OptionError, match="address must be an https address"):
        loaded(settings, address="http://127.0.0.1:1234")
