"""Identity verification without a machine: the person shows their documents, an operator decides.

Every submission goes to review. An operator with the identity-review role types in what the documents say
and approves, or declines with a reason, in the admin.
"""

from datetime import datetime

from django.urls import reverse

from wallet.models import IdentityVerification
from wallet.providers import Finding, NeedsReview


class OperatorProvider:
    """The in-person check; see `providers.Provider` for the contract."""

    def start(self, verification: IdentityVerification) -> str:
        """Nothing to prepare."""
        return ""

    def address(self, verification: IdentityVerification) -> str:
        """The page that says what to bring and asks for the appointment."""
        return reverse("wallet_identity_in_person", args=[verification.errand_id])

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """Always for a person to decide."""
        return NeedsReview("in_person")
