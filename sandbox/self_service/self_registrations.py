"""Relying parties that developers register: created, changed, deleted, and expired.

Their number is limited for each e-mail address, for each client address and in total. Each expires `KEPT`
after it was last saved or used.
"""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_lazy as _

from infra.limits import ClientLimit, Limit
from infra.retention import Due, delete
from presentation.models import RelyingParty
from presentation.relying_parties import registration
from presentation.relying_parties.as_json import ADDRESSES
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.webhooks import signing_secrets
from sandbox.models import SelfRegistration
from sandbox.self_service import assumed_names
from sandbox.self_service.details import check

log = structlog.get_logger(__name__)

KEPT = timedelta(days=90)
MOST_OF_ONE_OWNER = 5
MOST_IN_ALL = 2000
REGISTRATIONS_PER_DEVELOPER = Limit.from_settings("self-registrations-per-developer")
REGISTRATIONS_PER_CLIENT = ClientLimit.from_settings("self-registrations-per-client")
SECRETS_PER_DEVELOPER = Limit.from_settings("self-registration-secrets")
CHANGES_PER_DEVELOPER = Limit.from_settings("self-registration-changes")


def registered_by(owner: str) -> QuerySet[RelyingParty]:
    """The owner's relying parties, newest first."""
    own = RelyingParty.objects.filter(self_registration__owner=owner)
    return own.select_related("self_registration").order_by("-created_at")


@transaction.atomic
def register(owner: str, details: dict[str, Any], *, client: str | None, now: datetime) -> RelyingParty:
    """Register a relying party of this owner. details: as `SelfRegistrationForm.details` gives them.

    client: the network address that limits count by. Raises ValidationError by field, or
    `limits.LimitReachedError`; nothing is written then.
    """
    _check_numbers(owner)
    check(owner, details)
    REGISTRATIONS_PER_CLIENT.take(client, now=now)
    REGISTRATIONS_PER_DEVELOPER.take(owner, now=now)
    party = registration.register(
        contact=owner,
        self_registered=True,
        grants=list(GRANTS),  # grants cover its own requests and answers only
        **_marked(details),
    )
    SelfRegistration.objects.create(relying_party=party, owner=owner, expires_at=now + KEPT)
    log.info("relying_party_self_registered", client_id=party.client_id)
    return party


@transaction.atomic
def change(party: RelyingParty, owner: str, details: dict[str, Any], *, now: datetime) -> RelyingParty:
    """Change the relying party and extend its time by `KEPT`. Raises like `register`."""
    CHANGES_PER_DEVELOPER.take(owner, now=now)
    check(owner, details)
    fields = _marked(details)
    addresses = {name: fields.pop(name) for name in ADDRESSES}
    for name, value in fields.items():
        setattr(party, name, value)
    party.full_clean()
    party.save(update_fields=list(fields))
    for name, uris in addresses.items():
        registration.set_addresses(party, name, uris)
    SelfRegistration.objects.filter(relying_party=party).update(expires_at=now + KEPT)
    return party


def new_secret(party: RelyingParty, owner: str, *, now: datetime) -> tuple[str, bool]:
    """Make a client secret, and say whether there was one, which stops working.

    Raises `limits.LimitReachedError`.
    """
    SECRETS_PER_DEVELOPER.take(owner, now=now)
    before = bool(client_secrets.live(party, now=now))
    return client_secrets.rotate(party, now=now, overlap=timedelta(0)).text, before


def new_webhook_secret(party: RelyingParty, owner: str, *, now: datetime) -> tuple[str, bool]:
    """As `new_secret`, for webhooks, which the earlier one also signs. Raises `limits.LimitReachedError`."""
    SECRETS_PER_DEVELOPER.take(owner, now=now)
    before = signing_secrets.in_use(party, now=now).exists()
    return signing_secrets.rotate(party, now=now), before


def give_up(party: RelyingParty) -> None:
    """Delete the relying party and its requests; holders keep their receipts."""
    log.info("self_registration_ended", client_id=party.client_id)
    party.delete()


def clear(*, now: datetime, batch: int) -> int:
    """Delete the expired ones and return their number; extend the time of those that were used since."""
    given_up = 0
    (due,) = expired(now)
    oldest = due.rows.order_by("expires_at")
    while rows := list(oldest.annotate(used=Max("relying_party__interactions__created_at"))[:batch]):
        for row in rows:
            if row.used is not None and row.used + KEPT > now:
                SelfRegistration.objects.filter(pk=row.pk).update(expires_at=row.used + KEPT)
            else:
                # Its requests first, because deleting thousands in one transaction would lock for long.
                delete(row.relying_party.interactions.all(), by="expires_at", batch=batch)
                give_up(row.relying_party)
                given_up += 1
    return given_up


def expired(now: datetime) -> list[Due]:
    """What `clear` deletes, or extends if it was used since."""
    return [Due(SelfRegistration.objects.filter(expires_at__lte=now), "expires_at", now)]


def _marked(details: dict[str, Any]) -> dict[str, Any]:
    return {**details, "name": assumed_names.marked(details["name"])}


def _check_numbers(owner: str) -> None:
    if SelfRegistration.objects.filter(owner=owner).count() >= MOST_OF_ONE_OWNER:
        raise ValidationError(_("You have 5 already. Delete one that you no longer need."))
    if SelfRegistration.objects.count() >= MOST_IN_ALL:
        raise ValidationError(_("This sandbox is full. Ask its operator to register your application."))
