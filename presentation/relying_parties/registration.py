"""Registers, suspends and reinstates relying parties."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from presentation.models import RedirectURI, RelyingParty, ResponseURI


class MoveError(Exception):
    """The relying party is already in the state it should be moved to."""


@transaction.atomic
def register(
    *, name: str, redirect_uris: Sequence[str], response_uris: Sequence[str] = (), **details: Any
) -> RelyingParty:
    """A new active relying party with a new client ID and its registered addresses.

    details: further fields of RelyingParty. If it raises ValidationError, by field, nothing is written.
    """
    if not redirect_uris:
        raise ValidationError({"redirect_uris": _("Name at least one redirect URI.")})
    relying_party = RelyingParty(name=name, **details)
    relying_party.full_clean()
    relying_party.save(force_insert=True)
    add_redirect_uris(relying_party, redirect_uris)
    add_response_uris(relying_party, response_uris)
    return relying_party


def add_redirect_uris(relying_party: RelyingParty, redirect_uris: Sequence[str]) -> None:
    """Registers further redirect URIs, in the caller's transaction; raises ValidationError."""
    for uri in redirect_uris:
        _save(RedirectURI(relying_party=relying_party, uri=uri), "redirect_uris")


def add_response_uris(relying_party: RelyingParty, response_uris: Sequence[str]) -> None:
    """Registers further response URIs, in the caller's transaction; raises ValidationError."""
    for uri in response_uris:
        _save(ResponseURI(relying_party=relying_party, uri=uri), "response_uris")


def suspend(relying_party: RelyingParty, reason: str) -> None:
    """Stops all answers to it, also for open requests; raises MoveError if it is suspended already."""
    if not reason.strip():
        raise ValueError("A suspension needs a reason.")
    _move(relying_party, RelyingParty.State.SUSPENDED, reason)


def reinstate(relying_party: RelyingParty) -> None:
    """Ends a suspension; raises MoveError if it is active already."""
    _move(relying_party, RelyingParty.State.ACTIVE, "")


def _save(row: RedirectURI | ResponseURI, named: str) -> None:
    try:
        row.full_clean()
    except ValidationError as error:
        raise ValidationError({named: [f"{row.uri}: {text}" for text in error.messages]}) from None
    row.save(force_insert=True)


def _move(relying_party: RelyingParty, to: RelyingParty.State, reason: str) -> None:
    origins = [state for state, targets in RelyingParty.MOVES.items() if to in targets]
    movable = RelyingParty.objects.filter(pk=relying_party.pk, state__in=origins)
    if movable.update(state=to, suspension_reason=reason) != 1:
        raise MoveError(f"{relying_party.client_id} is {to} already.")
    relying_party.state, relying_party.suspension_reason = to, reason
