"""Attempts at an identity check that have come to a state, and their logged moves."""

from datetime import date

from tests.people import evidence_of
from tests.wallet.operators import claimed
from wallet.credential.claims import Identity
from wallet.identity.settling import settle
from wallet.models import IdentityVerification
from wallet.providers.findings import NeedsReview

NORA_NEW = Identity("Nora", "New", date(1999, 12, 31), ("IE",))
SEEN = evidence_of()


def attempt_in(state, wallet, now, **facts):
    """An attempt that has come to `state`."""
    return IdentityVerification.objects.create(
        wallet=wallet,
        state=state,
        provider="simulated",
        submissions=facts.pop("submissions", 1),
        created_at=now,
        changed_at=now,
        **facts,
    )


def log_of(verification):
    return [(row.from_state, row.to_state, row.actor, row.reason) for row in verification.transitions.all()]


def in_review(wallet, now, identity=NORA_NEW):
    """An attempt in review that Olga has claimed."""
    verification = attempt_in("processing", wallet, now)
    settle(verification, NeedsReview("unsure", identity, SEEN), now=now)
    return claimed(verification)
