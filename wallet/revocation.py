"""Suspending, reinstating and revoking the credential a wallet holds, with whatever was presented from it."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from wallet.models import Credential, StatusEntry
from wallet.status_lists import changes
from wallet.status_lists.changes import Action, Subject
from wallet.status_lists.standing import unexpired

# valid ──► suspended ──► revoked
#   ▲           │            ▲
#   └───────────┘   valid ───┘      A new verification replaces a revoked or expired credential.
MOVES: dict[str, frozenset[str]] = {
    Credential.State.VALID: frozenset({Credential.State.SUSPENDED, Credential.State.REVOKED}),
    Credential.State.SUSPENDED: frozenset({Credential.State.VALID, Credential.State.REVOKED}),
    Credential.State.REVOKED: frozenset(),
}
_TOLD_AS = {
    Credential.State.SUSPENDED: Action.SUSPENDED,
    Credential.State.VALID: Action.REINSTATED,
    Credential.State.REVOKED: Action.INVALIDATED,
}


class CredentialMoveError(Exception):
    """The credential is not in a state from which it may go there; perhaps somebody else was faster."""


def presented(credential: Credential, *, now: datetime) -> QuerySet[StatusEntry]:
    """What was presented from a credential and has not ended."""
    return unexpired(now).filter(credential=credential)


def suspend(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """Set a valid credential aside until it is reinstated or revoked; raises CredentialMoveError."""
    _move_to(credential, Credential.State.SUSPENDED, actor=actor, reason=reason, now=now)


def reinstate(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """Make a suspended credential valid again; raises CredentialMoveError."""
    _move_to(credential, Credential.State.VALID, actor=actor, reason=reason, now=now)


def revoke(credential: Credential, *, actor: str, reason: str, now: datetime) -> None:
    """End a credential for good, and everything presented from it; raises CredentialMoveError."""
    _move_to(credential, Credential.State.REVOKED, actor=actor, reason=reason, now=now)


@transaction.atomic
def _move_to(
    credential: Credential, state: Credential.State, *, actor: str, reason: str, now: datetime
) -> None:
    origins = [origin for origin, allowed in MOVES.items() if state in allowed]
    rows = Credential.objects.filter(id=credential.id, state__in=origins)
    if rows.update(state=state) != 1:
        raise CredentialMoveError(f"A credential that is not {' or '.join(origins)} cannot become {state}.")
    # From here on nobody presents from it (see `allocation`), so this is all there is.
    hit = presented(credential, now=now)
    if state == Credential.State.REVOKED:
        # Said of each, because the row becomes valid again when its holder is verified anew.
        count = hit.update(status=changes.Status.INVALID)
    else:
        count = hit.count()
    changes.record(
        _TOLD_AS[state],
        Subject.CREDENTIAL,
        str(credential.id),
        count,
        actor=actor,
        reason=reason,
        now=now,
    )
    credential.state = state
