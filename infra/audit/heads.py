"""Signed heads of the audit record, in files outside the database: with them a cut or rewritten end is found.

Each day has `audit-<day>.json`, the number and hash of its last line signed with Ed25519 (RFC 8032), and
`audit-<day>.jsonl`, the texts of its lines. The key is a PEM file (`AUDIT_KEY_FILE`) and signs nothing else.
"""

import json
import os
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import date
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from infra.audit.chain import Head, canonical
from infra.files import FileError, content

_LARGEST = 10_000  # bytes of a key or of a head
_HEADS = "audit-????-??-??.json"


class SignedHead(NamedTuple):
    """The head of the record at the end of a day, whose signature was verified."""

    day: date
    head: Head


def private_key(path: str) -> Ed25519PrivateKey:
    """The key that signs heads; raises FileError."""
    pem = content(path, most=_LARGEST)
    with suppress(ValueError, TypeError):
        key = load_pem_private_key(pem, password=None)
        if isinstance(key, Ed25519PrivateKey):
            return key
    raise FileError(f"{path} is not an Ed25519 private key in PEM without a passphrase.")


def public_key(path: str) -> Ed25519PublicKey:
    """The key that verifies heads, where the private key is not at hand; raises FileError."""
    pem = content(path, most=_LARGEST)
    with suppress(ValueError):
        key = load_pem_public_key(pem)
        if isinstance(key, Ed25519PublicKey):
            return key
    raise FileError(f"{path} is not an Ed25519 public key in PEM.")


def write(folder: Path, signed: SignedHead, key: Ed25519PrivateKey, texts: list[str]) -> None:
    """Writes the two files of the day; the head last, so that it never names lines that are not there."""
    signature = b64encode(key.sign(_payload(signed))).decode()
    values = {"day": signed.day.isoformat(), "hash": signed.head.hash, "seq": signed.head.seq}
    replace(folder / f"audit-{signed.day}.jsonl", "".join(f"{text}\n" for text in texts))
    replace(folder / f"audit-{signed.day}.json", canonical({**values, "signature": signature}) + "\n")


def read(folder: Path, key: Ed25519PublicKey) -> list[SignedHead]:
    """All signed heads of the folder, the oldest first; raises FileError when one is not signed."""
    return [_read(path, key) for path in sorted(folder.glob(_HEADS))]


def _read(path: Path, key: Ed25519PublicKey) -> SignedHead:
    try:
        values = json.loads(content(path, most=_LARGEST))
        signed = SignedHead(date.fromisoformat(values["day"]), Head(values["seq"], values["hash"]))
        key.verify(b64decode(values["signature"]), _payload(signed))
    except InvalidSignature:
        raise FileError(f"{path} is not signed with the audit key.") from None
    except (ValueError, LookupError, TypeError):
        raise FileError(f"{path} is not a signed head.") from None
    if path.name != f"audit-{signed.day}.json":
        raise FileError(f"{path} is the head of {signed.day}.")
    return signed


def _payload(signed: SignedHead) -> bytes:
    """What is signed. The first line keeps the signature from being good for anything else."""
    return f"audit-head\n{signed.day}\n{signed.head.seq}\n{signed.head.hash}\n".encode()


def replace(path: Path, content: str) -> None:
    """Writes the whole file or nothing; raises FileError."""
    try:
        with NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}.") from None
