"""Names of people, as documents and other services write them. Pure.

Somebody with one name has either a given or a family name, and nothing for the other. What stands there
instead differs: nothing (OpenID Connect Core 1.0 §5.3.2), an empty text, or something to fill the field.
docs/decisions/0021-one-name.md says what the credential says then.
"""

import re
import unicodedata
from typing import Any

# Written where there is no name, and a name in no language. Others that are also names, such as “None” and
# “Null”, or that a passport has as the name, such as “FNU”, stay.
_FILLER = re.compile("x{3,}|n/a", re.IGNORECASE)
_INVISIBLE = "\u115f\u1160\u3164\uffa0"  # letters of Hangul that only fill a place


def name(written: Any) -> str:
    """The name in our form: composed, with single spaces; "" if this says that there is none.

    Without a letter it is no name: “-” and “.” fill a field. Raises ValueError for what is no text.
    """
    if written is None:
        return ""
    if not isinstance(written, str):
        raise ValueError("a name is not a text")
    ours = " ".join(unicodedata.normalize("NFC", written).split())
    has_letter = any(letter.isalpha() and letter not in _INVISIBLE for letter in ours)
    return ours if has_letter and not _FILLER.fullmatch(ours) else ""


def is_left_out(written: Any) -> bool:
    """Whether this says that there is no such name; what makes no sense does not say that."""
    return written is None or (isinstance(written, str) and not name(written))
