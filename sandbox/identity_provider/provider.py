"""The simulated identity-verification provider: a page of this service on which an outcome is chosen."""

from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.models import PickedOutcome
from wallet.models import IdentityVerification
from wallet.providers import Finding, Pending


class SandboxProvider:
    """Returns the chosen finding; see `providers.Provider` for the contract."""

    def start(self, verification: IdentityVerification) -> str:
        """A made-up reference: there is nothing to prepare."""
        return f"sandbox-{verification.id}"

    def address(self, verification: IdentityVerification) -> str:
        """The page on which an outcome is chosen."""
        return reverse("sandbox_identity", args=[verification.id])

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """The finding of the chosen outcome for this submission; pending while none is chosen."""
        picked = PickedOutcome.objects.filter(verification=verification).first()
        if picked is None:
            return Pending()
        submission = Submission(
            today=timezone.localdate(now), count=verification.submissions, age=now - picked.picked_at
        )
        return OUTCOMES[picked.outcome].finding(submission)
