"""Unanswered questions are deleted; answered ones are not."""

from datetime import timedelta

from django.utils import timezone

from consent import decisions
from consent.models import Consent
from consent.retention import ENTRIES
from tests.consent.questions import put
from wallet.models import Wallet

(clear_unanswered,) = (entry.clear for entry in ENTRIES if entry.cleared_as == "questions" and entry.clear)


def test_only_questions_that_expired_unanswered_long_enough_ago_are_deleted(alice: Wallet) -> None:
    now = timezone.now()
    long_ago = now - timedelta(hours=30)
    answered = put(alice, now=long_ago)
    decisions.grant(answered.id, alice, now=long_ago)
    kept = [answered, put(alice), put(alice, now=now - timedelta(hours=2))]
    for _ in range(5):
        put(alice, now=long_ago)
    cleared = clear_unanswered(now=now, batch=2)
    assert set(Consent.objects.all()) == set(kept)
    assert cleared == 5


def test_what_is_still_referred_to_waits(alice: Wallet, acme_bank) -> None:
    from presentation.models import Interaction

    now = timezone.now()
    consent = put(alice, now=now - timedelta(hours=30))
    interaction = Interaction.objects.create(
        relying_party=acme_bank,
        redirect_uri="https://bank.example/callback",
        browser="",
        parameters={},
        request_hash="",
        nonce_digest="",
        consent=consent,
        created_at=now,
        expires_at=now,
    )
    clear_unanswered(now=now, batch=100)
    assert Consent.objects.filter(id=consent.id).exists()
    interaction.delete()
    clear_unanswered(now=now, batch=100)
    assert not Consent.objects.exists()
