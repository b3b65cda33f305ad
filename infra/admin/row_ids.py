"""How lists of the admin name a row whose ID is long: by its beginning, with the whole at hand."""

from django.contrib import admin
from django.db.models import Model
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

SHOWN = 8
LONG = 36  # a UUID


def short(row_id: object) -> str:
    """The beginning of a long ID, enough to tell rows of one list apart; a short one as it is."""
    text = str(row_id)
    return text if len(text) < LONG else text[:SHOWN]


def pointed_at(row_id: object) -> str:
    """The same for a list: whoever points at it reads the whole ID."""
    return format_html('<span title="{}">{}</span>', row_id, short(row_id))


@admin.display(description=_("ID"), ordering="id")
def short_id(row: Model) -> str:
    """A column with the IDs of the rows themselves."""
    return pointed_at(row.pk)
