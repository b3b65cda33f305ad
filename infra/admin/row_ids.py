"""Short forms of long row IDs, for lists of the admin, and IDs that operators type."""

from uuid import UUID

from django.contrib import admin
from django.db.models import Model
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from infra.typed_digits import plain

SHOWN = 8
LONG = 36  # a UUID


def short(row_id: object) -> str:
    """The beginning of a long ID, enough to tell the rows of a list apart; a short ID unchanged."""
    text = str(row_id)
    return text if len(text) < LONG else text[:SHOWN]


def pointed_at(row_id: object) -> str:
    """The same as HTML whose tooltip shows the whole ID."""
    return format_html('<span title="{}">{}</span>', row_id, short(row_id))


def as_id(text: str) -> UUID | None:
    """The ID that the text is; None if it is none."""
    try:
        return UUID(plain(text))
    except ValueError:
        return None


@admin.display(description=_("ID"), ordering="id")
def short_id(row: Model) -> str:
    """A column with the IDs of the rows."""
    return pointed_at(row.pk)
