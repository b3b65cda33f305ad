"""The states of a signing key and the transitions between them; `transitions` decides when one is allowed."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from keys.certificates.chain import BrokenChainError
from keys.issuer_key import forget
from keys.models import KINDS, Key, SigningKey, StatementKey
from keys.private_keys.key_stores import destroy_once_committed
from keys.rotation.key_events import SERVICE, Action, record

State = Key.State

# staged ──► active ──► retired ──► withdrawn, and any state ──► withdrawn
TRANSITIONS: dict[str, frozenset[str]] = {
    State.STAGED: frozenset({State.ACTIVE, State.WITHDRAWN}),
    State.ACTIVE: frozenset({State.RETIRED, State.WITHDRAWN}),
    State.RETIRED: frozenset({State.WITHDRAWN}),
    State.WITHDRAWN: frozenset(),
}
_ACTION_OF = {
    State.ACTIVE: Action.ACTIVATED,
    State.RETIRED: Action.RETIRED,
    State.WITHDRAWN: Action.WITHDRAWN,
}
_TIME_OF = {State.ACTIVE: "activated_at", State.RETIRED: "retired_at", State.WITHDRAWN: "withdrawn_at"}

log = structlog.get_logger(__name__)


class RotationRefusedError(Exception):
    """The key cannot make this transition now; the text gives the reason and a remedy."""


def find(kid: UUID | str, *, locked: bool = False) -> Key:
    """The key with this id, with `locked` for update; raises RotationRefusedError when there is none."""
    for kind in KINDS:
        rows = kind.objects.select_for_update() if locked else kind.objects.all()
        with suppress(kind.DoesNotExist, ValueError):
            return rows.get(pk=UUID(str(kid)))
    raise RotationRefusedError(_("There is no signing key %(kid)s.") % {"kid": kid})


def in_state(state: State, kind: type[Key] = SigningKey) -> Key | None:
    """The newest key of this kind in this state, or None."""
    return kind._default_manager.filter(state=state).first()


def transition_to(key: Key, state: State, *, now: datetime, actor: str = SERVICE, reason: str = "") -> Key:
    """Changes the state of a key and records it; no other code does. Gives the changed key.

    Raises RotationRefusedError when it is not allowed or another process changed the key meanwhile.
    """
    require_transition(key, state)
    facts: dict[str, Any] = {"state": state, _TIME_OF[state]: now}
    if state == State.WITHDRAWN:
        facts["reason"] = reason
    if state in (State.RETIRED, State.WITHDRAWN):
        facts["sealed_private_key"] = b""  # it can never sign again
    try:
        with transaction.atomic():
            moved = type(key)._default_manager.filter(pk=key.pk, state=key.state).update(**facts)
            if moved:
                record(_ACTION_OF[state], key.pk, actor=actor, reason=reason, now=now)
                if state == State.WITHDRAWN:
                    destroy_once_committed(key, now=now, actor=actor)
    except IntegrityError:  # another key became the active one meanwhile
        moved = 0
    if not moved:
        raise RotationRefusedError(_("Key %(kid)s was moved by someone else just now.") % {"kid": key})
    forget()
    log.info("signing_key_moved", kid=str(key.id), before=str(key.state), after=str(state))
    return find(key.pk)


def require_transition(key: Key, state: State) -> None:
    """Raises RotationRefusedError unless TRANSITIONS allows this transition."""
    if state not in TRANSITIONS[key.state]:
        raise RotationRefusedError(
            _("Key %(kid)s cannot become “%(to)s”; it is “%(from)s”.")
            % {"kid": key, "to": state.label, "from": key.get_state_display()}
        )


JWKS_MAX_AGE = timedelta(hours=1)  # how long relying parties may keep the key set
# A key signs only once every cached key set contains it: after max-age, plus the seconds that instances take
# to publish a change (`infra.published`), plus the difference between clocks.
PUBLISHED_BEFORE_SIGNING = JWKS_MAX_AGE + timedelta(minutes=5)
TOKEN_LIFETIME = timedelta(hours=24)  # the longest lifetime of any token that we sign
PUBLISHED_AFTER_SIGNING = TOKEN_LIFETIME + JWKS_MAX_AGE + timedelta(minutes=5)
STATEMENTS_KEPT = timedelta(days=7 * 365 + 2)  # after its retirement, a key for statements stays published
IN_FLIGHT = timedelta(minutes=5)  # a request that read the key as active may still sign with it

# The functions below cast `certified_at`, `activated_at` and `retired_at`: the constraint
# `keys_signing_key_state_fits_times` makes sure that they are set in the states in which a cast reads them.


def ready_at(staged: Key) -> datetime:
    """When a key may start to sign: every cached key set contains it by then.

    Raises RotationRefusedError when it is not certified, because it is not published before that.
    """
    if staged.certified_at is None:
        raise RotationRefusedError(
            _("Key %(kid)s has no certificate chain yet; certify it first.") % {"kid": staged}
        )
    return staged.certified_at + PUBLISHED_BEFORE_SIGNING


def next_staged_at(active: Key) -> datetime:
    """When the successor of the active key is to be staged: with SIGNING_KEY_SPARE as soon as it signs."""
    if settings.SIGNING_KEY_SPARE:
        return cast(datetime, active.activated_at)
    return _signed_long_enough(active) - settings.SIGNING_KEY_STAGED_FOR


def takes_over_at(active: Key, staged: Key) -> datetime:
    """When the staged key is to sign: after its waiting time, before the active key's certificates end."""
    ready = ready_at(staged)
    waited = ready - PUBLISHED_BEFORE_SIGNING + settings.SIGNING_KEY_STAGED_FOR
    return max(ready, min(_certificates_end(active), max(waited, _signed_long_enough(active))))


def ended_at(retired: Key) -> datetime:
    """When the last token that a retired key signed has expired, in every cache, or its last statement."""
    kept = STATEMENTS_KEPT if isinstance(retired, StatementKey) else PUBLISHED_AFTER_SIGNING
    return cast(datetime, retired.retired_at) + kept


def destroyed_from(ended: Key) -> datetime:
    """When the hardware module may destroy the private key of a retired or withdrawn key."""
    return ended.withdrawn_at or cast(datetime, ended.retired_at) + IN_FLIGHT


def fits(key: Key, at: datetime) -> bool:
    """Whether the key's certificate chain is valid at that time."""
    try:
        return bool(key.chain(at=at))
    except BrokenChainError:
        return False


def _signed_long_enough(active: Key) -> datetime:
    """When the active key has signed for SIGNING_KEY_DAYS, or its certificates are about to end."""
    in_time = _certificates_end(active) - settings.SIGNING_KEY_STAGED_FOR
    return min(cast(datetime, active.activated_at) + settings.SIGNING_KEY_PERIOD, in_time)


def _certificates_end(active: Key) -> datetime:
    return active.chain(at=cast(datetime, active.certified_at)).not_after
