"""PNG files of any size."""

import zlib

PNG_BEGINS = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(width: int, height: int) -> bytes:
    """A complete PNG file, also of sizes that no browser would draw."""
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x01\0\0\0\0"  # one bit per pixel
    pixels = zlib.compress(bytes(min((width // 8 + 2) * height, 1_000_000)), 9)
    return PNG_BEGINS + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + b"\0\0\0\x20" * 2 + b"\x08\x06\0\0\0"  # 32 × 32 pixels
