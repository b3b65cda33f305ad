"""Encryption of a file by a passphrase: JWE (RFC 7516), PBES2-HS512+A256KW (RFC 7518 §4.8), A256GCM. Pure."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jwcrypto import jwa, jwe, jwk
from jwcrypto.common import JWException

from infra import base64url, strict_json

ALG, ENC = "PBES2-HS512+A256KW", "A256GCM"
ROUNDS = 600_000  # of PBKDF2 with HMAC-SHA-512: half a second each, which makes guessing slow
FEWEST_ROUNDS, MOST_ROUNDS = 200_000, 2_000_000
MAX_FILE = 4_000_000
SHORTEST, FEWEST_CHARACTERS = 20, 8


class BackupError(Exception):
    """A backup cannot be made or restored; the text is one sentence and names no secret."""


def require_strong(passphrase: str) -> None:
    """Raises BackupError for a passphrase that an attacker who has the file could guess."""
    if len(passphrase) < SHORTEST:
        raise BackupError(
            f"The passphrase is too short: use {SHORTEST} characters or more, such as five random words."
        )
    period = (passphrase + passphrase).find(passphrase, 1)
    if len(set(passphrase)) < FEWEST_CHARACTERS or period < len(passphrase):
        raise BackupError("The passphrase repeats itself; use five random words, for example.")


def lock(content: bytes, passphrase: str) -> str:
    """`content` as an encrypted JWE in compact form; raises BackupError when the passphrase is weak."""
    require_strong(passphrase)
    header = {"alg": ALG, "enc": ENC, "p2c": ROUNDS, "p2s": base64url.encode(os.urandom(16))}
    with _many_rounds():
        locked = jwe.JWE(content, json.dumps(header), algs=[ALG, ENC])
        locked.add_recipient(jwk.JWK.from_password(passphrase))
    return str(locked.serialize(compact=True))


def unlock(text: str, passphrase: str) -> bytes:
    """The decrypted content; raises BackupError when the text is no such file or the passphrase is wrong."""
    header = _header(text)
    rounds = header.get("p2c")
    if (
        header.keys() != {"alg", "enc", "p2c", "p2s"}
        or (header["alg"], header["enc"]) != (ALG, ENC)
        or type(rounds) is not int
        or not isinstance(header["p2s"], str)
        or not FEWEST_ROUNDS <= rounds <= MOST_ROUNDS
    ):
        raise BackupError("This is not a backup of keys, or it was changed.")
    locked = jwe.JWE(algs=[ALG, ENC])
    try:
        with _many_rounds():
            locked.deserialize(text, jwk.JWK.from_password(passphrase))
    except (JWException, ValueError, TypeError):
        reason = "The backup does not open: the passphrase is wrong, or the file was cut off or changed."
        raise BackupError(reason) from None
    return bytes(locked.payload)


def _header(text: str) -> dict[str, Any]:
    try:
        first, *rest = text.split(".")
        header = strict_json.read(base64url.decode(first))
        if len(rest) == 4 and isinstance(header, dict):
            return header
    except ValueError:
        pass
    raise BackupError("This is not a backup of keys, or it was cut off.")


@contextmanager
def _many_rounds() -> Iterator[None]:
    """Lets jwcrypto accept our many rounds, which `unlock` has checked; its own limit is lower."""
    before = jwa.default_max_pbkdf2_iterations
    jwa.default_max_pbkdf2_iterations = MOST_ROUNDS
    try:
        yield
    finally:
        jwa.default_max_pbkdf2_iterations = before
