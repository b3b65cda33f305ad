"""Pictures that people upload: known by their content, limited, and re-encoded. Pure.

What comes out is a JPEG of our own making: no metadata, no position, no appended archive, upright.
"""

import threading
import warnings
from io import BytesIO

from PIL import Image, ImageOps

LONGEST = 12 * 1024 * 1024  # bytes of one file
FORMATS = ("JPEG", "PNG", "WEBP")
# PNG and WebP are decoded at full size: 38 million pixels of WebP took 821 MiB.
MOST_PIXELS = {"JPEG": 40_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
SHORTEST_SIDE = 300
SIDE = 2400  # of what is kept
QUALITY = 85
_one_at_a_time = threading.Lock()  # for the same reason


class PictureError(ValueError):
    """The file is not taken; `code` says why: "too_long", "format", "heic", "too_large", "too_small"."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def cleaned(data: bytes) -> bytes:
    """The picture in `data` as a JPEG of at most SIDE × SIDE pixels. Raises `PictureError`."""
    if len(data) > LONGEST:
        raise PictureError("too_long")
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1"):
        raise PictureError("heic")
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # broken EXIF data warns
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            _check(data)
            return _encoded(data)
        except PictureError:
            raise
        except Exception as error:  # decoders raise errors of every kind for files that are none
            raise PictureError("format") from error


def _check(data: bytes) -> None:
    """Look at the header only, and at the structure."""
    with Image.open(BytesIO(data), formats=FORMATS) as picture:
        width, height = picture.size
        if width * height > MOST_PIXELS[str(picture.format)]:
            raise PictureError("too_large")
        if min(width, height) < SHORTEST_SIDE:
            raise PictureError("too_small")
        if getattr(picture, "n_frames", 1) > 1:
            raise PictureError("format")
        picture.verify()


def _encoded(data: bytes) -> bytes:
    with Image.open(BytesIO(data), formats=FORMATS) as picture:
        picture.draft("RGB", (SIDE, SIDE))  # a JPEG is decoded smaller at once
        picture.load()
        upright = ImageOps.exif_transpose(picture).convert("RGBA")
    upright.thumbnail((SIDE, SIDE))
    plain = Image.new("RGB", upright.size, "white")
    plain.paste(upright, mask=upright.getchannel("A"))
    written = BytesIO()
    plain.save(written, "JPEG", quality=QUALITY)
    return written.getvalue()
