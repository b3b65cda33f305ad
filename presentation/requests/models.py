"""What is kept of requests: pushed ones, each browser's interaction, and answers that are to be posted."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from consent.models import Consent
from infra.sealing import seal, unseal
from presentation.relying_parties.models.relying_parties import RelyingParty
from presentation.requests.parameters import Parameters
from wallet.models import Errand


class KeepsParameters:
    """A row with the parameters of a request. Transaction data is sealed, because it names accounts.

    The others stay in clear: the error redirect needs `state` and `response_mode` even while a sealing key is
    missing.
    """

    pk: Any
    parameters: Any
    sealed_transaction_data: Any
    SEALED: dict[str, str]

    def keep(self, parameters: Parameters) -> None:
        """Put the parameters into this row, which is not saved yet."""
        self.parameters = {n: value for n, value in parameters.values.items() if n != "transaction_data"}
        if said := parameters.values.get("transaction_data"):
            self.sealed_transaction_data = seal(said.encode(), context=self._sealing_context)

    def as_received(self) -> Parameters:
        """The parameters as received; raises `SealError` when the transaction data does not open."""
        if self.sealed_transaction_data is None:
            return Parameters(self.parameters)
        said = unseal(self.sealed_transaction_data, context=self._sealing_context).decode()
        return Parameters({**self.parameters, "transaction_data": said})

    @property
    def _sealing_context(self) -> str:
        return self.SEALED["sealed_transaction_data"].format(pk=self.pk)


class PushedRequest(KeepsParameters, models.Model):
    """One request behind a handle, of which only the SHA-256 is kept. Parameters go once it is answered.

    open ──(an interaction that began with it is answered)──► used
    """

    # Sealed columns and the associated data each is bound to: see `KeepsParameters`.
    SEALED = {"sealed_transaction_data": "presentation_pushedrequest.sealed_transaction_data:{pk}"}

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    # No foreign key: it lives for minutes, and a push need not lock the relying party's row.
    client_id = models.CharField(max_length=100, editable=False)
    parameters = models.JSONField(editable=False)  # without transaction data
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    signed = models.BooleanField(editable=False)
    expires_at = models.DateTimeField(db_index=True, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return "pushed request"


class Interaction(KeepsParameters, models.Model):
    """One browser's way through one authorization request.

    Only facts are stored: what was received, what the holder was asked, whether and how it was answered.
    What must happen next is computed from them (`next_step`).
    """

    # Sealed columns and the associated data each is bound to: see `KeepsParameters`.
    SEALED = {"sealed_transaction_data": "presentation_interaction.sealed_transaction_data:{pk}"}

    class Outcome(models.TextChoices):
        NONE = "", _("not answered yet")
        TOKEN = "token", _("token")
        ERROR = "error", _("error")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    relying_party = models.ForeignKey(
        RelyingParty,
        on_delete=models.CASCADE,
        related_name="interactions",
        db_index=False,  # the index below begins with it
        editable=False,
    )
    # As received (a loopback port may be added), or empty where the answer is posted.
    redirect_uri = models.CharField(_("redirect URI"), max_length=506, blank=True, editable=False)
    response_uri = models.CharField(_("response URI"), max_length=500, blank=True, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # infra.browser digest
    # As received, without transaction data; both columns are emptied once answered.
    parameters = models.JSONField(editable=False)
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    request_hash = models.CharField(max_length=64, editable=False)  # SHA-256 hex over the parameters
    nonce_digest = models.CharField(max_length=64, editable=False)
    consent = models.OneToOneField(Consent, null=True, on_delete=models.PROTECT, editable=False)
    errand = models.ForeignKey(Errand, null=True, on_delete=models.SET_NULL, editable=False)
    outcome = models.CharField(
        max_length=5, choices=Outcome, default=Outcome.NONE, blank=True, editable=False
    )
    error = models.CharField(max_length=40, blank=True, editable=False)
    created_at = models.DateTimeField(_("asked"), editable=False)
    expires_at = models.DateTimeField(_("open until"), editable=False, db_index=True)
    answered_at = models.DateTimeField(_("answered"), null=True, editable=False)

    class Meta:
        indexes = [
            models.Index(fields=["relying_party", "nonce_digest"], name="presentation_interaction_asked"),
            # For `reseal` and `check --deploy`: the table keeps answered interactions for long.
            models.Index(
                fields=["id"],
                condition=Q(sealed_transaction_data__isnull=False),
                name="presentation_sealed_requests",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["relying_party", "nonce_digest"],
                condition=Q(outcome="token"),
                name="presentation_nonce_presented_once",
            ),
            models.CheckConstraint(
                condition=(Q(outcome="") & Q(answered_at__isnull=True))
                | (~Q(outcome="") & Q(answered_at__isnull=False)),
                name="presentation_interaction_answered_once",
            ),
            models.CheckConstraint(
                condition=(Q(redirect_uri="") & ~Q(response_uri=""))
                | (~Q(redirect_uri="") & Q(response_uri="")),
                name="presentation_interaction_answered_somewhere",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def answer_is_posted(self) -> bool:
        """Whether it has an answer that the browser does not carry: see `deliveries`."""
        return bool(self.outcome and self.response_uri)


class Delivery(models.Model):
    """An answer to be posted, and whether it was. Its body is kept only until it has arrived or expired.

    Nothing but facts is stored; how it stands is computed from them (`deliveries.standing`).
    """

    # Read by `keys.sealed_columns`; what `deliveries` seals to.
    SEALED = {
        "sealed_body": "presentation_delivery.sealed_body:{pk}",
        "sealed_onward": "presentation_delivery.sealed_onward:{pk}",
    }

    interaction = models.OneToOneField(
        Interaction,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="delivery",
        editable=False,
    )
    sealed_body = models.BinaryField(default=b"", editable=False)  # the form, to the byte
    sealed_onward = models.BinaryField(
        default=b"", editable=False
    )  # where the relying party sends the browser
    expires_at = models.DateTimeField(editable=False)
    tries = models.PositiveSmallIntegerField(default=0, editable=False)
    taken_until = models.DateTimeField(null=True, editable=False)  # by the request that is posting it now
    left_here = models.BooleanField(default=False, editable=False)  # some of it was sent: it may have arrived
    refused = models.BooleanField(default=False, editable=False)  # the last try was answered, but not well
    held_until = models.DateTimeField(null=True, editable=False)  # the relying party asked to wait so long
    delivered_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []
        constraints = [
            models.CheckConstraint(
                condition=Q(delivered_at=None) | Q(sealed_body=b""),
                name="presentation_delivered_answer_is_gone",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=~Q(sealed_body=b"") | ~Q(sealed_onward=b""),
                name="presentation_delivery_kept",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
