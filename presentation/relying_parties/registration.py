"""Registers, suspends and reinstates relying parties."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from infra.operations import WrongStateError
from infra.reasons import visible
from presentation.models import RelyingParty
from presentation.relying_parties.metadata.redirect_uris import problem_with_start


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
    set_addresses(relying_party, "redirect_uris", redirect_uris)
    set_addresses(relying_party, "response_uris", response_uris)
    check_start(relying_party, redirect_uris)
    return relying_party


def set_addresses(relying_party: RelyingParty, name: str, uris: Sequence[str]) -> None:
    """Registers exactly these addresses, in the caller's transaction; those that stay keep their rows.

    name: "redirect_uris" or "response_uris". Raises ValidationError.
    """
    rows = getattr(relying_party, name)
    registered = set(rows.values_list("uri", flat=True))
    for uri in uris:
        if uri not in registered:
            row = rows.model(relying_party=relying_party, uri=uri)
            try:
                row.full_clean()
            except ValidationError as error:
                raise ValidationError({name: [f"{uri}: {text}" for text in error.messages]}) from None
            row.save(force_insert=True)
    rows.exclude(uri__in=uris).delete()  # last: what was not validated may have a NUL


def check_start(relying_party: RelyingParty, uris: Iterable[str]) -> None:
    """Raises ValidationError if its requests begin elsewhere than on a host of these redirect URIs."""
    if problem := problem_with_start(relying_party.initiate_login_uri, uris):
        raise ValidationError({"initiate_login_uri": problem})


def in_words(error: ValidationError, named: Callable[[str], str] = str) -> str:
    """The messages of the error, one a line. named: what is read in place of the name of a field."""
    problems = ((field, text) for field, texts in error.message_dict.items() for text in texts)
    return "\n".join(
        text if field == NON_FIELD_ERRORS else f"{named(field)}: {text}" for field, text in problems
    )


def suspend(relying_party: RelyingParty, reason: str) -> None:
    """Stops all answers to it, also for open requests; raises WrongStateError if it is suspended already."""
    if not visible(reason):
        raise ValueError("A suspension needs a reason.")
    _move(relying_party, RelyingParty.State.SUSPENDED, reason)


def reinstate(relying_party: RelyingParty) -> None:
    """Ends a suspension; raises WrongStateError if it is active already."""
    _move(relying_party, RelyingParty.State.ACTIVE, "")


def _move(relying_party: RelyingParty, to: RelyingParty.State, reason: str) -> None:
    movable = RelyingParty.objects.filter(pk=relying_party.pk).exclude(state=to)
    if movable.update(state=to, suspension_reason=reason) != 1:
        raise WrongStateError(f"{relying_party.client_id} is {to} already.")
    relying_party.state, relying_party.suspension_reason = to, reason
