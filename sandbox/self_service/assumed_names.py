"""Names that nobody has checked: always said to be so, and never one that could be taken for another's. Pure.

Unicode TS 39 §5 (mixed scripts) and §4 (confusables) in spirit.
"""

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from infra.characters import is_legible

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Part of the name, so that no page, receipt or letter can show the name without it. Not translated: stored.
MARK = " (sandbox, unverified)"
LONGEST = 60
_PUNCTUATION = frozenset(" -&.,'’+")
# Digits, Cyrillic and Greek that pass for Latin letters, in lower case.
_LOOKS_LIKE = str.maketrans("01358iасеорхуіѕјмвнктαοντκιρεβη", "olesblaceopxylsjmbhktaovtklpebn")
_SHORTEST_COMPARED = 4  # a registered name that is shorter would be part of many


def marked(name: str) -> str:
    """The name as everybody sees it."""
    return name + MARK


def unmarked(name: str) -> str:
    """The name as its developer typed it."""
    return name.removesuffix(MARK)


def problem_with(name: str, registered: Iterable[str]) -> "StrOrPromise | None":
    """Why this name cannot be had, or None; `registered` are the names that operators gave."""
    if len(name) > LONGEST:
        return _("Use at most 60 characters.")
    if not is_legible(name) or not all(_is_plain(character) for character in name):
        return _("Use letters, digits, spaces and - & . , ' + only.")
    if not any(character.isalpha() for character in name):
        return _("Use a name with letters.")
    if len({_script(character) for character in name if character.isalpha()}) > 1:
        return _("Use letters of one script only: others can be mistaken for them.")
    if any(_contains(name, other) for other in registered):
        return _("This could be taken for another relying party. Choose a name of your own.")
    return None


def _contains(name: str, other: str) -> bool:
    theirs = _folded(other)
    return len(theirs) >= _SHORTEST_COMPARED and theirs in _folded(name)


def _folded(name: str) -> str:
    """What is left of a name when it is only glanced at."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    letters = "".join(character for character in plain if character.isalnum())
    return letters.translate(_LOOKS_LIKE).replace("rn", "m").replace("vv", "w")


def _script(letter: str) -> str:
    """The first word of a letter's name says its script; Japanese is written in three."""
    script = unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0]
    return "JAPANESE" if script in ("CJK", "HIRAGANA", "KATAKANA") else script


def _is_plain(character: str) -> bool:
    return (
        character.isalnum()
        or character in _PUNCTUATION
        or unicodedata.category(character) in ("Mn", "Mc")  # marks on letters
    )
