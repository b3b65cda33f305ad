"""Two languages that nobody speaks, made of the English texts, for tests of the layout.

LONG is twice as long as English, and MIRRORED is written from right to left. No text of either contains an
ASCII letter, so every ASCII word on a page is data or was never given to gettext.
"""

import re
from pathlib import Path
from typing import Any

import django
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from tools.texts import extraction

LONG, MIRRORED = "qaa", "qab"  # codes for private use (ISO 639-2)
LANGUAGES = [(LONG, "Ļöñğ"), (MIRRORED, "משמאל")]
# Placeholders, tags and entities, which stay.
_FIXED = re.compile(r"(%\(\w+\)[sd]|%[sd%]|\{\w*\}|<[^<>]*>|&\w+;)")
_ACCENTED = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "áƀçđéƒğĥíĵķļḿñóƥɋŕšţúṽŵẋýžÁƁÇĐÉƑĞĤÍĴĶĻḾÑÓƤɊŔŠŢÚṼŴẊÝŽ",
)
_HEBREW = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "אבגדהוזחטיכלמנסעפצקרשתםןףץ" * 2
)


def written(folder: Path) -> Path:
    """Writes both catalogues below `folder`, for the setting LOCALE_PATHS."""
    texts = list(extraction.texts())
    own = Path(django.__file__).parent / "conf" / "locale" / "es" / "LC_MESSAGES" / "django.po"
    with own.open("rb") as file:  # the texts of Django itself, such as those of forms and “3 minutes”
        texts += list(read_po(file))
    for language in (LONG, MIRRORED):
        catalogue = Catalog(locale="en", fuzzy=False)
        for text in texts:
            if text.id:
                catalogue.add(text.id, string=_translated(text.id, language), context=text.context)
        target = folder / language / "LC_MESSAGES" / "django.mo"
        target.parent.mkdir(parents=True)
        with target.open("wb") as file:
            write_mo(file, catalogue)
    return folder


def _translated(text: Any, language: str) -> Any:
    if not isinstance(text, str):
        return tuple(_translated(form, language) for form in text)
    if language == MIRRORED:
        return _mapped(text, _HEBREW)
    body = text.rstrip()
    more = _mapped(_FIXED.sub("", body), _ACCENTED).strip()
    return f"{_mapped(body, _ACCENTED)} {more}{text[len(body) :]}"


def _mapped(text: str, letters: dict[int, int]) -> str:
    parts = _FIXED.split(text)
    return "".join(part if number % 2 else part.translate(letters) for number, part in enumerate(parts))
