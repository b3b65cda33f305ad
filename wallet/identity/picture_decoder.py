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
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from PIL import Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

# What may be in memory at once. PNG and WebP are decoded at full size, and so is a JPEG of several scans.
MOST_PIXELS = {"JPEG": 40_000_000, "PNG": 25_000_000, "WEBP": 25_000_000}
# A JPEG of one scan is decoded line by line, at an eighth of its size if need be. Phones take pictures of 200
# million pixels.
MOST_PIXELS_OF_ONE_SCAN = 250_000_000
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
# A picture whose values, of 255, differ by less than this in each band has nothing that a person could read.
# Samples of 12 bits that are stored as 16 without being scaled come out below it.
FAINTEST = 16
# A picture that can be seen through is laid on the first of these on which most of it stays visible. Green is
# for those that have black, white and grey at their edges, such as a face that was cut out.
BACKGROUNDS = ((255, 255, 255), (0, 0, 0), (128, 128, 128), (0, 160, 80))
TILES = 16  # in each direction; so finely is looked at what stays visible
SMALL = 800  # pixels of the longer side of a picture that is only looked at
_PNG, _JPEG, _RIFF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"RIFF"
# A JPEG marker with a length after it, or the end; others are of no interest. In the data of a scan, 0 stands
# after 0xFF. 0xFF may be repeated before a marker (ITU-T T.81 §B.1.1.2).
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
_SCAN, _END = 0xDA, 0xD9
_MORE_DATA = b"\x35\xa7" * 500  # of a scan; without a marker


class RefusedError(Exception):
    """The picture is not taken; the text says why, as the `code` of
    `wallet.identity.picture_encoding.PictureError`.
    """


def scans(jpeg: bytes) -> int:
    """The scans of the first picture in the file (ITU-T T.81 §B.2): what lies in other segments is skipped.

    Never fewer than a decoder goes over: it looks for the next marker in the same way.
    """
    return sum(code == _SCAN for code, _at in _markers(jpeg))


def _markers(jpeg: bytes) -> Iterator[tuple[int, int]]:
    """The markers of the first picture in the file and where they are; the last is its end if it has one."""
    at = 0
    while marker := _MARKER.search(jpeg, at):
        code = marker[1][0]
        yield code, marker.start()
        if code == _END:
            return
        at = marker.end() + int.from_bytes(jpeg[marker.end() : marker.end() + 2], "big")


def ends_early(data: bytes) -> bool:
    """Whether this begins as a JPEG, PNG or WebP picture, and the end of the file is missing."""
    if data.startswith(_JPEG):
        return _end(data) is None
    if data.startswith(_PNG[:4]):
        return not _has_png_end(data)
    if data.startswith(_RIFF) and b"WEBP".startswith(data[8:12]):
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    return False


def _end(jpeg: bytes) -> int | None:
    """Where the marker for the end of the picture is."""
    return next((at for code, at in _markers(jpeg) if code == _END), None)


def _has_png_end(png: bytes) -> bool:
    """Whether the chunks go on to an IEND that is complete (PNG third edition §5.3 and §11.2.5)."""
    at = len(_PNG)
    while at + 12 <= len(png):
        if png[at + 4 : at + 8] == b"IEND":
            return True
        at += 12 + int.from_bytes(png[at : at + 4], "big")
    return False


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
        return b"incomplete" if ends_early(data) else b"format"


def _opened(data: bytes) -> Image.Image:
    """The picture; the first of a JPEG that contains several (MPO), as phones write it."""
    if data.startswith(_JPEG):
        return JpegImageFile(BytesIO(data))
    return Image.open(BytesIO(data), formats=("PNG", "WEBP"))


def _check(data: bytes) -> None:
    """Look at the header only, and at the structure."""
    with _opened(data) as picture:
        width, height = picture.size
        if width * height > _most_pixels(picture, data):
            raise RefusedError("too_large")
        if min(width, height) < SHORTEST_SIDE:
            raise RefusedError("too_small")
        if getattr(picture, "n_frames", 1) > 1:
            raise RefusedError("format")
        if picture.format == "JPEG" and scans(data) > MOST_SCANS:
            raise RefusedError("too_costly")
        picture.verify()


def _most_pixels(picture: Image.Image, data: bytes) -> int:
    if picture.format == "JPEG" and "progressive" not in picture.info and scans(data) == 1:
        return MOST_PIXELS_OF_ONE_SCAN
    return MOST_PIXELS[str(picture.format)]


