"""When which key is due for what: facts of the rows in, moments out.

A new key every SIGNING_KEY_DAYS, staged SIGNING_KEY_STAGED_HOURS before it signs, withdrawn when its last
token has ended.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext as _

from keys.certificates.chain import BrokenChainError
from keys.models import SigningKey
from keys.rotation.states import RotationRefusedError

JWKS_MAX_AGE = timedelta(hours=1)  # how long relying parties may keep the key set
# A key signs only once every cached key set has it: max-age, plus the time instances take to publish a
# change (seconds, see `published`) and the clocks' disagreement.
PUBLISHED_BEFORE_SIGNING = JWKS_MAX_AGE + timedelta(minutes=5)
TOKEN_LIFETIME = timedelta(hours=24)  # the longest of any token signed here
PUBLISHED_AFTER_SIGNING = TOKEN_LIFETIME + JWKS_MAX_AGE + timedelta(minutes=5)
IN_FLIGHT = timedelta(minutes=5)  # a request that found the key active may still be about to sign with it


def ready_at(staged: SigningKey) -> datetime:
    """From when a key may take over: every cached key set has it by then.

    Raises RotationRefusedError when it is not certified: it is not published before that.
    """
    if staged.certified_at is None:
        raise RotationRefusedError(
            _("Key %(kid)s has no certificate chain yet; certify it first.") % {"kid": staged}
        )
    return staged.certified_at + PUBLISHED_BEFORE_SIGNING


def next_staged_at(active: SigningKey) -> datetime:
    """When the key after the active one is to be staged."""
    return _signed_long_enough(active) - settings.SIGNING_KEY_STAGED_FOR


def takes_over_at(active: SigningKey, staged: SigningKey) -> datetime:
    """When the staged key is to sign: after its time in waiting, but before the other's certificates end."""
    ready = ready_at(staged)
    waited = ready - PUBLISHED_BEFORE_SIGNING + settings.SIGNING_KEY_STAGED_FOR
    return max(ready, min(_certificates_end(active), max(waited, _signed_long_enough(active))))


def ended_at(retired: SigningKey) -> datetime:
    """From when nothing needs a retired key any more."""
    if retired.retired_at is None:
        raise AssertionError("a retired key has its time, by constraint")
    return retired.retired_at + PUBLISHED_AFTER_SIGNING


def destroyed_from(ended: SigningKey) -> datetime:
    """From when the module may destroy the private key of a retired or withdrawn key."""
    if ended.withdrawn_at is not None:
        return ended.withdrawn_at
    if ended.retired_at is None:
        raise AssertionError("a retired key has its time, by constraint")
    return ended.retired_at + IN_FLIGHT


def fits(key: SigningKey, at: datetime) -> bool:
    """Whether the key's chain would let it sign at that time."""
    try:
        return bool(key.chain(at=at))
    except BrokenChainError:
        return False


def _signed_long_enough(active: SigningKey) -> datetime:
    """When the active key has signed for its time, or its certificates are about to end."""
    if active.activated_at is None:
        raise AssertionError("an active key has its time, by constraint")
    in_time = _certificates_end(active) - settings.SIGNING_KEY_STAGED_FOR
    return min(active.activated_at + settings.SIGNING_KEY_PERIOD, in_time)


def _certificates_end(key: SigningKey) -> datetime:
    chain = key.certified_chain
    if chain is None:
        raise AssertionError("an active key is certified, by constraint")
    return chain.not_after
