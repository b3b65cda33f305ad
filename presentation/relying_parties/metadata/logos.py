"""Logos of relying parties: small pictures, whose type is read from their content, not from the upload."""

from collections.abc import Callable

from django.utils.translation import gettext_lazy as _

from infra.words import Words

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


Size = tuple[int, int]
_STANDALONE = {0x01, *range(0xD0, 0xD8)}  # JPEG markers without a length: TEM, RST0 to RST7
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15, without DHT, JPG and DAC
_SCAN, _END = 0xDA, 0xD9


def size(picture: bytes, content_type: str) -> Size | None:
    """Width and height in pixels; None when the header cannot be read, or when a side has no pixel."""
    read = _READERS.get(content_type)
    dimensions = read(picture) if read else None
    return dimensions if dimensions and min(dimensions) > 0 else None


def _png(picture: bytes) -> Size | None:
    """IHDR must be the first chunk, and no other chunk changes the size."""
    if len(picture) < 24 or picture[8:16] != b"\0\0\0\x0dIHDR":
        return None
    return _big(picture[16:20]), _big(picture[20:24])


def _jpeg(picture: bytes) -> Size | None:
    """The first frame header; thumbnails lie inside other segments, which are skipped whole."""
    at = 2
    while at + 4 <= len(picture) and picture[at] == 0xFF:
        marker = picture[at + 1]
        if marker == 0xFF or marker in _STANDALONE:  # a fill byte, or nothing follows
            at += 1 if marker == 0xFF else 2
            continue
        if marker in (0x00, 0xD8, _SCAN, _END):
            return None
        if marker in _FRAMES:
            head = picture[at + 5 : at + 9]
            return (_big(head[2:]), _big(head[:2])) if len(head) == 4 else None
        at += 2 + max(2, _big(picture[at + 2 : at + 4]))
    return None


def _webp(picture: bytes) -> Size | None:
    """The first chunk: lossy, lossless, or the canvas of an extended file, which contains all frames."""
    kind, data = picture[12:16], picture[20:30]
    if len(data) < 10:
        return None
    if kind == b"VP8 " and data[3:6] == b"\x9d\x01\x2a":
        return _little(data[6:8]) & 0x3FFF, _little(data[8:10]) & 0x3FFF
    if kind == b"VP8L" and data[0] == 0x2F:
        bits = _little(data[1:5])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return _little(data[4:7]) + 1, _little(data[7:10]) + 1
    return None


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


_READERS: dict[str, Callable[[bytes], Size | None]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
}
