"""Reviewing: who sees what and who decides, two operators where two are needed, and what is written down."""

from dataclasses import replace
from datetime import date, timedelta
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.db import IntegrityError, transaction
from django.urls import reverse

from infra.models import AuditLine
from tests.day_inputs import typed_day
from tests.drawn import without_drawn
from tests.people import evidence_of
from tests.wallet.attempts import NORA_NEW, SEEN, attempt_in, log_of
from tests.wallet.conftest import together
from tests.wallet.looks_on_record import seen
from tests.wallet.operators import address, claimed, operate, operator, reviewer
from tests.wallet.typed_identities import TYPED
from wallet.credential import credentials
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance
from wallet.identity import review
from wallet.identity.review import NotClaimedError, SamePersonError
from wallet.identity.settling import settle
from wallet.identity.state_machine import ForbiddenMoveError, move_to, submit
from wallet.models import Credential, IdentityEvidence, IdentityMark, IdentityVerification, Wallet
from wallet.providers.findings import NeedsReview, Verified

pytestmark = pytest.mark.slow


@pytest.fixture
def waiting(nora, now):
    """An attempt in review that nobody has claimed."""
    verification = attempt_in("processing", nora, now)
    settle(verification, NeedsReview("unsure", NORA_NEW, SEEN), now=now)
    return verification


@pytest.fixture
def taken(olga, waiting):
    """An attempt in review that Olga has claimed."""
    operate(olga, waiting, "claim")
    return waiting


def test_nobody_sees_or_decides_what_they_have_not_claimed(olga, waiting):
    text = olga.get(address(waiting)).content.decode()
    assert "New" not in without_drawn(text).replace("New York", "")
    assert "What you review" not in text
    response = olga.get(address(waiting, "do", "approve"), follow=True)
    assert "Nora" not in response.content.decode()
    for name in ("approve", "ask-again", "decline"):
        operate(olga, waiting, name, **TYPED, why="blurry")
    assert IdentityVerification.objects.get().state == "review"
    assert seen() == []


def test_the_operator_who_has_claimed_it_sees_all_of_it_and_each_look_is_written_down(olga, taken):
    text = olga.get(address(taken)).content.decode()
    for word in ("nora@example.org", "Nora", "New", "31 December 1999", "passport", "Ireland"):
        assert word in text
    assert 'value="Nora"' in olga.get(address(taken, "do", "approve")).content.decode()
    olga_id = reviewer("olga").pk
    assert seen() == [("claim", olga_id), ("claims_seen", olga_id), ("claims_seen", olga_id)]


@pytest.mark.parametrize(
    ("born", "shown", "month"), [(PartialDate(1990, 4), "April 1990", "4"), (PartialDate(1990), "1990", "00")]
)
def test_an_operator_sees_and_confirms_what_is_known_of_a_birth_date(nora, now, olga, born, shown, month):
    verification = attempt_in("processing", nora, now)
    settle(verification, NeedsReview("unsure", replace(NORA_NEW, birth_date=born), SEEN), now=now)
    operate(olga, verification, "claim")
    assert f'<dd translate="no">{shown}</dd>' in olga.get(address(verification)).content.decode()
    assert 'value="00"' in olga.get(address(verification, "do", "approve")).content.decode()

    day = {"birth_date_day": "XX", "birth_date_month": month, "birth_date_year": "1990"}
    operate(olga, verification, "approve", **TYPED | day)
    identity = credentials.preview(Credential.objects.get(), [("birth_date",)], today=now.date())
    assert str(identity[0].value) == shown


def test_another_operator_neither_sees_nor_decides_it_until_it_is_released(otto, taken):
    assert "31 December 1999" not in otto.get(address(taken)).content.decode()
    operate(otto, taken, "claim")
    operate(otto, taken, "decline", reason="no")
    assert IdentityVerification.objects.get().state == "review"
    assert IdentityVerification.objects.get().claimed_by == reviewer("olga")
    operate(otto, taken, "release")
    operate(otto, taken, "claim")
    operate(otto, taken, "decline", reason="no")
    assert IdentityVerification.objects.get().state == "declined"


