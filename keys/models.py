"""Signing keys, the sandbox's authority and the key events; `rotation` changes the keys' states.

Keys for credentials, for statements and for ID tokens with RS256 have a table each, so that none is taken for
another.
"""

import uuid
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from infra.database.append_only import AppendOnly
from keys.certificates.chain import CertificateChain


def _constraints(name: str, short: str) -> list[models.BaseConstraint]:
    """The rules of a table of keys, under names of its own."""
    return [
        *(
            models.UniqueConstraint(fields=["state"], condition=Q(state=one), name=f"keys_one_{one}_{name}")
            for one in ("active", "staged")
        ),
        models.CheckConstraint(
            condition=Q(state="staged", activated_at=None, withdrawn_at=None)
            | Q(state="active", activated_at__isnull=False, retired_at=None, withdrawn_at=None)
            | Q(state="retired", activated_at__isnull=False, retired_at__isnull=False, withdrawn_at=None)
            | (Q(state="withdrawn", withdrawn_at__isnull=False) & ~Q(reason="")),
            name=f"keys_{name}_state_fits_times",
        ),
        models.CheckConstraint(
            condition=Q(chain_pem="", certified_at=None) | (~Q(chain_pem="") & Q(certified_at__isnull=False)),
            name=f"keys_certified_{short}_has_chain",
        ),
        models.CheckConstraint(
            condition=~Q(state__in=["active", "retired"]) | ~Q(chain_pem=""),
            name=f"keys_active_{short}_is_certified",
        ),
        models.CheckConstraint(
            condition=Q(store="pkcs11", sealed_private_key=b"")
            | (Q(store="software") & (~Q(state__in=["staged", "active"]) | ~Q(sealed_private_key=b""))),
            name=f"keys_private_{short}_is_in_its_store",
        ),
        models.CheckConstraint(
            condition=Q(destroyed_at=None) | Q(store="pkcs11", state__in=["retired", "withdrawn"]),
            name=f"keys_only_ended_{short}_is_destroyed",
        ),
    ]


class Key(models.Model):
    """A key with its certificate chain: on P-256 for ES256, or of 3072 bits for RS256.

    staged ──(published for the JWKS max-age)──► active ──(next key takes over)──► retired ──► withdrawn
       └───────────────────────────────(compromised, in any state)──────────────────────────────▲

    A key is published from its certification until its withdrawal. Once a key can never sign again, its
    private key is deleted from the database, or destroyed in its hardware module.
    """

    SEALED: ClassVar[dict[str, str]]  # see `sealed_columns`
    signs: ClassVar[str]  # what it is for
    algorithm: ClassVar[str] = "ES256"
    TIMES = ("staged_at", "certified_at", "activated_at", "retired_at", "withdrawn_at", "destroyed_at")

    class State(models.TextChoices):
        STAGED = "staged", _("staged: next to sign")
        ACTIVE = "active", _("active: signs")
        RETIRED = "retired", _("retired: published, no longer signs")
        WITHDRAWN = "withdrawn", _("withdrawn: not published")

    class Store(models.TextChoices):
        SOFTWARE = "software", _("in the database, encrypted")
        PKCS11 = "pkcs11", _("in the hardware module")

    id = models.UUIDField(
        primary_key=True, default=uuid.uuid4, editable=False, verbose_name=_("key id (kid)")
    )
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.STAGED, editable=False)
    store = models.CharField(
        _("private key"), max_length=8, choices=Store, default=Store.SOFTWARE, editable=False
    )
    # PKCS#8 in DER, sealed; empty once deleted, and always when a hardware module holds the key.
    sealed_private_key = models.BinaryField(editable=False)
    public_key = models.BinaryField(editable=False)  # SubjectPublicKeyInfo DER
    # Leaf first; empty until certified.
    chain_pem = models.TextField(_("certificates, PEM"), blank=True, editable=False)
    staged_at = models.DateTimeField(_("staged"), editable=False)
    certified_at = models.DateTimeField(_("certified"), null=True, editable=False)
    activated_at = models.DateTimeField(_("activated"), null=True, editable=False)
    retired_at = models.DateTimeField(_("retired"), null=True, editable=False)
    withdrawn_at = models.DateTimeField(_("withdrawn"), null=True, editable=False)
    destroyed_at = models.DateTimeField(_("destroyed in its module"), null=True, editable=False)
    reason = models.CharField(_("reason for the withdrawal"), max_length=200, blank=True, editable=False)

    class Meta:
        abstract = True
        ordering = ["-staged_at"]

    def __str__(self) -> str:
        return str(self.id)

    def chain(self, *, at: datetime) -> CertificateChain:
        """The certificate chain; raises BrokenChainError when it is not valid at that time."""
        return CertificateChain.from_pem(self.chain_pem, public_key=self.public_key, now=at)

    @property
    def certified_chain(self) -> CertificateChain | None:
        """The chain, checked at the time of its installation, so it may have ended; None until certified."""
        return self.chain(at=self.certified_at) if self.certified_at else None


