"""Makes characters visible that are invisible or change the order of other characters. Pure.

The consent page shows text from a relying party; people must not read it differently from what is signed
(Unicode TR 36 §2.10; OpenID4VP 1.0 §15, untrusted input).
"""

import re
import unicodedata

# Letters and marks that are invisible although their category says otherwise.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
# Variation selectors choose a variant of the previous character; they turn a symbol into an emoji.
_VARIANTS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_MOST_MARKS = 4  # on one character; no script needs more, and a pile of marks would cover other lines


def legible(text: str, *, keep_lines: bool = False) -> str:
    """The text with every invisible or reordering character replaced by its code, as in `⟨U+202E⟩`.

    Line breaks become `↵`, unless `keep_lines` is set.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return ("\n" if keep_lines else " ↵ ").join(_legible_line(line) for line in lines)


def is_legible(text: str) -> bool:
    """Whether the text is one line of visible characters."""
    return legible(text) == text


def _legible_line(line: str) -> str:
    previous, marks = "", 0
    shown = []
    for character in line:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        hidden = marks > _MOST_MARKS or _is_hidden(character, previous)
        shown.append(f"⟨U+{ord(character):04X}⟩" if hidden else character)
        previous = character
    return "".join(shown)


def _is_hidden(character: str, previous: str) -> bool:
    if character in _JOINERS:
        # Persian, Indic scripts and emoji need joiners; after other characters they are only invisible.
        return previous.isascii() or previous in _JOINERS or _is_hidden(previous, "")
    if _VARIANTS.match(character):
        return character not in "\ufe0e\ufe0f" or not previous or unicodedata.category(previous) != "So"
    return character in BLANK or unicodedata.category(character) in _INVISIBLE_CATEGORIES
