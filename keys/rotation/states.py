"""The states of a signing key and the moves between them; `moves` decides when a move is allowed."""

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from keys.issuer_key import forget
from keys.models import SigningKey
from keys.private_keys.key_stores import destroy_once_committed
from keys.rotation.key_events import SERVICE, Action, record

State = SigningKey.State

# staged ──► active ──► retired ──► withdrawn, and any state ──► withdrawn
MOVES: dict[str, frozenset[str]] = {
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
    """The key cannot make this move now; the text gives the reason and a remedy."""


def find(kid: UUID | str, *, locked: bool = False) -> SigningKey:
    """The key with this id, with `locked` for update; raises RotationRefusedError when there is none."""
    rows = SigningKey.objects.select_for_update() if locked else SigningKey.objects.all()
    try:
        return rows.get(pk=UUID(str(kid)))
    except (SigningKey.DoesNotExist, ValueError):
        raise RotationRefusedError(_("There is no signing key %(kid)s.") % {"kid": kid}) from None


def in_state(state: State) -> SigningKey | None:
    """The newest key in this state, or None."""
    return SigningKey.objects.filter(state=state).first()


def move_to(
    key: SigningKey, state: State, *, now: datetime, actor: str = SERVICE, reason: str = ""
) -> SigningKey:
    """Changes the state of a key and records it; no other code does. Gives the changed key.

    Raises RotationRefusedError when the move is not allowed or another process moved the key meanwhile.
    """
    require_move(key, state)
    facts: dict[str, Any] = {"state": state, _TIME_OF[state]: now}
    if state == State.WITHDRAWN:
        facts["reason"] = reason
    if state in (State.RETIRED, State.WITHDRAWN):
        facts["sealed_private_key"] = b""  # it can never sign again
    try:
        with transaction.atomic():
            moved = SigningKey.objects.filter(pk=key.pk, state=key.state).update(**facts)
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


def require_move(key: SigningKey, state: State) -> None:
    """Raises RotationRefusedError unless MOVES allows this move."""
    if state not in MOVES[key.state]:
        raise RotationRefusedError(
            _("Key %(kid)s cannot become “%(to)s”; it is “%(from)s”.")
            % {"kid": key, "to": state.label, "from": key.get_state_display()}
        )
