"""Relying parties that developers register for themselves: made, changed, given up, and forgotten in the end.

There in the sandbox only. What bounds it: so many for an e-mail address, for a client address and in all,
each kept for `KEPT` after it was last saved or used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_lazy as _

from presentation import admission
from presentation.client_metadata.grants import GRANTS
from presentation.clients import client_secrets
from presentation.models import RelyingParty
from presentation.sandbox.models import SelfRegistration
from presentation.sandbox.self_service import assumed_names, own_addresses
from wallet.limits import Limit

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

log = structlog.get_logger(__name__)

KEPT = timedelta(days=90)
MOST_OF_ONE_OWNER = 5
MOST_IN_ALL = 2000
MOST_REDIRECT_URIS = 10
MADE_BY_OWNER = Limit("self-registrations-by-owner", most=10, window=timedelta(days=1))
MADE_BY_CLIENT = Limit("self-registrations-by-client", most=20, window=timedelta(days=1))
SECRETS_BY_OWNER = Limit("self-registration-secrets", most=10, window=timedelta(days=1))
CHANGES_BY_OWNER = Limit("self-registration-changes", most=60, window=timedelta(hours=1))


@dataclass(frozen=True)
class Details:
    """What a developer chooses."""

    name: str
    redirect_uris: Sequence[str]
    allowed_scopes: Sequence[str]
    allowed_transaction_data_types: Sequence[str]
    wire_format: str


def registered_by(owner: str) -> QuerySet[RelyingParty]:
    """The owner's relying parties, newest first."""
    own = RelyingParty.objects.filter(self_registration__owner=owner)
    return own.select_related("self_registration").order_by("-created_at")


@transaction.atomic
def register(owner: str, details: Details, *, client: str, now: datetime) -> RelyingParty:
    """A new relying party of this owner.

    client: the network address limits count by. Raises ValidationError by field, or
    `limits.LimitReachedError`; nothing is written then.
    """
    _check_room(owner)
    _check(owner, details)
    MADE_BY_CLIENT.take(client, now=now)
    MADE_BY_OWNER.take(owner, now=now)
    party = admission.register(
        name=assumed_names.marked(details.name),
        redirect_uris=details.redirect_uris,
        allowed_scopes=list(details.allowed_scopes),
        allowed_transaction_data_types=list(details.allowed_transaction_data_types),
        wire_format=details.wire_format,
        contact=owner,
        grants=list(GRANTS),  # they are about its own requests and answers only
    )
    SelfRegistration.objects.create(relying_party=party, owner=owner, expires_at=now + KEPT)
    log.info("self-registered", client_id=party.client_id)
    return party


@transaction.atomic
def change(party: RelyingParty, owner: str, details: Details, *, now: datetime) -> None:
    """Change it, and keep it for another while. Raises as `register` does."""
    CHANGES_BY_OWNER.take(owner, now=now)
    _check(owner, details)
    party.name = assumed_names.marked(details.name)
    party.allowed_scopes = list(details.allowed_scopes)
    party.allowed_transaction_data_types = list(details.allowed_transaction_data_types)
    party.wire_format = details.wire_format
    party.full_clean()
    party.save(update_fields=["name", "allowed_scopes", "allowed_transaction_data_types", "wire_format"])
    _replace_redirect_uris(party, details.redirect_uris)
    SelfRegistration.objects.filter(relying_party=party).update(expires_at=now + KEPT)


def new_secret(party: RelyingParty, owner: str, *, now: datetime) -> str:
    """A client secret, to be shown once; the one before ends. Raises `limits.LimitReachedError`."""
    SECRETS_BY_OWNER.take(owner, now=now)
    return client_secrets.rotate(party, now=now, overlap=timedelta(0)).text


def give_up(party: RelyingParty) -> None:
    """Forget it, and what was asked in its name; holders keep their receipts."""
    log.info("self-registration ended", client_id=party.client_id)
    party.delete()


def clear(*, now: datetime, batch: int) -> None:
    """Forget those whose time is over; those used meanwhile are kept for another while."""
    due = SelfRegistration.objects.filter(expires_at__lte=now).order_by("expires_at")
    while rows := list(due.annotate(used=Max("relying_party__interactions__created_at"))[:batch]):
        for row in rows:
            if row.used is not None and row.used + KEPT > now:
                SelfRegistration.objects.filter(pk=row.pk).update(expires_at=row.used + KEPT)
            else:
                give_up(row.relying_party)


def _check_room(owner: str) -> None:
    if SelfRegistration.objects.filter(owner=owner).count() >= MOST_OF_ONE_OWNER:
        raise ValidationError(_("You have 5 already. Delete one that you no longer need."))
    if SelfRegistration.objects.count() >= MOST_IN_ALL:
        raise ValidationError(_("This sandbox is full. Ask its operator to register your application."))


def _check(owner: str, details: Details) -> None:
    """What only these relying parties have to keep to; the rest is said by their model."""
    registered = RelyingParty.objects.filter(self_registration=None).values_list("name", flat=True)
    errors: dict[str, list[StrOrPromise]] = {}
    if problem := assumed_names.problem_with(details.name, registered):
        errors["name"] = [problem]
    if not details.redirect_uris:
        errors["redirect_uris"] = [_("Name at least one redirect URI.")]
    elif len(details.redirect_uris) > MOST_REDIRECT_URIS:
        errors["redirect_uris"] = [_("Name at most 10 redirect URIs.")]
    elif problem := _problem_with_addresses(owner, details.redirect_uris):
        errors["redirect_uris"] = [problem]
    if errors:
        raise ValidationError(errors)


def _problem_with_addresses(owner: str, uris: Sequence[str]) -> "StrOrPromise | None":
    elsewhere = [uri for uri in uris if not own_addresses.is_local(uri)]
    if not settings.DEVELOPER_EMAIL_BACKEND:
        if elsewhere:
            return _(
                "This sandbox sends no mail and cannot know whose addresses are whose. Use one on your own "
                "machine, such as http://127.0.0.1:5000/callback; for others ask the operator."
            )
    elif not all(own_addresses.is_under(uri, owner.rpartition("@")[2]) for uri in elsewhere):
        return _(
            "Use addresses on your own machine, such as http://127.0.0.1:5000/callback, or under the domain "
            "of your e-mail address. For others ask the operator."
        )
    return None


def _replace_redirect_uris(party: RelyingParty, uris: Sequence[str]) -> None:
    party.redirect_uris.exclude(uri__in=uris).delete()
    there = set(party.redirect_uris.values_list("uri", flat=True))
    admission.add_redirect_uris(party, [uri for uri in uris if uri not in there])
