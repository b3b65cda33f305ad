"""Holders: their wallets, and how they sign in."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Wallet(models.Model):
    """A holder's account. Enrolled once it holds a `Credential`. Never an `auth.User`."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")

    id = models.UUIDField(_("ID"), primary_key=True, default=uuid.uuid4, editable=False)
    # Lower case, see sign_in.
    email = models.EmailField(unique=True, editable=False, verbose_name=_("e-mail address"))
    state = models.CharField(max_length=9, choices=State, default=State.ACTIVE, editable=False)
    suspension_reason = models.CharField(
        _("reason for suspension"), max_length=200, blank=True, editable=False
    )
    created_at = models.DateTimeField(_("opened"), editable=False)

    class Meta:
        ordering = ["-created_at"]
        default_permissions = ["view", "change"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["active", "suspended"]), name="wallet_state_known")
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="wallet_newest"),
            models.Index(fields=["id"], condition=Q(state="suspended"), name="wallets_suspended"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Errand(models.Model):
    """Why a browser came to the wallet and where it goes when done.

    Made by whoever sent the browser; the wallet knows the places, not what is there. Bound to the
    browser that was sent, by the digest of its cookie.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    browser = models.CharField(max_length=64, editable=False)  # SHA-256 hex, see `browser`
    email = models.EmailField(editable=False)  # whom the sender expects, lower case
    on_behalf_of = models.CharField(
        max_length=100, blank=True, editable=False
    )  # name to show, e.g. Acme Bank
    asks_for = models.JSONField(
        default=list, db_default=[], editable=False
    )  # names of claims, as in claims.NAMES
    # Where not every verified identity will do: [framework, level] of those that do, the operator's or the
    # request's minimum.
    assurance = models.JSONField(default=list, db_default=[], editable=False)
    return_to = models.CharField(max_length=200, editable=False)  # path here, when done
    leave_to = models.CharField(max_length=200, editable=False)  # path here, when the person gives up
    fresh_since = models.DateTimeField(null=True, editable=False)  # an older sign-in does not do
    code_sent_at = models.DateTimeField(null=True, editable=False)
    link_until = models.DateTimeField(null=True, editable=False)  # waits for a `LoginLink` in place of a code
    created_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []
        indexes = [models.Index(fields=["browser", "-created_at"], name="wallet_errands_of_browser")]

    def __str__(self) -> str:
        return str(self.id)


class LoginCode(models.Model):
    """A six-digit code sent by e-mail; only its keyed hash is stored; good once, for a few tries."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    errand = models.OneToOneField(Errand, on_delete=models.CASCADE, related_name="code", editable=False)
    digest = models.CharField(max_length=64, editable=False)
    tries_left = models.PositiveSmallIntegerField(editable=False)
    # Sent on an allowance that no stranger can use up, see `sign_in_allowances`.
    own_allowance = models.BooleanField(default=False, db_default=False, editable=False)
    sent_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return str(self.id)


class LoginLink(models.Model):
    """A link sent by e-mail in place of a code; only the hash of its secret is stored; good once."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    email = models.EmailField(editable=False)  # whom it was sent to, lower case
    expires_at = models.DateTimeField(editable=False, db_index=True)
    used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return f"link until {self.expires_at}"


class KnownBrowser(models.Model):
    """A browser that has proven to read an e-mail address. The key tells neither, see `known_browsers`."""

    key = models.CharField(primary_key=True, max_length=64, editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return self.key


class HolderSession(models.Model):
    """A signed-in browser of a holder. The cookie carries a secret; the row only its digest."""

    digest = models.CharField(primary_key=True, max_length=64, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="sessions", editable=False)
    signed_in_at = models.DateTimeField(editable=False)  # when a factor was last shown
    last_seen_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(editable=False, db_index=True)  # absolute

    class Meta:
        default_permissions = []

    def __str__(self) -> str:
        return f"session of {self.wallet_id}"
