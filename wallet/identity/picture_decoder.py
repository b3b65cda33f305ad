"""A program that decodes one picture: from standard input to a JPEG on standard output, within hard limits.

`wallet.identity.picture_encoding` starts it. What a picture costs is chosen by whoever made the file, and a
decoder in C can neither be interrupted nor be given limits of its own in a thread. So it has a process, which
knows no secret and imports nothing of the service.
"""

import os
import re
import resource
import sys
import warnings
from contextlib import suppress
from io import BytesIO

from PIL import Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

# PNG and WebP are decoded at full size.
MOST_PIXELS = {"JPEG": 40_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
# Each scan of a JPEG goes over all of its pixels, even if it has no data. Progressive files have about ten.
MOST_SCANS = 32
SHORTEST_SIDE = 300
SIDE = 2400  # of what is kept
QUALITY = 85
LIMITS = {
    resource.RLIMIT_CPU: 10,  # seconds
    resource.RLIMIT_AS: 768 * 1024 * 1024,  # bytes; 25 million pixels of WebP need 550 MiB
    resource.RLIMIT_CORE: 0,  # a core file would hold the picture, unsealed
    resource.RLIMIT_FSIZE: 0,
}
# A JPEG marker with a length after it, or the end; others are of no interest. In the data of a scan, 0 stands
# after 0xFF. 0xFF may be repeated before a marker (ITU-T T.81 §B.1.1.2).
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
_SCAN, _END = 0xDA, 0xD9


class RefusedError(Exception):
    """The picture is not taken; the text says why, as the `code` of
    `wallet.identity.picture_encoding.PictureError`.
    """


def scans(jpeg: bytes) -> int:
    """The scans of the first picture in the file (ITU-T T.81 §B.2): what lies in other segments is skipped.

    Never fewer than a decoder goes over: it looks for the next marker in the same way.
    """
    count, at = 0, 0
    while (marker := _MARKER.search(jpeg, at)) and (code := marker[1][0]) != _END:
        count += code == _SCAN
        at = marker.end() + int.from_bytes(jpeg[marker.end() : marker.end() + 2], "big")
    return count


def answer(data: bytes) -> bytes:
    """A line with "ok" and a JPEG of at most SIDE × SIDE pixels, or a `code` of `PictureError`."""
    try:
        _check(data)
        return b"ok\n" + _encoded(data)
    except RefusedError as refused:
        return str(refused).encode()
    except MemoryError:
        return b"too_costly"
    except Exception:  # decoders raise errors of every kind for files that are none
        return b"format"


def _opened(data: bytes) -> Image.Image:
    """The picture; the first of a JPEG that contains several (MPO), as phones write it."""
    if data.startswith(b"\xff\xd8"):
        return JpegImageFile(BytesIO(data))
    return Image.open(BytesIO(data), formats=("PNG", "WEBP"))


def _check(data: bytes) -> None:
    """Look at the header only, and at the structure."""
    with _opened(data) as picture:
        width, height = picture.size
        if width * height > MOST_PIXELS[str(picture.format)]:
            raise RefusedError("too_large")
        if min(width, height) < SHORTEST_SIDE:
            raise RefusedError("too_small")
        if getattr(picture, "n_frames", 1) > 1:
            raise RefusedError("format")
        if picture.format == "JPEG" and scans(data) > MOST_SCANS:
            raise RefusedError("too_costly")
        picture.verify()


def _encoded(data: bytes) -> bytes:
    with _opened(data) as picture:
        picture.draft("RGB", (SIDE, SIDE))  # a JPEG is decoded smaller at once
        picture.load()
        upright = ImageOps.exif_transpose(picture).convert("RGBA")
    upright.thumbnail((SIDE, SIDE))
    plain = Image.new("RGB", upright.size, "white")
    plain.paste(upright, mask=upright.getchannel("A"))
    written = BytesIO()
    plain.save(written, "JPEG", quality=QUALITY)
    return written.getvalue()


def main() -> None:
    """Sets LIMITS, or lower ones that are set already, and decodes."""
    for kind, most in LIMITS.items() if sys.platform == "linux" else ():  # macOS does not have all of them
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    warnings.simplefilter("ignore")  # broken EXIF data warns
    Image.MAX_IMAGE_PIXELS = None  # MOST_PIXELS takes its place
    with suppress(OSError):  # deploy/systemd forbids it
        os.nice(10)  # pages go first
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
