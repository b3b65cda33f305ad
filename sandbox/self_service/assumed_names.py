"""Names that developers choose and no operator has checked. Pure.

Each carries a mark, and none may look like a registered name: a simplified form of the rules of Unicode TS 39
§4 (confusables) and §5 (mixed scripts).
"""

import unicodedata
from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from infra.characters import is_legible
from infra.words import Words

# Stored as part of the name, so that every page, receipt and e-mail shows it. Not translated for that reason.
MARK = " (sandbox, unverified)"
LONGEST = 60
_PUNCTUATION = frozenset(" -&.,'’+")
# Digits and Cyrillic and Greek letters, and the Latin letters that they look like, in lower case.
_LOOKS_LIKE = str.maketrans("01358iасеорхуіѕјмвнктαοντκιρεβη", "olesblaceopxylsjmbhktaovtklpebn")
_SHORTEST_COMPARED = 4  # shorter registered names occur within too many others


def marked(name: str) -> str:
    """The name as it is stored and shown."""
    return name + MARK


def unmarked(name: str) -> str:
    """The name as the developer typed it."""
    return name.removesuffix(MARK)


def problem_with(name: str, registered: Iterable[str]) -> Words | None:
    """Why this name is refused; None if it is allowed. registered: the names that operators gave."""
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
    """The name reduced to what a reader perceives at a glance, for comparison."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    letters = "".join(character for character in plain if character.isalnum())
    return letters.translate(_LOOKS_LIKE).replace("rn", "m").replace("vv", "w")


def _script(letter: str) -> str:
    """The script: the first word of the letter's Unicode name; the three scripts of Japanese count as one."""
    script = unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0]
    return "JAPANESE" if script in ("CJK", "HIRAGANA", "KATAKANA") else script


def _is_plain(character: str) -> bool:
    return (
        character.isalnum()
        or character in _PUNCTUATION
        or unicodedata.category(character) in ("Mn", "Mc")  # marks on letters
    )
