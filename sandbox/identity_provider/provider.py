"""The simulated identity-verification provider: a page on this host where an outcome is picked."""

from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.models import PickedOutcome
from wallet.models import IdentityVerification
from wallet.providers import Finding, Pending


class SandboxProvider:
    """Finds what was picked; see `providers.Provider` for the contract."""

    def start(self, verification: IdentityVerification) -> str:
        """Nothing to prepare."""
        return f"sandbox-{verification.id}"

    def address(self, verification: IdentityVerification) -> str:
        """The page where an outcome is picked."""
        return reverse("sandbox_identity", args=[verification.id])

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """What the picked outcome makes of this submission."""
        picked = PickedOutcome.objects.filter(verification=verification).first()
        if picked is None:
            return Pending()
        submission = Submission(
            today=timezone.localdate(now), count=verification.submissions, age=now - picked.picked_at
        )
        return OUTCOMES[picked.outcome].finding(submission)