def _encoded(data: bytes) -> bytes:
    with _opened(data) as picture:
        largest = max(SIDE, *picture.size)
        fitting = tuple(max(1, side * SIDE // largest) for side in picture.size)
        picture.draft("RGB", (fitting[0], fitting[1]))  # a JPEG is decoded smaller at once
        picture.load()
        if picture.format == "JPEG" and _is_filled_up(picture, data):
            raise RefusedError("incomplete")
        is_deep = data.startswith(_PNG) and data[24] == 16  # IHDR is the first chunk
        colours = _of_eight_bits(_upright(picture), is_deep=is_deep)
        varies = _spread(colours if picture.mode == "P" else picture) >= FAINTEST
    colours.thumbnail((SIDE, SIDE))
    can_lose = varies or is_deep or _can_be_seen_through(colours)
    plain = _laid_on_a_background(colours) if _can_be_seen_through(colours) else colours.convert("RGB")
    if can_lose and _spread(_small(plain)) < FAINTEST:
        raise RefusedError("blank")
    plain.info.clear()  # a comment would be written again
    written = BytesIO()
    plain.save(written, "JPEG", quality=QUALITY)
    return written.getvalue()


def _is_filled_up(picture: Image.Image, jpeg: bytes) -> bool:
    """Whether data is missing in the scan, although the file has its end.

    Decoders fill the rest of such a picture with grey, and report nothing that Pillow passes on. Whether the
    data was enough shows when there is more of it: then a decoder that has all lines skips the rest, and one
    that has not decodes it. That is tried where the last line is of one colour.
    """
    width, height = picture.size
    end = _end(jpeg)
    if end is None or _spread(picture.crop((0, height - 1, width, height))) > 0:
        return False
    return _roughly(jpeg) != _roughly(jpeg[:end] + _MORE_DATA + jpeg[end:])


def _roughly(jpeg: bytes) -> bytes:
    """The samples of the picture, decoded as small as possible."""
    with JpegImageFile(BytesIO(jpeg)) as picture:
        picture.draft("RGB", (1, 1))
        return picture.tobytes()


def _upright(picture: Image.Image) -> Image.Image:
    """The picture as its EXIF orientation says; as it lies if that cannot be read."""
    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # a broken entry raises errors of every kind, and the picture itself is good
        return picture


def _of_eight_bits(picture: Image.Image, *, is_deep: bool) -> Image.Image:
    """The picture in RGB, or in RGBA if it can be seen through.

    Pillow cuts grey samples of 16 bits off at 255 when it converts them, so that nearly all become white, and
    compares a transparent colour of 16 bits with samples of eight. So the upper byte is taken here (PNG third
    edition §12.4, where 65535 is white), and such a colour is not transparent.
    """
    if picture.mode == "I;16":
        picture = Image.frombytes("L", picture.size, picture.tobytes()[1::2])  # little-endian
    if is_deep:
        picture.info.pop("transparency", None)
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _can_be_seen_through(picture: Image.Image) -> bool:
    """Whether a pixel is not opaque."""
    return picture.mode == "RGBA" and picture.getchannel("A").getextrema() != (255, 255)


def _laid_on_a_background(picture: Image.Image) -> Image.Image:
    """The picture on the background of BACKGROUNDS on which most of it is visible; white if several are.

    The picture is looked at in tiles. What is visible of a tile differs with the background: white ink is
    gone on white. A tile stays visible if it keeps a third of the contrast that it has on the best
    background. The colour of pixels that are fully transparent is not looked at, and never shown: people
    delete in this way what nobody is meant to see. Raises `RefusedError` if a quarter of the tiles are lost.
    """
    small = _small(picture)
    contrasts = {colour: _contrasts(_on(colour, small)) for colour in BACKGROUNDS}
    best = [max(of_tile) for of_tile in zip(*contrasts.values(), strict=True)]
    with_content = [tile for tile, contrast in enumerate(best) if contrast >= FAINTEST]

    def visible(colour: tuple[int, int, int]) -> int:
        return sum(contrasts[colour][tile] * 3 >= best[tile] for tile in with_content)

    chosen = max(BACKGROUNDS, key=visible)
    if visible(chosen) * 4 < len(with_content) * 3:
        raise RefusedError("blank")
    return _on(chosen, picture)


def _on(colour: tuple[int, int, int], picture: Image.Image) -> Image.Image:
    plain = Image.new("RGB", picture.size, colour)
    plain.paste(picture, mask=picture.getchannel("A"))
    return plain


def _contrasts(picture: Image.Image) -> list[int]:
    """The spread of each tile and of half a tile around it, so that no edge lies between two of them."""
    width, height = picture.size
    across, down = width / TILES, height / TILES

    def tile(x: int, y: int) -> tuple[int, int, int, int]:
        left, upper = max(0, int((x - 0.5) * across)), max(0, int((y - 0.5) * down))
        return left, upper, min(width, int((x + 1.5) * across) + 1), min(height, int((y + 1.5) * down) + 1)

    return [_spread(picture.crop(tile(x, y))) for x in range(TILES) for y in range(TILES)]


def _small(picture: Image.Image) -> Image.Image:
    """A smaller copy, in which single pixels that differ from all around them count for little."""
    return picture.reduce(max(1, -(-max(picture.size) // SMALL)))


def _spread(picture: Image.Image) -> int:
    """How far the values of a band lie apart, in the band in which they do most."""
    extrema = picture.getextrema()
    bands = extrema if isinstance(extrema[0], tuple) else (extrema,)
    return max(int(high - low) for low, high in bands)


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
