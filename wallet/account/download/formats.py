"""Writes a holder’s data, a batch at a time: as JSON for machines, and as a page that opens offline.

The JSON document is an object. Its members `format`, `created_at` and `service` come first, then one list for
each section, then `complete`, which only a whole document has: a download that broke off is not JSON.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import get_template, render_to_string
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.timezone import localtime
from django.utils.translation import gettext as _t

from infra import localised, personal_data
from infra.personal_data import Person, Section
from wallet.credential import birth_dates

FORMAT = "wallet-data/1"  # another number once a member changes its meaning or goes
STYLE = "wallet/account/download.css"
PLACE = "\x1e"  # where the entries of a section go; the frame of the page has no text of people


def as_json(person: Person, *, now: datetime) -> Iterator[str]:
    """The JSON document, in pieces."""
    head = {"format": FORMAT, "created_at": now.isoformat(), "service": settings.BASE_URL}
    yield json.dumps(head, ensure_ascii=False)[:-1]
    for section in personal_data.sections():
        yield f",\n{json.dumps(section.name)}: ["
        between = "\n"
        for entry in section.entries(person, now=now):
            yield between + json.dumps(entry, ensure_ascii=False)
            between = ",\n"
        yield "]"
    yield ',\n"complete": true}\n'


def as_html(person: Person, *, now: datetime) -> Iterator[str]:
    """The page, in pieces: one file without scripts that needs nothing from elsewhere."""
    sections = personal_data.sections()
    facts = {"now": now, "host": urlsplit(settings.BASE_URL).netloc, "sections": sections, "place": PLACE}
    # In the file itself, because it opens without a network.
    facts["style"] = format_html("<style>{}</style>", mark_safe(render_to_string(STYLE)))  # noqa: S308
    head, *rest = render_to_string("wallet/account/download.html", facts).split(PLACE)
    yield head
    for section, after in zip(sections, rest, strict=True):
        yield from _entries(section, person, now)
        yield after


def _entries(section: Section, person: Person, now: datetime) -> Iterator[str]:
    template, empty = get_template(section.template), True
    for entry in section.entries(person, now=now):
        empty = False
        answered = _in_words("answered_at", entry.get("answered_at"))
        yield template.render({"entry": entry, "shown": _labelled("", entry, section), "answered": answered})
    if empty:
        yield render_to_string("wallet/account/nothing.html")


def _labelled(name: str, value: Any, section: Section) -> dict[str, Any]:
    """The value of the member `name` as pairs of labels and values, without those that are missing."""
    if isinstance(value, Mapping):
        there = {name: inner for name, inner in value.items() if inner not in (None, [], {}, "")}
        return {"pairs": [(section.words.get(n, n), _labelled(n, v, section)) for n, v in there.items()]}
    if isinstance(value, list):
        return {"items_of": [_labelled(name, inner, section) for inner in value]}
    codes = section.codes.get(name, {})
    return {"text": codes[value] if value in codes else _in_words(name, value)}


def _in_words(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return _t("yes") if value else _t("no")
    if isinstance(value, str) and name.endswith("_at"):
        return f"{localised.moment(localtime(datetime.fromisoformat(value)))} UTC"
    if name == "birth_date" and (born := birth_dates.read(value)):
        return birth_dates.in_words(born)
    if isinstance(value, str) and name.endswith("_on"):
        return localised.day(date.fromisoformat(value))
    return value
