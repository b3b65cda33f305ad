"""Stores every random text that the service makes, so that exactly these are masked and nothing else.

Nothing is made predictable by this: a mask hides one value, while with a seed every later value would change
when the code draws once more or once less.
"""

import base64
import re
import secrets
import uuid
from pathlib import Path
from typing import Any

from tests.forgery import Key, public_jwk

_made: dict[str, str] = {}  # random text: its replacement in the record
# A random text as a whole word in addresses, attributes, JSON, forms and e-mails.
_CANDIDATE = re.compile(r"[A-Za-z0-9_-]{6,}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_WEBHOOK_SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
_TEXTS = Path(__file__).parent / "texts"
_ROOT = Path(__file__).resolve().parents[2]
# Six digits that the record shows: a code that happened to be one of them would mask them. The guide and the
# playground are in it as hashes only.
_shown = {
    number
    for path in (*_TEXTS.rglob("*.txt"), *(_ROOT / "docs").glob("*.md"), *(_ROOT / "sandbox").rglob("*.py"))
    for number in re.findall(r"(?<!\d)\d{6}(?!\d)", path.read_text())
}


def install() -> None:
    """Must happen before the project is imported, because modules keep the functions they import."""
    from django.utils import crypto

    token_urlsafe, token_hex, randbelow = secrets.token_urlsafe, secrets.token_hex, secrets.randbelow
    token_bytes, random_string = secrets.token_bytes, crypto.get_random_string
    random_uuid = uuid.uuid4

    def remembered(text: str) -> str:
        _made[text] = _made[text.upper()] = f"‹{len(text)} random characters›"
        return text

    def below(limit: int) -> int:
        number = randbelow(limit)
        while limit == 1_000_000 and _shown & {f"{number:06}", f"{number + 1:06}"}:  # and its wrong code
            number = randbelow(limit)
        if limit == 1_000_000:
            _made[f"{number:06}"] = "‹code›"
        return number

    def in_hex(count: Any = None) -> str:
        made = remembered(token_hex(count))
        if len(made) == 32:  # the id of a request, which begins with its reference
            _made[made[:8].upper()] = "‹8 random characters›"
        return made

    def octets(count: Any = None) -> bytes:
        made = token_bytes(count)
        if 8 <= len(made) <= 64:
            remembered(base64.urlsafe_b64encode(made).rstrip(b"=").decode())
        return made

    def uuid4() -> uuid.UUID:
        made = random_uuid()
        _made[str(made)[:8]] = "‹beginning of an id›"  # lists of the admin show the first eight characters
        return made

    uuid.uuid4 = uuid4
    secrets.token_urlsafe = lambda count=None: remembered(token_urlsafe(count))
    secrets.token_hex = in_hex
    secrets.token_bytes = octets
    secrets.randbelow = below
    crypto.get_random_string = lambda *args, **more: remembered(random_string(*args, **more))


def secrets_made() -> list[str]:
    """Codes, tokens and the like, without what is in hexadecimal digits: ids, which logs may name."""
    kinds = re.compile(r"‹code›|‹(?:[2-9]\d|\d{3,}) random characters›")
    made = {text for text, shown in _made.items() if kinds.fullmatch(shown)}
    return sorted(text for text in made if len(text) == 6 or not _HEX.fullmatch(text))


def mask(text: str) -> str:
    """The text with every random text replaced by its length."""
    text = _WEBHOOK_SECRET.sub(lambda found: f"whsec_‹{len(found[0]) - 6} random characters›", text)
    return _CANDIDATE.sub(lambda found: _made.get(found[0], found[0]), text)


def jwk(key: Key) -> dict[str, str]:
    """The public half of a key of the table; its coordinates are masked in all answers."""
    made = in_order(public_jwk(key))
    _made[made["x"]] = _made[made["y"]] = "‹coordinate of a key›"
    return made


def in_order(members: dict[str, str]) -> dict[str, str]:
    """The members in PostgreSQL's order for stored JSON, so that SQLite gives the same pages."""
    return dict(sorted(members.items(), key=lambda member: (len(member[0]), member[0])))


def name(text: str, as_: str) -> None:
    """Replace this text by `as_` in the record from now on."""
    _made[text] = as_
