"""Webhooks: the events, the state of each endpoint, and the secrets that sign."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.models import InternalRow
from presentation.relying_parties.metadata.webhook_event_types import WebhookEventType


class WebhookEvent(models.Model):
    """An event for a relying party, and the result of sending it. Kept for 30 days as the delivery log.

    waiting ──(answered with 2xx)──► delivered; waiting ──(three days have passed)──► given up;
    waiting ──(the relying party no longer wants this type)──► unwanted.
    An operator may make delivered and given-up events wait again.
    """

    Type = WebhookEventType

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DELIVERED = "delivered", _("delivered")
        GIVEN_UP = "given up", _("given up")
        UNWANTED = "unwanted", _("no longer wanted")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)  # `webhook-id`
    relying_party = models.ForeignKey(
        "presentation.RelyingParty", on_delete=models.CASCADE, related_name="webhook_events_told"
    )
    type = models.CharField(_("event"), max_length=22, choices=Type, editable=False)
    # The id of an interaction, or the place in a status list.
    subject = models.CharField(max_length=40, editable=False)
    body = models.TextField(_("body"), editable=False)  # the same bytes in every try
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.WAITING, editable=False)
    created_at = models.DateTimeField(_("happened"), editable=False)
    due_at = models.DateTimeField(_("next try"), editable=False)
    give_up_at = models.DateTimeField(_("tried until"), editable=False)
    attempts = models.PositiveIntegerField(_("tries"), default=0, editable=False)
    tried_at = models.DateTimeField(_("last try"), null=True, editable=False)
    response_status = models.PositiveIntegerField(_("response"), null=True, editable=False)
    problem = models.CharField(_("problem"), max_length=200, blank=True, editable=False)

    class Meta:
        verbose_name = _("webhook event")
        verbose_name_plural = _("webhook events")
        ordering = ["-created_at", "-id"]
        default_permissions = []  # the permissions of relying parties count
        constraints = [
            models.UniqueConstraint(fields=["type", "subject"], name="presentation_webhook_event_told_once"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "delivered", "given up", "unwanted"])
                & Q(type__in=["presentation.completed", "presentation.denied", "credential.revoked"]),
                name="presentation_webhook_event_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["relying_party", "due_at"],
                condition=Q(state="waiting"),
                name="presentation_webhooks_due",
            ),
            models.Index(
                fields=["state"], condition=~Q(state="delivered"), name="presentation_webhooks_unsent"
            ),
            models.Index(fields=["-created_at", "-id"], name="presentation_webhooks_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"


class WebhookEndpoint(InternalRow):
    """The state of a relying party's webhook address. The row is inserted with the first secret."""

    relying_party = models.OneToOneField(
        "presentation.RelyingParty",
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="webhook_endpoint",
        editable=False,
    )
    # Also a lease: a sending instance sets it to the time its lease expires.
    next_call_at = models.DateTimeField(editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)  # in a row
    failing_since = models.DateTimeField(null=True, editable=False)
    # The address that answered 410. Nothing is sent while it is the registered one.
    gone_url = models.CharField(max_length=500, default="", editable=False)

    def __str__(self) -> str:
        return f"webhook endpoint {self.pk}"


class WebhookSecret(models.Model):
    """A secret that signs webhooks. Two sign while one replaces the other."""

    SEALED = {"sealed_secret": "presentation_webhooksecret.sealed_secret:{pk}"}

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    relying_party = models.ForeignKey(
        "presentation.RelyingParty", on_delete=models.CASCADE, related_name="webhook_secrets", editable=False
    )
    sealed_secret = models.BinaryField(editable=False)
    created_at = models.DateTimeField(editable=False)
    ends_at = models.DateTimeField(null=True, editable=False)  # set when another secret is made

    class Meta:
        ordering = ["-created_at"]
        default_permissions = []
        indexes = [
            models.Index(
                fields=["ends_at"], condition=Q(ends_at__isnull=False), name="presentation_secrets_ending"
            )
        ]

    def __str__(self) -> str:
        return f"webhook secret {self.pk}"