class SigningKey(Key):
    """A key that signs credentials, status lists and access tokens, which verifiers find in the key set."""

    SEALED = {"sealed_private_key": "keys_signingkey.sealed_private_key:{pk}"}
    signs = "credentials"

    class Meta(Key.Meta):
        verbose_name = _("signing key")
        verbose_name_plural = _("signing keys")
        constraints = _constraints("signing_key", "key")


class StatementKey(Key):
    """A key that signs statements (`keys.statements`), in a key set of its own."""

    SEALED = {"sealed_private_key": "keys_statementkey.sealed_private_key:{pk}"}
    signs = "statements"

    class Meta(Key.Meta):
        verbose_name = _("key for statements")
        verbose_name_plural = _("keys for statements")
        default_permissions = []  # operators who may change keys may change these
        constraints = _constraints("statement_key", "statement_key")


class IdTokenKey(Key):
    """An RSA key that signs ID tokens with RS256, for clients of OpenID Connect that know nothing else.

    There is none until an operator stages the first one. It is in the key set of the signing keys.
    """

    SEALED = {"sealed_private_key": "keys_idtokenkey.sealed_private_key:{pk}"}
    signs = "id-tokens"
    algorithm = "RS256"

    class Meta(Key.Meta):
        verbose_name = _("key for ID tokens")
        verbose_name_plural = _("keys for ID tokens")
        default_permissions = []  # operators who may change keys may change these
        constraints = _constraints("id_token_key", "id_token_key")


KINDS: tuple[type[SigningKey] | type[StatementKey] | type[IdTokenKey], ...] = (
    SigningKey,
    StatementKey,
    IdTokenKey,
)


class Authority(models.Model):
    """The sandbox's own certificate authority: a root and an issuing CA, made once (`authority`)."""

    SEALED = {
        "sealed_root_key": "keys_authority.sealed_root_key:only",
        "sealed_issuing_key": "keys_authority.sealed_issuing_key:only",
    }

    root_pem = models.TextField(_("root, PEM"), editable=False)
    issuing_pem = models.TextField(_("issuing CA, PEM"), editable=False)
    sealed_root_key = models.BinaryField(editable=False)
    sealed_issuing_key = models.BinaryField(editable=False)
    created_at = models.DateTimeField(_("made"), editable=False)
    only = models.BooleanField(default=True, editable=False)  # one row at most, by constraint

    class Meta:
        verbose_name = _("certificate authority")
        verbose_name_plural = _("certificate authorities")
        constraints = [
            models.UniqueConstraint(fields=["only"], name="keys_one_authority"),
            models.CheckConstraint(condition=Q(only=True), name="keys_authority_is_the_only"),
        ]

    def __str__(self) -> str:
        return "certificate authority"


class KeyEvent(AppendOnly):
    """A record of what was done with signing keys, by whom and why; stays when the key is gone."""

    class Action(models.TextChoices):
        STAGED = "staged", _("staged")
        CERTIFIED = "certified", _("certified")
        ACTIVATED = "activated", _("activated")
        RETIRED = "retired", _("retired")
        WITHDRAWN = "withdrawn", _("withdrawn")
        DESTROYED = "destroyed", _("private key destroyed")
        EXPORTED = "exported", _("all keys exported")
        IMPORTED = "imported", _("all keys imported")
        RESEALED = "resealed", _("everything sealed anew")
        FORGOTTEN = "forgotten", _("values under a lost sealing key emptied")

    action = models.CharField(_("what"), max_length=9, choices=Action, editable=False)
    kid = models.UUIDField(_("key"), null=True, editable=False)  # None: all keys
    actor = models.CharField(_("who"), max_length=150, editable=False)  # operator or shell user
    reason = models.CharField(_("why"), max_length=200, editable=False)
    at = models.DateTimeField(_("when"), editable=False)

    class Meta:
        verbose_name = _("key event")
        verbose_name_plural = _("key events")
        ordering = ["-at", "-id"]
        default_permissions = []  # operators who may see keys may see these
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    action__in=[
                        *("staged", "certified", "activated", "retired", "withdrawn"),
                        *("destroyed", "exported", "imported", "resealed", "forgotten"),
                    ]
                ),
                name="keys_event_action_known",
            ),
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(reason=""), name="keys_event_says_who_and_why"
            ),
        ]
        indexes = [models.Index(fields=["-at", "-id"], name="keys_event_newest")]

    def __str__(self) -> str:
        return f"{self.get_action_display()} {self.kid or ''}".strip()
