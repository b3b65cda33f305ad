"""Questions that nobody answered are forgotten; answers are not."""

from datetime import timedelta

from django.core.management import call_command
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from tests.consent.questions import put
from wallet.models import Wallet


def test_only_what_lapsed_unanswered_long_enough_ago_is_cleared(alice: Wallet, capsys) -> None:
    now = timezone.now()
    long_ago = now - timedelta(hours=30)
    answered = put(alice, now=long_ago)
    decisions.grant(answered.id, alice, now=long_ago)
    kept = [answered, put(alice), put(alice, now=now - timedelta(hours=2))]
    for _ in range(5):
        put(alice, now=long_ago)
    call_command("clear_unanswered_consents", "--batch", "2")
    assert set(Consent.objects.all()) == set(kept)
    assert "5 unanswered questions cleared" in capsys.readouterr().out


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
    call_command("clear_unanswered_consents")
    assert Consent.objects.filter(id=consent.id).exists()
    interaction.delete()
    call_command("clear_unanswered_consents", "--hours", "1")
    assert not Consent.objects.exists()
