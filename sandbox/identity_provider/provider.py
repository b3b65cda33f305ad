"""The simulated identity-verification provider: a page on this host where an outcome is picked."""

from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy as _

from infra import strict_json
from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.models import PickedOutcome
from wallet.credential import days
from wallet.credential.details import MEMBERS
from wallet.credential.evidence import Assurance
from wallet.providers.contract import Check, Find, Message, MessageRefusedError, Provider, Received, Started
from wallet.providers.findings import Finding, Pending
from wallet.providers.options import Options

NAME = "simulated"  # in IDENTITY_PROVIDERS, where the sandbox always has it
SIGNATURE = "x-simulated-signature"  # the header of a callback


class SimulatedProvider(Provider):
    """Returns the outcome that was picked; see `wallet.providers.contract` for the interface."""

    label = _("Simulated check")
    needs = _("You need no document, and pick what the check finds.")
    takes = _("A few seconds.")
    details = frozenset(MEMBERS)

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.assurances = (Assurance(options.own_framework, "simulated"),)

    def start(self, check: Check, *, now: datetime) -> Started:
        """The page where an outcome is picked."""
        return Started(reverse("sandbox_identity", args=[check.id]), reference=f"sandbox-{check.id}")

    def result(self, check: Check, *, now: datetime) -> Finding:
        """What the picked outcome makes of this submission."""
        picked = PickedOutcome.objects.filter(verification=check.id).first()
        # What was picked before the person began again has had its result.
        if picked is None or (not check.submitted and picked.picked_at < check.began_at):
            return Pending()
        submission = Submission(
            today=days.of_ages(now, settings.AGE_TIME_ZONE),
            now=picked.picked_at,
            count=check.submissions + (not check.submitted),
            age=now - picked.picked_at,
            assurance=self.assurances[0],
        )
        return OUTCOMES[picked.outcome].finding(submission)

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """A callback says which check has a result, and nothing of the result itself."""
        if message.from_browser:
            raise MessageRefusedError("Browsers bring nothing back.", status=404)
        if not constant_time_compare(message.headers.get(SIGNATURE, ""), signature(message.body)):
            raise MessageRefusedError("The signature is wrong.", status=403)
        return Received(references=(_reference_in(message.body),))


def signature(body: bytes) -> str:
    """The signature of a callback, which proves that the simulated provider sent it."""
    return salted_hmac("sandbox.identity_provider", body, algorithm="sha256").hexdigest()


def _reference_in(body: bytes) -> str:
    try:
        said = strict_json.loads(body.decode())
    except ValueError as error:
        raise MessageRefusedError("The body is not JSON.") from error
    reference = said.get("reference") if isinstance(said, Mapping) else None
    if not isinstance(reference, str):
        raise MessageRefusedError("The body names no check.")
    return reference