def test_a_decision_ends_the_claim(olga, taken):
    operate(olga, taken, "decline", reason="no")
    assert IdentityVerification.objects.get().claimed_by is None


def test_an_operator_who_may_no_longer_review_sees_no_claims_of_what_they_had_claimed(taken):
    codenames = ("view_identityverification", "view_identityverificationtransition")
    text = operator("olga", *codenames).get(address(taken)).content.decode()
    assert "What you review" not in text
    assert "31 December 1999" not in text


def test_an_operator_who_only_reads_cannot_claim(audrey, waiting):
    assert operate(audrey, waiting, "claim").status_code == 403
    assert seen() == []


def test_what_the_operator_typed_is_the_evidence_and_ends_the_credential(olga, taken):
    operate(olga, taken, "approve", **TYPED)
    evidence = IdentityEvidence.objects.get()
    assert (evidence.document_kind, evidence.issuing_country) == ("passport", "IE")
    assert evidence.document_expires_on == date(2031, 4, 12)
    assert evidence.verification == taken


def test_a_document_that_has_expired_is_not_approved(olga, taken):
    text = operate(
        olga, taken, "approve", **(TYPED | typed_day("document_expires_on", "2020-01-01"))
    ).content.decode()
    assert "This document has expired" in text
    assert IdentityVerification.objects.get().state == "review"


def test_the_credential_ends_with_the_document(nora, now):
    last_day = now.date() + timedelta(days=2)
    evidence = evidence_of(document_expires_on=last_day)
    settle(attempt_in("processing", nora, now), Verified(NORA_NEW, evidence), now=now)
    assert credentials.last_day(Credential.objects.get()) == last_day


def test_an_identity_verified_with_an_expired_document_goes_to_review(nora, now):
    evidence = evidence_of(document_expires_on=now.date() - timedelta(days=1))
    verification = attempt_in("processing", nora, now)
    settle(verification, Verified(NORA_NEW, evidence), now=now)
    assert (verification.state, verification.reason) == ("review", "document_expired")


