"""The sandbox's tables: self-registrations, their requests, posted answers, chosen outcomes, e-mails."""

import uuid

from django.db import models

from infra.models import InternalRow
from presentation.models import RelyingParty
from wallet.models import IdentityVerification


class SelfRegistration(InternalRow):
    """The owner of a relying party that a developer registered, and when it expires (see `self_service`)."""

    relying_party = models.OneToOneField(
        RelyingParty,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="self_registration",
        editable=False,
    )
    owner = models.EmailField(editable=False, db_index=True)  # a verified e-mail address, lower case
    expires_at = models.DateTimeField(editable=False, db_index=True)


class LoggedStep(InternalRow):
    """One response to a request of a self-registered relying party, or one test webhook (see `request_log`).

    It has no value of the request or the answer, except what `sentence` names, such as an unknown scope or an
    address that is not registered.
    """

    relying_party = models.ForeignKey(RelyingParty, on_delete=models.CASCADE, related_name="+")
    interaction = models.UUIDField(null=True, editable=False)  # before it begins, a pushed request's digest
    at = models.DateTimeField(editable=False, db_index=True)
    reference = models.CharField(max_length=8, editable=False)  # as error pages show it
    # The name of the URL, as in `recording.ROUTES` or of a page of a redirect task; or `webhook.test`.
    route = models.CharField(max_length=40, editable=False)
    method = models.CharField(max_length=7, editable=False)
    status = models.PositiveSmallIntegerField(null=True, editable=False)  # null: no response
    error = models.CharField(max_length=60, editable=False)
    sentence = models.CharField(max_length=300, editable=False)  # why, or what was left out: see `is_refused`
    answer = models.CharField(max_length=300, editable=False)  # the names of its members and their lengths

    class Meta(InternalRow.Meta):
        db_table = "sandbox_step"

    @property
    def is_refused(self) -> bool:
        """Whether the sentence says why; otherwise it names what of the request was left out."""
        return bool(self.error) or not self.status or self.status >= 400


class PlaygroundAnswer(InternalRow):
    """An answer that was posted to the playground, until the page reads it (see `posted_answers`)."""

    HANDLE = 43  # characters of a SHA-256 as base64url
    SEALED = {"sealed_form": "sandbox_playgroundanswer.sealed_form:{pk}"}

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    code_digest = models.CharField(max_length=HANDLE, unique=True, editable=False)
    handle = models.CharField(max_length=HANDLE, db_index=True, editable=False)  # the hash of the state
    sealed_form = models.BinaryField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)


class PickedOutcome(InternalRow):
    """The outcome chosen on the page of the simulated provider for the latest submission."""

    verification = models.OneToOneField(
        IdentityVerification, on_delete=models.CASCADE, primary_key=True, related_name="+", editable=False
    )
    outcome = models.CharField(max_length=30, editable=False)  # key of personas.OUTCOMES
    picked_at = models.DateTimeField(editable=False)


class MailboxEmail(InternalRow):
    """One e-mail to one recipient, stored instead of sent; the newest few hundred are kept (`mailbox`)."""

    recipient = models.EmailField(editable=False)
    subject = models.CharField(max_length=200, editable=False)
    text = models.TextField(editable=False)
    sent_at = models.DateTimeField(editable=False)

    class Meta(InternalRow.Meta):
        db_table = "sandbox_letter"
        indexes = [models.Index(fields=["recipient", "-id"], name="sandbox_newest_letter")]
