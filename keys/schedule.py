"""When which key is due for what: facts of the rows in, moments out.

By default a new key every 90 days, staged 48 hours before it signs, withdrawn when its last token has ended.
"""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from keys.certificate_chain import BrokenChainError
from keys.models import SigningKey
from keys.moves import RotationRefusedError, State, in_state

JWKS_MAX_AGE = timedelta(hours=1)  # how long relying parties may keep the key set
# A key signs only once every cached key set has it: max-age, plus the time instances take to publish a
# change (seconds, see `published`) and the clocks' disagreement.
PUBLISHED_BEFORE_SIGNING = JWKS_MAX_AGE + timedelta(minutes=5)
TOKEN_LIFETIME = timedelta(hours=24)  # the longest of any token signed here
PUBLISHED_AFTER_SIGNING = TOKEN_LIFETIME + JWKS_MAX_AGE + timedelta(minutes=5)

NEW_KEY_EVERY = timedelta(days=90)
STAGED_FOR = timedelta(hours=48)


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
    return _signed_long_enough(active) - STAGED_FOR


def takes_over_at(active: SigningKey, staged: SigningKey) -> datetime:
    """When the staged key is to sign: after its time in waiting, but before the other's certificates end."""
    ready = ready_at(staged)
    waited = ready - PUBLISHED_BEFORE_SIGNING + STAGED_FOR
    return max(ready, min(_certificates_end(active), max(waited, _signed_long_enough(active))))


def ended_at(retired: SigningKey) -> datetime:
    """From when nothing needs a retired key any more."""
    if retired.retired_at is None:
        raise AssertionError("a retired key has its time, by constraint")
    return retired.retired_at + PUBLISHED_AFTER_SIGNING


def fits(key: SigningKey, at: datetime) -> bool:
    """Whether the key's chain would let it sign at that time."""
    try:
        return bool(key.chain(at=at))
    except BrokenChainError:
        return False


def outlook() -> list[str]:
    """What comes next, a line for each key that something will happen to."""
    active, staged = in_state(State.ACTIVE), in_state(State.STAGED)
    lines = []
    if active is None:
        lines.append(_("No key signs: credentials cannot be issued."))
    if staged and not staged.chain_pem:
        lines.append(
            _("Key %(kid)s waits for its certificate: manage.py certify_signing_key %(kid)s")
            % {"kid": staged}
        )
    elif active and staged:
        when = moment(takes_over_at(active, staged))
        lines.append(_("Key %(kid)s takes over on %(when)s.") % {"kid": staged, "when": when})
    elif active:
        when = moment(next_staged_at(active))
        lines.append(_("The key after %(kid)s is staged on %(when)s.") % {"kid": active, "when": when})
    for key in SigningKey.objects.filter(state=State.RETIRED):
        when = moment(ended_at(key))
        lines.append(_("Key %(kid)s leaves the key set on %(when)s.") % {"kid": key, "when": when})
    return lines


def cost_of_withdrawal(key: SigningKey, *, now: datetime) -> str:
    """What withdrawing this key does to holders and relying parties, for whoever is about to do it."""
    if key.state == State.WITHDRAWN:
        return _("The key is withdrawn already.")
    if key.state == State.STAGED:
        return _("It has signed nothing yet, so nobody notices. Another key can be staged at once.")
    ended = _(
        "Every credential it signed in the last 24 hours stops verifying as soon as relying parties "
        "fetch the key set again: within the hour. Holders must present again."
    )
    if key.state == State.RETIRED:
        return ended
    successor = in_state(State.STAGED)
    if successor is None or not fits(successor, now):
        return ended + " " + _("No other key is ready, so nothing can be issued until one is.")
    return (
        ended
        + " "
        + _(
            "Key %(kid)s signs from then on; relying parties whose copy of the key set lacks it refuse "
            "new credentials for up to an hour."
        )
        % {"kid": successor}
    )


def moment(when: datetime) -> str:
    """A time for a person to read."""
    return f"{when:%d %B %Y %H:%M} UTC"


def _signed_long_enough(active: SigningKey) -> datetime:
    """When the active key has signed for its time, or its certificates are about to end."""
    if active.activated_at is None:
        raise AssertionError("an active key has its time, by constraint")
    return min(active.activated_at + NEW_KEY_EVERY, _certificates_end(active) - STAGED_FOR)


def _certificates_end(key: SigningKey) -> datetime:
    chain = key.certified_chain
    if chain is None:
        raise AssertionError("an active key is certified, by constraint")
    return chain.not_after
