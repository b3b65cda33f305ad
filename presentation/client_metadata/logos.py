"""Logos of relying parties: small pictures, known by their content, not by what an upload says of them."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LARGEST = 64 * 1024


def content_type(picture: bytes) -> str:
    """The media type of a PNG, JPEG or WebP picture by its first bytes (WHATWG MIME Sniffing §6.1), or ""."""
    if picture.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if picture.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if picture[:4] == b"RIFF" and picture[8:14] == b"WEBPVP":
        return "image/webp"
    return ""


def problem_with(picture: bytes) -> "StrOrPromise | None":
    """Why this cannot be a logo, or None if it can."""
    if len(picture) > LARGEST:
        return _("The logo is too large: 64 kB at most.")
    if not content_type(picture):
        return _("The logo must be a PNG, JPEG or WebP picture.")
    return None
