"""The simulated identity-verification provider: a page on this host where an outcome is picked."""

from datetime import datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.models import PickedOutcome
from wallet.evidence import Assurance
from wallet.providers.contract import Check, Provider, Started
from wallet.providers.findings import Finding, Pending
from wallet.providers.options import Options

NAME = "simulated"  # in IDENTITY_PROVIDERS, where the sandbox always has it


class SimulatedProvider(Provider):
    """Finds what was picked; see `wallet.providers.contract` for the contract."""

    label = _("Simulated check")
    needs = _("Nothing: you pick what comes out of it.")
    takes = _("A few seconds.")

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.assurances = (Assurance(options.own_framework, "simulated"),)

    def start(self, check: Check, *, now: datetime) -> Started:
        """The page where an outcome is picked."""
        return Started(reverse("sandbox_identity", args=[check.id]), reference=f"sandbox-{check.id}")

    def result(self, check: Check, *, now: datetime) -> Finding:
        """What the picked outcome makes of this submission."""
        picked = PickedOutcome.objects.filter(verification=check.id).first()
        if picked is None or not check.submitted:
            return Pending()
        submission = Submission(
            today=timezone.localdate(now),
            now=picked.picked_at,
            count=check.submissions,
            age=now - picked.picked_at,
            assurance=self.assurances[0],
        )
        return OUTCOMES[picked.outcome].finding(submission)
