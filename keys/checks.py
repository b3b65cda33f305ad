"""What must be right before this room opens: told by `manage.py check`, not by a failing request at noon."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import transaction
from django.utils.timezone import now

from keys.authority import Place, SubjectError, requested_subject
from keys.schedule import PUBLISHED_BEFORE_SIGNING

SHORTEST = 32  # characters; `secrets.token_urlsafe(32)` gives 43


@register(Tags.security)
def sealing_keys(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """KEY_SEALING_KEYS is there, long enough, and names no key twice."""
    keys = settings.KEY_SEALING_KEYS
    found: list[CheckMessage] = []
    if not keys:
        found.append(Error("KEY_SEALING_KEYS is empty, so nothing can be sealed.", id="keys.E001"))
    if short := [str(at) for at, key in enumerate(keys, 1) if len(key) < SHORTEST]:
        positions = ", ".join(short)
        hint = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
        message = f"KEY_SEALING_KEYS: shorter than {SHORTEST} characters at position {positions}."
        found.append(Error(message, hint=hint, id="keys.E002"))
    if len(set(keys)) != len(keys):
        found.append(Error("KEY_SEALING_KEYS names a key twice.", id="keys.E003"))
    return found


@register()
def certificate_subject(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """CERTIFICATE_SUBJECT, when it is set, is a distinguished name."""
    try:
        requested_subject(Place.of(settings.BASE_URL))
    except SubjectError as error:
        return [Error(str(error), id="keys.E004")]
    return []


@register()
def schedule(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A key is published long enough before it signs, and signs longer than the next one waits."""
    found: list[CheckMessage] = []
    staged_for, least = settings.SIGNING_KEY_STAGED_FOR, PUBLISHED_BEFORE_SIGNING
    if staged_for < least:
        found.append(
            Error(
                "SIGNING_KEY_STAGED_HOURS is too short: a relying party may keep a copy of the key set that "
                f"lacks the key for {least.total_seconds() / 60:.0f} minutes.",
                hint="2 hours at least; 48 leave time for the certificate authority.",
                id="keys.E005",
            )
        )
    if staged_for >= settings.SIGNING_KEY_PERIOD:
        found.append(
            Error(
                "SIGNING_KEY_DAYS is too short: the next key waits as long or longer "
                "(SIGNING_KEY_STAGED_HOURS).",
                hint="90 days and 48 hours are the defaults.",
                id="keys.E007",
            )
        )
    return found


@register(Tags.security, deploy=True)
def certificates(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Whether a certificate in use has ended or ends soon. Looks into the database, if there is one.

    Told and no more: the service has to start again while the authority takes its time, since the key set
    and the admin are needed most just then, and `deploy/systemd` starts it only without warnings.
    """
    from keys.certificate_watch import ending_certificates

    try:
        with transaction.atomic():
            found = ending_certificates(now=now())
    except (DatabaseError, ImproperlyConfigured):
        return [Info("The database does not answer: certificates were not looked at.", id="keys.I001")]
    return [Info(str(ending), id="keys.I003" if ending.stage else "keys.I004") for ending in found]


@register(Tags.security, deploy=True)
def sealed_values(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Every sealed value names one of KEY_SEALING_KEYS. Looks into the database, if there is one."""
    if not settings.KEY_SEALING_KEYS:
        return []  # `sealing_keys` says so
    from keys.sealed_columns import sealed_columns

    try:
        with transaction.atomic():
            lost = [(column, column.lost()) for column in sealed_columns()]
    except (DatabaseError, ImproperlyConfigured):
        return [Info("The database does not answer: sealed values were not looked at.", id="keys.I002")]
    return [
        Error(
            f"{column}: {count} values are sealed under the key {key_id}, not among KEY_SEALING_KEYS.",
            hint="They open only with that key: put it back into the list, then run manage.py reseal. "
            f"If it is lost for good: manage.py reseal --forget {key_id}.",
            id="keys.E006",
        )
        for column, counts in lost
        for key_id, count in counts.items()
    ]
