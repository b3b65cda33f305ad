"""Logos of relying parties: small pictures, whose type is read from their content, not from the upload."""

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.relying_parties.metadata.picture_size import size

LARGEST = 64 * 1024
# Pixels of either side. A file of a few kilobytes can hold 20,000 × 20,000 pixels, and the holder's browser
# would need 1.6 GB of memory to show them.
WIDEST = 2048


def content_type(picture: bytes) -> str:
    """The media type of a PNG, JPEG or WebP picture by its first bytes (WHATWG MIME Sniffing §6.1), or ""."""
    if picture.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if picture.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if picture[:4] == b"RIFF" and picture[8:14] == b"WEBPVP":
        return "image/webp"
    return ""


def problem_with(picture: bytes) -> Words | None:
    """Why this picture cannot be a logo; None if it can."""
    if len(picture) > LARGEST:
        return _("The logo is too large: 64 kB at most.")
    sides = size(picture, content_type(picture))
    if sides is None:
        return _("The logo must be a PNG, JPEG or WebP picture.")
    if max(sides) > WIDEST:
        return _("The logo has too many pixels: at most 2048 in width and 2048 in height.")
    return None


def is_shown(picture: bytes) -> bool:
    """Whether holders see the logo. One that was stored before a rule existed may break the rule."""
    return bool(picture) and problem_with(picture) is None
