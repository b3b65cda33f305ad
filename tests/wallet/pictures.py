"""Pictures to upload: ordinary ones, costly ones, and kinds that few programs write."""

import struct
import sys
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from wallet.identity import picture_decoder, picture_encoding


def file(data=None, name="p.jpg"):
    """The picture as a form uploads it."""
    return SimpleUploadedFile(name, picture() if data is None else data, "image/jpeg")


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


def png(
    width: int, height: int, *, bits: int = 8, colours: int = 2, lines: bytes = b"", **more: bytes
) -> bytes:
    """A PNG of these samples; without any, it says it is this large, and is a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colours, 0, 0, 0)),
        *((name.encode(), data) for name, data in more.items()),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks)


def costly(size: int = 6300, more: int = 1640) -> bytes:
    """A progressive JPEG with empty scans at its end, each of which goes over all pixels."""
    progressive = picture((size, size), mode="L", progressive=True)
    return progressive[:-2] + b"\xff\xda\0\x08\x01\x01\0\x01\x3f\0" * more + progressive[-2:]


GREY, GREY_ALPHA, RGB, RGBA = 0, 4, 2, 6  # colour types of PNG (third edition §11.2.2)


def deep(colours: int, dark: tuple[int, ...], light: tuple[int, ...], **more: bytes) -> bytes:
    """A PNG with samples of 16 bits: dark at the left, light at the right."""
    half = [struct.pack(f">{len(pixel)}H", *pixel) * 200 for pixel in (dark, light)]
    return png(400, 400, bits=16, colours=colours, lines=(b"\0" + half[0] + half[1]) * 400, **more)


def decoder(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Changes the decoder before it begins."""
    folder = str(Path(picture_decoder.__file__).parent)
    program = ["import sys", f"sys.path.append({folder!r})", "import picture_decoder as d, os, resource"]
    text = "\n".join([*program, *lines, "d.main()"])
    monkeypatch.setattr(picture_encoding, "_DECODER", (sys.executable, "-I", "-B", "-c", text))
