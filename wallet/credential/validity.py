"""Whether a wallet has a verified identity, in one word: for holders, who read why, and for operators."""

from datetime import datetime

from django.db import models
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.sealing import SealError
from wallet.credential import credentials
from wallet.models import Credential


class Validity(models.TextChoices):
    """LOST: it would be valid, but its claims are sealed under a key that is gone."""

    NONE = "none", _("none")
    VALID = "valid", _("valid")
    SUSPENDED = "suspended", _("suspended")
    REVOKED = "revoked", _("revoked")
    EXPIRED = "expired", _("expired")
    LOST = "lost", _("cannot be opened")


def validity(credential: Credential | None, *, now: datetime) -> Validity:
    """The word for this credential; opens it, if nothing else makes it unusable."""
    if credential is None:
        return Validity.NONE
    if credential.state != Credential.State.VALID:
        return Validity(credential.state)
    if credentials.has_ended(credential, now=now):
        return Validity.EXPIRED
    return Validity.VALID if _opens(credential) else Validity.LOST


def for_operators(credential: Credential | None, *, now: datetime) -> str:
    """The word, and whether the claims were erased."""
    label = str(validity(credential, now=now).label)
    if credential is None or credential.erased_at is None:
        return label
    return _t("%(state)s, erased") % {"state": label}


def _opens(credential: Credential) -> bool:
    if not credential.sealed_identity:  # emptied after its sealing key was lost
        return False
    try:
        credentials.held(credential)
    except SealError:
        return False
    return True
