"""Makes characters visible that are invisible or change the order of other characters. Pure.

The consent page shows text from a relying party; people must not read it differently from what is signed
(Unicode TR 36 §2.10; OpenID4VP 1.0 §15, untrusted input).
"""

import re
import unicodedata

# Letters and marks that are invisible although their category says otherwise.
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINER = "\u200d"
_JOINERS = ("\u200c", _JOINER)
# Variation selectors choose a variant of the previous character. Two of them, for text and for a picture, are
# part of emoji (UTS #51 §1.4.2); after other characters they are only invisible.
_VARIANTS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_AS_PICTURE = "\ufe0f"
_EMOJI_VARIANTS = ("\ufe0e", _AS_PICTURE)
# Emoji whose category is not that of symbols (So): ‼ ⁉ ℹ ↔ ◻ ◼ ◽ ◾ ⤴ ⤵ 〰 〽.
_OTHER_PICTURES = frozenset("\u203c\u2049\u2139\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030\u303d")
# Each version of Unicode adds emoji here, which an older Python takes for unassigned. A browser draws them,
# or a box in their place.
_NEW_PICTURES = re.compile("[\U0001f000-\U0001faff]")
_KEYCAP, _ON_KEYCAPS = "\u20e3", frozenset("0123456789#*")
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
    for position, character in enumerate(line):
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        following = line[position + 1 : position + 2]
        hidden = marks > _MOST_MARKS or _is_hidden(character, previous, following)
        shown.append(f"⟨U+{ord(character):04X}⟩" if hidden else character)
        previous = "" if hidden else character
    return "".join(shown)


def _is_hidden(character: str, previous: str, following: str) -> bool:
    """Whether nobody would see this character.

    previous: the character before it, empty if that is hidden. following: the one after it. Each is empty at
    an end of the line.
    """
    if character in _JOINERS:
        # Persian, Indic scripts and emoji need joiners; after other characters they are only invisible.
        if previous in _EMOJI_VARIANTS:
            return (previous, character) != (_AS_PICTURE, _JOINER)
        return previous.isascii() or previous in _JOINERS
    if _VARIANTS.match(character):
        on_keycap = previous in _ON_KEYCAPS and following == _KEYCAP
        return character not in _EMOJI_VARIANTS or not (on_keycap or _is_picture(previous))
    if _NEW_PICTURES.match(character):
        return False
    return character in BLANK or unicodedata.category(character) in _INVISIBLE_CATEGORIES


def _is_picture(character: str) -> bool:
    """Whether this can be an emoji by itself. Takes an empty text, too."""
    if not character:
        return False
    category = unicodedata.category(character)
    is_new = category == "Cn" and _NEW_PICTURES.match(character)
    return category == "So" or character in _OTHER_PICTURES or bool(is_new)
