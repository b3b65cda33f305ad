"""Uploaded pictures: what is taken, what comes out of it, and what is refused."""

import random
import struct
import zlib
from io import BytesIO
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from wallet import pictures
from wallet.pictures import PictureError, cleaned


def picture(
    size: tuple[int, int] = (800, 600), kind: str = "JPEG", mode: str = "RGB", **options: object
) -> bytes:
    """White, with a red quarter at the top left."""
    plain = Image.new("RGB", size, "white")
    plain.paste("red", (0, 0, size[0] // 2, size[1] // 2))
    image = plain.convert(mode)
    written = BytesIO()
    image.save(written, kind, **options)
    return written.getvalue()


def read(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


def with_exif(**tags: object) -> bytes:
    exif = Image.Exif()
    for tag, value in tags.items():
        exif[int(tag[1:])] = value
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)  # GPS latitude
    return picture(exif=exif)


@pytest.mark.parametrize(("kind", "mode"), [("JPEG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("WEBP", "RGB")])
def test_what_comes_out_is_a_jpeg_of_our_own(kind: str, mode: str) -> None:
    found = read(cleaned(picture(kind=kind, mode=mode)))
    assert (found.format, found.size, found.mode) == ("JPEG", (800, 600), "RGB")


def test_nothing_of_the_metadata_is_kept_and_the_picture_is_turned_upright() -> None:
    found = read(cleaned(with_exif(t274=6, t305="A phone", t40092="secret comment".encode("utf-16-le"))))
    assert found.size == (600, 800)
    assert not found.getexif()
    assert "exif" not in found.info
    assert found.getpixel((590, 10))[0] > 200
    assert found.getpixel((590, 10))[1] < 100  # red is where it belongs


def test_what_is_appended_or_hidden_in_a_picture_is_gone() -> None:
    archive = BytesIO()
    with ZipFile(archive, "w") as zipped:
        zipped.writestr("evil.html", "<script>alert(1)</script>" * 20)
    polyglot = picture(comment=b"<script>alert(2)</script>") + archive.getvalue()
    found = cleaned(polyglot)
    assert b"script" not in found
    assert b"PK" not in found[-200:]


def test_large_pictures_become_smaller() -> None:
    assert read(cleaned(picture((5000, 3000)))).size == (2400, 1440)


def test_what_can_be_seen_through_becomes_white() -> None:
    written = BytesIO()
    Image.new("RGBA", (400, 400), (0, 0, 0, 0)).save(written, "PNG")
    assert read(cleaned(written.getvalue())).getpixel((200, 200)) == (255, 255, 255)


def png(width: int, height: int) -> bytes:
    """A PNG that says it is this large, and is a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


def animated() -> bytes:
    written = BytesIO()
    frames = [Image.new("RGB", (400, 400), colour) for colour in ("red", "blue")]
    frames[0].save(written, "PNG", save_all=True, append_images=frames[1:])
    return written.getvalue()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "format"),
        (b"\0" * 50_000_000, "too_long"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "format"),
        (b"%PDF-1.7\n", "format"),
        (b"\0\0\0\x18ftypheic" + b"\0" * 100, "heic"),
        (picture(kind="GIF", mode="P"), "format"),
        (picture(kind="TIFF"), "format"),
        (picture(kind="BMP"), "format"),
        (picture()[:2000], "format"),
        (picture((200, 900)), "too_small"),
        (png(30_000, 30_000), "format"),
        (png(6000, 5000), "too_large"),
        (animated(), "format"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} bytes",
)
def test_everything_else_is_refused_with_a_reason(data: bytes, code: str) -> None:
    with pytest.raises(PictureError) as refused:
        cleaned(data)
    assert refused.value.code == code


@given(st.integers(0, 2**32), st.sampled_from(["JPEG", "PNG", "WEBP"]))
def test_a_damaged_picture_is_refused_or_comes_out_clean(seed: int, kind: str) -> None:
    chance = random.Random(seed)
    data = bytearray(picture((320, 320), kind))
    for _time in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    try:
        found = read(cleaned(bytes(data)))
    except PictureError:
        return
    assert (found.format, found.mode) == ("JPEG", "RGB")
    assert max(found.size) <= pictures.SIDE
