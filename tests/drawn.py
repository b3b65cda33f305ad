"""Takes ids and tokens out of a text. What is drawn at random contains any short word sooner or later.

A test that looks for an id, a hash or a token itself looks in the whole text.
"""

import re

# Ids and the eight characters with which they begin, CSRF and hexadecimal tokens, and base64url of 16 or 32
# octets.
DRAWN = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?<![\w-])(?:[A-Za-z0-9]{32,}|(?=\d*[a-fA-F])[0-9a-fA-F]{8}|[\w-]{22}|[\w-]{43})(?![\w-])",
    re.ASCII,
)


def without_drawn(text: str) -> str:
    return DRAWN.sub("", text)
