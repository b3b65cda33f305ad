"""A relying party as JSON, for the commands that list and change relying parties."""

from collections.abc import Iterable
from datetime import UTC
from typing import Any

from presentation.models import RelyingParty

_NAMES = {"allowed_scopes": "scopes", "allowed_transaction_data_types": "transaction_data_types"}
_OTHERS = ("id", "webhook_url", "webhook_events", "notes")  # `set_webhook` sets the second and the third
# Member of the JSON → field of the model. A list of addresses is a table of its own.
FIELDS = {
    _NAMES.get(field.name, field.name): field.name
    for field in RelyingParty._meta.concrete_fields
    if field.editable and field.name not in _OTHERS
}
ADDRESSES = ("redirect_uris", "response_uris")
STATE = ("state", "suspension_reason")
FIXED = ("client_id", "created_at", "webhook_url", "webhook_events")


def as_json(party: RelyingParty) -> dict[str, Any]:
    """All that an operator decides about it, without secrets, the logo and the notes."""
    return {
        "client_id": party.client_id,
        "created_at": party.created_at.astimezone(UTC).isoformat(timespec="seconds"),
        "state": str(party.state),
        "suspension_reason": party.suspension_reason,
        **{name: [row.uri for row in getattr(party, name).all()] for name in ADDRESSES},
        **{member: getattr(party, field) for member, field in FIELDS.items()},
        "webhook_url": party.webhook_url,
        "webhook_events": party.webhook_events,
    }


def listed(client_ids: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The relying parties with these client IDs, or all, in the order in which they were registered."""
    rows = RelyingParty.objects.defer("logo").prefetch_related(*ADDRESSES).order_by("created_at", "pk")
    wanted = list(client_ids)
    return [as_json(party) for party in (rows.filter(client_id__in=wanted) if wanted else rows)]
