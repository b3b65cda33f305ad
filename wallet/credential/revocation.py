"""Suspending, reinstating and revoking a wallet's credential, and with it its presented credentials."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from infra.operations import WrongStateError
from wallet.models import Credential, StatusEntry
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, Subject
from wallet.status_lists.statuses import unexpired

# valid ──► suspended ──► revoked
#   ▲           │            ▲
#   └───────────┘   valid ───┘      A new verification replaces a revoked or expired credential.
MOVES: dict[str, frozenset[str]] = {
    Credential.State.VALID: frozenset({Credential.State.SUSPENDED, Credential.State.REVOKED}),
    Credential.State.SUSPENDED: frozenset({Credential.State.VALID, Credential.State.REVOKED}),
    Credential.State.REVOKED: frozenset(),
}
_RECORDED_AS = {
    Credential.State.SUSPENDED: Action.SUSPENDED,
    Credential.State.VALID: Action.REINSTATED,
    Credential.State.REVOKED: Action.INVALIDATED,
}


def presented(credential: Credential, *, now: datetime) -> QuerySet[StatusEntry]:
    """The unexpired presented credentials of a credential."""
    return unexpired(now).filter(credential=credential)


def suspend(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """Suspend a valid credential; raises WrongStateError."""
    _move_to(credential, Credential.State.SUSPENDED, actor=actor, reason=reason, now=now)


def reinstate(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """Make a suspended credential valid again; raises WrongStateError."""
    _move_to(credential, Credential.State.VALID, actor=actor, reason=reason, now=now)


def revoke(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """Revoke a credential and everything presented from it, permanently; raises WrongStateError."""
    _move_to(credential, Credential.State.REVOKED, actor=actor, reason=reason, now=now)


@transaction.atomic
def _move_to(
    credential: Credential, state: Credential.State, *, actor: str, reason: str, now: datetime
) -> None:
    origins = [origin for origin, allowed in MOVES.items() if state in allowed]
    rows = Credential.objects.filter(id=credential.id, state__in=origins)
    revoked_at = now if state == Credential.State.REVOKED else None
    if rows.update(state=state, revoked_at=revoked_at) != 1:
        raise WrongStateError(f"A credential that is not {' or '.join(origins)} cannot become {state}.")
    # The row is locked, so no more entries are allocated (see `allocation`): these are all there are.
    hit = presented(credential, now=now)
    if state == Credential.State.REVOKED:
        # Set on each entry, because the credential row becomes valid again after a new verification.
        count = hit.update(status=changes.Status.INVALID)
    else:
        count = hit.count()
    changes.record(
        _RECORDED_AS[state],
        Subject.CREDENTIAL,
        str(credential.id),
        count,
        actor=actor,
        reason=reason,
        now=now,
    )
    credential.state, credential.revoked_at = state, revoked_at
