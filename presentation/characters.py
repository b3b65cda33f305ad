"""Characters people cannot see, or that change the order in which they see others, made visible.

Text from a relying application stands on the consent page; it must not read differently from what is
signed (Unicode TR 36 §2.10; OpenID4VP 1.0 §15, untrusted input).
"""

import unicodedata

# Letters and marks that show as nothing although their category says otherwise.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"


def legible(text: str, *, keep_lines: bool = False) -> str:
    """The text with every invisible or reordering character written out, as in `⟨U+202E⟩`.

    Line breaks become `↵`, or stay where `keep_lines` says the place can show them.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return ("\n" if keep_lines else " ↵ ").join(_legible_line(line) for line in lines)


def is_legible(text: str) -> bool:
    """Whether the text is one line of characters that can all be seen."""
    return legible(text) == text


def _legible_line(line: str) -> str:
    previous = ""
    shown = []
    for character in line:
        shown.append(f"⟨U+{ord(character):04X}⟩" if _is_hidden(character, previous) else character)
        previous = character
    return "".join(shown)


def _is_hidden(character: str, previous: str) -> bool:
    if character in _JOINERS:
        # Persian, Indic scripts and emoji need joiners; after anything else they only hide.
        return previous.isascii() or previous in _JOINERS or _is_hidden(previous, "")
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE_CATEGORIES
