"""Changes a relying party as JSON says, all at once or not at all."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from infra.reasons import visible
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.relying_parties import registration
from presentation.relying_parties.as_json import ADDRESSES, FIELDS, FIXED, STATE, as_json
from presentation.relying_parties.recognition import NEEDED, must_choose

LONGEST_REASON = 300  # characters, as in the admin


@transaction.atomic
def change(client_id: str, wanted: Mapping[str, Any], *, command: str, now: datetime) -> list[str]:
    """Makes the members that `wanted` names as it says; gives the names of those that changed.

    A member that is left out stays. A list replaces the whole list. Raises `RelyingParty.DoesNotExist`, and
    ValidationError by member, after which nothing is changed.
    """
    party = RelyingParty.objects.select_for_update().get(client_id=client_id)
    before = as_json(party)
    _check(before, wanted)
    changed = [member for member, value in wanted.items() if value != before[member]]
    _set_fields(party, {member: wanted[member] for member in changed if member in FIELDS})
    for name in ADDRESSES:
        if name in changed:
            if name == "redirect_uris" and not wanted[name]:
                raise ValidationError({name: ["Name at least one redirect URI."]})
            registration.set_addresses(party, name, list(dict.fromkeys(wanted[name])))
    registration.check_start(party, (row.uri for row in party.redirect_uris.all()))
    if "state" in changed:
        _move(party, wanted)
    if changed:
        RelyingPartyEvent.record(party, f"Changed: {', '.join(changed)}", command=command, now=now)
    return changed


def _check(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuses unknown members, values of another type, and changes of what cannot change."""
    errors: dict[str, list[str]] = {}
    for member, value in wanted.items():
        if member not in before:
            errors[member] = ["There is no such member."]
        elif member in FIXED and value != before[member]:
            errors[member] = ["This cannot be changed here."]
        elif not _is_like(value, before[member], member):
            errors[member] = ["The value has the wrong type."]
    becomes = wanted.get("wire_format", before["wire_format"])
    if becomes != before["wire_format"] and must_choose(becomes) and "may_recognise" not in wanted:
        errors["may_recognise"] = [f"{NEEDED} Name it: true is one number, false is another each time."]
    if wanted.get("suspension_reason", before["suspension_reason"]) != before["suspension_reason"] and (
        wanted.get("state", before["state"]) == before["state"]
    ):
        errors["suspension_reason"] = ["It changes together with the state."]
    if errors:
        raise ValidationError(errors)


def _is_like(value: Any, current: Any, member: str) -> bool:
    if member == "jwks":
        return value is None or isinstance(value, dict)
    if isinstance(current, list):
        return isinstance(value, list) and all(isinstance(element, str) for element in value)
    return type(value) is type(current)


def _set_fields(party: RelyingParty, values: Mapping[str, Any]) -> None:
    for member, value in values.items():
        setattr(party, FIELDS[member], value)
    if values:
        try:
            party.full_clean()
        except ValidationError as error:
            members = {field: member for member, field in FIELDS.items()}
            by_member = {members.get(field, field): texts for field, texts in error.message_dict.items()}
            raise ValidationError(by_member) from None
        party.save(update_fields=[FIELDS[member] for member in values])


def _move(party: RelyingParty, wanted: Mapping[str, Any]) -> None:
    state, reason = (wanted.get(name, "") for name in STATE)
    if state not in RelyingParty.State:
        raise ValidationError({"state": ["This is no state."]})
    if state == RelyingParty.State.ACTIVE:
        registration.reinstate(party)
        return
    if not visible(reason):
        raise ValidationError({"suspension_reason": ["A suspension needs a reason."]})
    if len(reason) > LONGEST_REASON:
        raise ValidationError({"suspension_reason": ["It is too long."]})
    registration.suspend(party, reason)
