"""The times at which a key's steps are due, computed from its row.

Every SIGNING_KEY_DAYS a new key signs. It is staged SIGNING_KEY_STAGED_HOURS before that, or with
SIGNING_KEY_SPARE when the one before begins to sign, and withdrawn when the last token that it signed has
expired.
"""

from datetime import datetime, timedelta
from typing import cast

from django.conf import settings
from django.utils.translation import gettext as _

from keys.certificates.chain import BrokenChainError
from keys.models import SigningKey
from keys.rotation.states import RotationRefusedError

JWKS_MAX_AGE = timedelta(hours=1)  # how long relying parties may keep the key set
# A key signs only once every cached key set contains it: after max-age, plus the seconds that instances take
# to publish a change (`infra.published`), plus the difference between clocks.
PUBLISHED_BEFORE_SIGNING = JWKS_MAX_AGE + timedelta(minutes=5)
TOKEN_LIFETIME = timedelta(hours=24)  # the longest lifetime of any token that we sign
PUBLISHED_AFTER_SIGNING = TOKEN_LIFETIME + JWKS_MAX_AGE + timedelta(minutes=5)
IN_FLIGHT = timedelta(minutes=5)  # a request that read the key as active may still sign with it

# The functions below cast `certified_at`, `activated_at` and `retired_at`: the constraint
# `keys_signing_key_state_fits_times` makes sure that they are set in the states in which a cast reads them.


def ready_at(staged: SigningKey) -> datetime:
    """When a key may start to sign: every cached key set contains it by then.

    Raises RotationRefusedError when it is not certified, because it is not published before that.
    """
    if staged.certified_at is None:
        raise RotationRefusedError(
            _("Key %(kid)s has no certificate chain yet; certify it first.") % {"kid": staged}
        )
    return staged.certified_at + PUBLISHED_BEFORE_SIGNING


def next_staged_at(active: SigningKey) -> datetime:
    """When the successor of the active key is to be staged: with SIGNING_KEY_SPARE as soon as it signs."""
    if settings.SIGNING_KEY_SPARE:
        return cast(datetime, active.activated_at)
    return _signed_long_enough(active) - settings.SIGNING_KEY_STAGED_FOR


def takes_over_at(active: SigningKey, staged: SigningKey) -> datetime:
    """When the staged key is to sign: after its waiting time, before the active key's certificates end."""
    ready = ready_at(staged)
    waited = ready - PUBLISHED_BEFORE_SIGNING + settings.SIGNING_KEY_STAGED_FOR
    return max(ready, min(_certificates_end(active), max(waited, _signed_long_enough(active))))


def ended_at(retired: SigningKey) -> datetime:
    """When the last token that a retired key signed has expired, in every cache."""
    return cast(datetime, retired.retired_at) + PUBLISHED_AFTER_SIGNING


def destroyed_from(ended: SigningKey) -> datetime:
    """When the hardware module may destroy the private key of a retired or withdrawn key."""
    return ended.withdrawn_at or cast(datetime, ended.retired_at) + IN_FLIGHT


def fits(key: SigningKey, at: datetime) -> bool:
    """Whether the key's certificate chain is valid at that time."""
    try:
        return bool(key.chain(at=at))
    except BrokenChainError:
        return False


def _signed_long_enough(active: SigningKey) -> datetime:
    """When the active key has signed for SIGNING_KEY_DAYS, or its certificates are about to end."""
    in_time = _certificates_end(active) - settings.SIGNING_KEY_STAGED_FOR
    return min(cast(datetime, active.activated_at) + settings.SIGNING_KEY_PERIOD, in_time)


def _certificates_end(active: SigningKey) -> datetime:
    return active.chain(at=cast(datetime, active.certified_at)).not_after
