"""Identity verification by operators from afar: the person types their details and uploads pictures.

The pictures are in rows of their own (`wallet.identity.pictures`); what was typed is in the check's memory,
also while the form cannot be submitted yet.
"""

from datetime import datetime
from urllib.parse import urlsplit

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from wallet.credential.claims import Identity, IdentityError
from wallet.credential.evidence import Evidence
from wallet.providers.contract import Check, Provider, Started
from wallet.providers.findings import Finding, NeedsReview, Pending
from wallet.providers.options import Options


class FromAfar(Provider):
    """Pictures of a document and of the person, which an operator looks at."""

    label = _("Send pictures of your document")
    needs = _("A passport or identity card, and a camera.")
    takes = _("A few minutes; an operator decides later, and we e-mail you.")
    method = "remote_pictures"
    by_operators = True
    verifies_details = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.assurances = (options.assurance("assurance", f"{options.own_framework} remote"),)
        self.verified_by = options.text("verified_by", urlsplit(options.own_framework).netloc)

    def start(self, check: Check, *, now: datetime) -> Started:
        """The page of this service with the form."""
        address = reverse("wallet_identity_upload", args=[check.redirect_task_id])
        return Started(address, reference=f"pictures-{check.id}", memory=check.memory)

    def result(self, check: Check, *, now: datetime) -> Finding:
        """Once the pictures are there, an operator decides."""
        if not check.submitted:
            return Pending()
        try:
            identity = Identity.from_json(check.memory.get("typed", ""))
        except IdentityError:
            return NeedsReview("uploaded")
        evidence = Evidence(
            method=self.method,
            assurance=self.assurances[0],
            verified_by=self.verified_by,
            verified_at=now,
            document_kind=check.memory.get("document_kind", ""),
        )
        return NeedsReview("uploaded", identity, evidence)