def test_asking_again_tells_the_person_what_to_mend(olga, taken, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        operate(olga, taken, "ask-again", why="blurry", reason="Cannot read the number")
    stored = IdentityVerification.objects.get()
    assert (stored.state, stored.reason, stored.sealed_claims) == ("resubmit", "blurry", None)
    [message] = mail.outbox
    assert message.subject == "Your identity check: please try again"
    assert "number" not in message.body


# --- The evidence of what an operator decides --------------------------------------------------------------

BANK = {
    "type": "openid_connect",
    "issuer": "https://bank.example.org",
    "client_id": "us",
    "client_secret": "secret",
    "assurance": "eidas substantial",
}
OF_BANK = evidence_of(
    method="electronic", assurance=Assurance("eidas", "substantial"), verified_by="The Bank"
)


def approved_after_the_bank(olga, nora, now, settings, read, evidence):
    settings.IDENTITY_PROVIDERS = {"bank": BANK}
    verification = attempt_in("processing", nora, now)
    IdentityVerification.objects.update(provider="bank")
    settle(verification, NeedsReview("unreadable", read, evidence), now=now)
    operate(olga, verification, "claim")
    operate(olga, verification, "approve", **TYPED)
    return IdentityEvidence.objects.get()


@pytest.mark.parametrize(
    ("read", "evidence"),
    [
        (None, None),
        (None, OF_BANK),
        (Identity("Mallory", "Other", NORA_NEW.birth_date, ("IE",)), OF_BANK),
    ],
)
def test_what_an_operator_typed_does_not_have_the_level_of_the_bank(
    olga, nora, now, settings, read, evidence
):
    stored = approved_after_the_bank(olga, nora, now, settings, read, evidence)
    assert stored.trust_framework == f"{settings.BASE_URL}/assurance"
    assert stored.assurance_level == ""
    assert stored.verified_by == urlsplit(settings.BASE_URL).netloc


def test_what_the_bank_read_and_an_operator_confirmed_keeps_its_level(olga, nora, now, settings):
    typed = Identity("Nora", "Newman", date(1999, 12, 31), ("IE",))
    stored = approved_after_the_bank(olga, nora, now, settings, typed, OF_BANK)
    assert (stored.trust_framework, stored.assurance_level) == ("eidas", "substantial")
    assert stored.verified_by == "The Bank"


# --- Two operators -----------------------------------------------------------------------------------------


@pytest.fixture
def by_two(settings):
    settings.REVIEW_BY_TWO_OPERATORS = True


def approve(verification, name, now, identity=NORA_NEW):
    claimed(verification, name)
    evidence = review.claims(verification)[1]
    return review.approve(verification, identity, evidence, operator=reviewer(name), reason="seen", now=now)


def test_the_first_approval_waits_for_another_operator(waiting, now, by_two):
    assert approve(waiting, "olga", now) is False
    assert (waiting.state, waiting.claimed_by) == ("review", None)
    assert log_of(waiting)[-1] == ("review", "review", "olga", "proposed: seen")
    with pytest.raises(SamePersonError):
        approve(waiting, "olga", now)
    review.release(waiting, now=now)
    assert approve(waiting, "otto", now) is True
    assert (waiting.proposed_by, waiting.approved_by) == (reviewer("olga"), reviewer("otto"))
    assert Credential.objects.count() == 1


def test_a_second_operator_who_changes_something_proposes_it_anew(waiting, now, by_two):
    approve(waiting, "olga", now)
    changed = Identity("Nora", "Newman", NORA_NEW.birth_date, ("IE",))
    assert approve(waiting, "otto", now, changed) is False
    assert approve(waiting, "olga", now, changed) is True


def test_a_proposal_ends_when_the_person_is_asked_again(waiting, now, by_two):
    approve(waiting, "olga", now)
    claimed(waiting, "otto")
    review.ask_again(waiting, "blurry", operator=reviewer("otto"), reason="dark", now=now)
    move_to(waiting, IdentityVerification.State.STARTED, actor="holder", now=now)
    submit(waiting, now=now)
    somebody_else = Identity("Mallory", "Other", NORA_NEW.birth_date, ("IE",))
    settle(waiting, NeedsReview("uploaded", somebody_else, SEEN), now=now)
    assert approve(waiting, "otto", now, somebody_else) is False
    assert not Credential.objects.exists()
    assert approve(waiting, "olga", now, somebody_else) is True


@pytest.mark.parametrize(
    "changes",
    [{"document_expires_on": date(2039, 1, 1)}, {"document_number": "X1"}, {"issuing_country": "FR"}],
)
def test_a_second_operator_who_changes_the_evidence_proposes_it_anew(waiting, now, by_two, changes):
    approve(waiting, "olga", now)
    claimed(waiting, "otto")
    changed = replace(SEEN, **changes)
    facts = {"operator": reviewer("otto"), "reason": "seen", "now": now}
    assert review.approve(waiting, NORA_NEW, changed, **facts) is False
    assert not Credential.objects.exists()


def test_who_has_proposed_does_not_approve_after_the_rule_was_switched_off(waiting, now, by_two, settings):
    approve(waiting, "olga", now)
    settings.REVIEW_BY_TWO_OPERATORS = False
    with pytest.raises(SamePersonError):
        approve(waiting, "olga", now)
    review.release(waiting, now=now)
    assert approve(waiting, "otto", now) is True


def test_the_database_refuses_one_person_doing_both(waiting):
    with pytest.raises(IntegrityError), transaction.atomic():
        IdentityVerification.objects.update(proposed_by=reviewer("olga"), approved_by=reviewer("olga"))


def test_the_admin_tells_the_first_operator_that_another_has_to_approve(olga, taken, by_two):
    operate(olga, taken, "approve", **TYPED)
    operate(olga, taken, "claim")
    response = olga.post(address(taken, "do", "approve"), TYPED, follow=True)
    assert "another operator has to make it" in response.content.decode()
    assert not Credential.objects.exists()


def test_a_proposal_that_does_not_open_is_made_anew(waiting, now, by_two):
    approve(waiting, "olga", now)
    IdentityVerification.objects.update(sealed_claims=b"sealed under a key that is gone")
    claimed(waiting, "otto")
    facts = {"operator": reviewer("otto"), "reason": "seen", "now": now}
    assert review.approve(waiting, NORA_NEW, review.own_evidence(waiting), **facts) is False


@pytest.mark.parametrize("term", ["olga", "1", "ABCD-2345", "9" * 30, "\x00"])
def test_the_audit_is_searched_for_anything_without_an_error(waiting, admin_client, term):
    assert admin_client.get(reverse("admin:infra_auditline_changelist"), {"q": term}).status_code == 200


# --- The same person in another wallet ---------------------------------------------------------------------


def test_the_same_identity_in_another_wallet_is_flagged_and_not_merged(olga, alice, waiting, now):
    settle(attempt_in("processing", alice, now), Verified(NORA_NEW, SEEN), now=now)
    operate(olga, waiting, "claim")
    text = olga.get(address(waiting)).content.decode()
    assert "is in another wallet" in text
    assert str(alice.id) in text
    assert Credential.objects.count() == 1


@pytest.mark.parametrize(
    ("held", "flagged"),
    [
        (PartialDate(1999), True),
        (PartialDate(1999, 12), True),
        (PartialDate(1999, 11), False),
        (PartialDate(1998), False),
    ],
)
@pytest.mark.parametrize("held_is_partial", [True, False])
def test_an_identity_whose_birth_date_may_be_the_same_is_flagged(
    olga, alice, nora, now, held, flagged, held_is_partial
):
    partial = replace(NORA_NEW, birth_date=held)
    first, second = (partial, NORA_NEW) if held_is_partial else (NORA_NEW, partial)
    settle(attempt_in("processing", alice, now), Verified(first, SEEN), now=now)
    verification = attempt_in("processing", nora, now)
    other_document = replace(SEEN, document_number="")
    settle(verification, NeedsReview("unsure", second, other_document), now=now)
    operate(olga, verification, "claim")
    assert ("is in another wallet" in olga.get(address(verification)).content.decode()) == flagged


def test_a_new_identity_is_flagged_nowhere(olga, alice, taken):
    assert "is in another wallet" not in olga.get(address(taken)).content.decode()


def test_marks_say_nothing_without_the_key(nora, now):
    settle(attempt_in("processing", nora, now), Verified(NORA_NEW, SEEN), now=now)
    digests = list(IdentityMark.objects.values_list("digest", flat=True))
    assert digests
    assert all(len(digest) == 64 for digest in digests)


# --- The audit and the queue -------------------------------------------------------------------------------


def test_the_audit_record_names_nobody(olga, taken):
    olga.get(address(taken))
    text = " ".join(AuditLine.objects.values_list("text", flat=True)).lower()
    assert "claims_seen" in text
    assert str(taken.id) in text
    assert "nora" not in text
    assert "olga" not in text


def test_the_queue_begins_with_the_oldest(olga, nora, bob, now):
    newer = attempt_in("review", nora, now)
    older = attempt_in("review", bob, now - timedelta(hours=3))
    listing = olga.get(reverse("admin:wallet_identityverification_changelist"), {"state__exact": "review"})
    text = listing.content.decode()
    assert text.index(str(older.id)) < text.index(str(newer.id))


# --- Races -------------------------------------------------------------------------------------------------


@pytest.mark.postgresql
def test_of_operators_who_claim_at_once_one_has_it(transactional_db, now):
    wallet = Wallet.objects.create(email="newcomer@example.org", created_at=now)
    verification = attempt_in("review", wallet, now)
    operators = [reviewer(f"o{number}") for number in range(8)]

    def take(number):
        row = IdentityVerification.objects.get(id=verification.id)
        review.claim(row, operator=operators[number], now=now)

    results = together(take)
    assert results.count(None) == 1
    assert [type(result) for result in results].count(NotClaimedError) == 7


def test_claiming_what_is_decided_is_refused(nora, now):
    with pytest.raises(ForbiddenMoveError):
        review.claim(attempt_in("approved", nora, now), operator=reviewer(), now=now)
