"""Identity verification in person: the holder shows a document, and an operator decides.

Every submission goes to review. In the admin, an operator with the identity-review role enters the identity
in the document and approves, or declines with a reason.
"""

from datetime import datetime

from django.urls import reverse

from wallet.models import IdentityVerification
from wallet.providers import Finding, NeedsReview


class OperatorProvider:
    """The in-person check; see `providers.Provider` for the contract."""

    def start(self, verification: IdentityVerification) -> str:
        """No reference: there is nothing to prepare."""
        return ""

    def address(self, verification: IdentityVerification) -> str:
        """The page that says what to bring."""
        return reverse("wallet_identity_in_person", args=[verification.errand_id])

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """Always a review by an operator."""
        return NeedsReview("in_person")
