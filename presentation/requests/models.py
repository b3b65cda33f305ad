"""Rows about requests: pushed requests, interactions of browsers, posted answers, and codes for answers."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from consent.models import Consent
from infra.models import InternalRow, NumberedRow
from infra.sealing import seal_column, unseal_column
from presentation.parameters import Parameters
from presentation.relying_parties.models.relying_parties import RelyingParty
from wallet.models import RedirectTask


class KeepsParameters:
    """A row with the parameters of a request. Transaction data is sealed, because it names accounts.

    The other parameters are in clear, because the error redirect needs `state` and `response_mode` even if a
    sealing key is missing.
    """

    pk: Any
    parameters: Any
    sealed_transaction_data: Any
    SEALED: dict[str, str]

    def set_parameters(self, parameters: Parameters) -> None:
        """Sets the columns of this row, which is not saved yet."""
        self.parameters = {n: value for n, value in parameters.values.items() if n != "transaction_data"}
        if received := parameters.values.get("transaction_data"):
            self.sealed_transaction_data = seal_column(self, "sealed_transaction_data", received.encode())

    def as_received(self) -> Parameters:
        """The parameters as received; raises `SealError` if the transaction data does not unseal."""
        if self.sealed_transaction_data is None:
            return Parameters(self.parameters)
        transaction_data = unseal_column(self, "sealed_transaction_data").decode()
        return Parameters({**self.parameters, "transaction_data": transaction_data})


class PushedRequest(KeepsParameters, InternalRow):
    """A pushed request. Of its handle only the SHA-256 is kept; the answer empties the parameters.

    open ──(an interaction that began with it is answered)──► used
    """

    # Sealed columns and the associated data each is bound to: see `KeepsParameters`.
    SEALED = {"sealed_transaction_data": "presentation_pushedrequest.sealed_transaction_data:{pk}"}

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    # No foreign key: the row lives for minutes, and inserting it should not lock the relying party's row.
    client_id = models.CharField(max_length=100, editable=False)
    parameters = models.JSONField(editable=False)  # without transaction data
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    # Those of the interactions that begin with it; they stay when the parameters are emptied.
    nonce_digest = models.CharField(max_length=64, default="", db_default="", editable=False)
    request_hash = models.CharField(max_length=64, default="", db_default="", editable=False)
    signed = models.BooleanField(editable=False)
    expires_at = models.DateTimeField(db_index=True, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)


class Interaction(KeepsParameters, NumberedRow):
    """One browser with one authorization request.

    Only facts are stored: the parameters, the consent, and the outcome. `next_step` computes what comes next.
    """

    # Sealed columns and the associated data each is bound to: see `KeepsParameters`.
    SEALED = {"sealed_transaction_data": "presentation_interaction.sealed_transaction_data:{pk}"}

    class Outcome(models.TextChoices):
        NONE = "", _("not answered yet")
        TOKEN = "token", _("token")
        ERROR = "error", _("error")

    relying_party = models.ForeignKey(
        RelyingParty,
        on_delete=models.CASCADE,
        related_name="interactions",
        db_index=False,  # the index below begins with it
        editable=False,
    )
    # As received (a loopback port may differ from the registered one); empty if the answer is posted.
    redirect_uri = models.CharField(_("redirect URI"), max_length=506, blank=True, editable=False)
    response_uri = models.CharField(_("response URI"), max_length=500, blank=True, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # infra.browser digest
    # As received, without transaction data. The answer empties both columns.
    parameters = models.JSONField(editable=False)
    sealed_transaction_data = models.BinaryField(null=True, editable=False)
    # What the scopes of the request meant when it began (`scopes.records.from_text`); it is answered by that.
    scopes = models.TextField(default="", db_default="", blank=True, editable=False)
    request_hash = models.CharField(max_length=64, editable=False)  # SHA-256 hex over the parameters
    nonce_digest = models.CharField(max_length=64, editable=False)
    consent = models.OneToOneField(Consent, null=True, on_delete=models.PROTECT, editable=False)
    redirect_task = models.ForeignKey(
        RedirectTask,
        null=True,
        on_delete=models.SET_NULL,
        db_index=False,
        editable=False,
        db_column="errand_id",
    )
    outcome = models.CharField(
        max_length=5, choices=Outcome, default=Outcome.NONE, blank=True, editable=False
    )
    error = models.CharField(max_length=40, blank=True, editable=False)
    created_at = models.DateTimeField(_("asked"), editable=False)
    expires_at = models.DateTimeField(_("open until"), editable=False, db_index=True)
    answered_at = models.DateTimeField(_("answered"), null=True, editable=False)

    class Meta:
        permissions = [("look_up_holder", _("Can look up a holder or a request, with a reason"))]
        indexes = [
            models.Index(fields=["relying_party", "nonce_digest"], name="presentation_interaction_asked"),
            # For `clear_expired`: what goes after a day, without what is remembered for more than a year. No
            # index has only the latter: the check of a nonce would use it while there are few rows.
            models.Index(
                fields=["expires_at"], condition=~Q(outcome="token"), name="presentation_requests_ended"
            ),
            # Few interactions have a redirect task, and none once it is answered.
            models.Index(
                fields=["redirect_task"],
                condition=Q(redirect_task__isnull=False),
                name="presentation_requests_sent_on",
            ),
            # For `reseal` and `check --deploy`, because the table keeps answered interactions for long.
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

    @property
    def answer_is_posted(self) -> bool:
        """Whether it is answered, and the answer is posted (see `deliveries`)."""
        return bool(self.outcome and self.response_uri)


class Delivery(InternalRow):
    """An answer that is posted. Its body is kept only until it is delivered or has expired.

    Only facts are stored; `deliveries.state_of` computes the state from them.
    """

    # Sealed columns and the associated data each is bound to.
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
    sealed_body = models.BinaryField(default=b"", editable=False)  # the form, byte for byte
    sealed_onward = models.BinaryField(default=b"", editable=False)  # `redirect_uri` of the response
    expires_at = models.DateTimeField(editable=False)
    tries = models.PositiveSmallIntegerField(default=0, editable=False)
    # The lease of the request that is posting it now.
    taken_until = models.DateTimeField(null=True, editable=False)
    left_here = models.BooleanField(default=False, editable=False)  # a try began, and bytes were sent
    refused = models.BooleanField(default=False, editable=False)  # the last response had an error status
    held_until = models.DateTimeField(null=True, editable=False)  # from `Retry-After` of the relying party
    delivered_at = models.DateTimeField(null=True, editable=False)

    class Meta(InternalRow.Meta):
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


class AuthorizationCode(InternalRow):
    """A code, and then the access token that it was exchanged for; of both only the SHA-256 is kept.

    open ──(exchanged)──► used ──(sent again)──► without content, so that UserInfo ends too
    """

    # Sealed columns and the associated data each is bound to: see `keys.sealed_columns`.
    SEALED = {"sealed_answer": "presentation_authorizationcode.sealed_answer:{pk}"}

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    interaction = models.OneToOneField(
        Interaction, on_delete=models.CASCADE, related_name="code", editable=False
    )
    sealed_answer = models.BinaryField(editable=False)  # see `codes`
    access_digest = models.CharField(max_length=64, null=True, unique=True, editable=False)
    expires_at = models.DateTimeField(db_index=True, editable=False)  # of the code, then of the access token
    used_at = models.DateTimeField(null=True, editable=False)
