"""Reads what a browser posts of a passkey: `PublicKeyCredential.toJSON()` (WebAuthn Level 3 §5.1). Pure.

Only the form is checked here. `registration` and `assertion` verify the content.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from webauthn.helpers import parse_cbor
from webauthn.helpers.exceptions import InvalidCBORData

from infra import base64url, strict_json
from infra.base64url import Base64urlError
from infra.strict_json import StrictJsonError
from wallet.passkeys.errors import UnreadableError

MOST_CHARACTERS = 16_384  # about ten times of what authenticators send
MOST_BYTES = {
    "rawId": 1023,  # §4, "credential ID"
    "userHandle": 64,  # §4, "user handle"
    "clientDataJSON": 4096,
    "authenticatorData": 2048,
    "signature": 1024,
    "attestationObject": 8192,
}
# CBOR (RFC 8949 §3): the bytes of a number that is not in the first byte, and the least that needs them.
_LONG_NUMBERS = {24: (1, 24), 25: (2, 1 << 8), 26: (4, 1 << 16), 27: (8, 1 << 32)}
AUTHENTICATOR_DATA = range(37, 6145)  # bytes in an attestation object (§6.1); the longest keys have 2592
TRANSPORTS = ("ble", "hybrid", "internal", "nfc", "smart-card", "usb")  # §5.8.4


@dataclass(frozen=True)
class PostedKey:
    """The answer to `navigator.credentials.create`."""

    credential_id: bytes
    challenge: bytes
    client_data: bytes
    attestation_object: bytes
    transports: tuple[str, ...]
    attached: bool  # whether the authenticator is part of the device in which the browser runs


@dataclass(frozen=True)
class PostedAssertion:
    """The answer to `navigator.credentials.get`."""

    credential_id: bytes
    challenge: bytes
    client_data: bytes
    authenticator_data: bytes
    signature: bytes
    user_handle: bytes | None


def read_key(text: str) -> PostedKey:
    """A new passkey; raises `UnreadableError`."""
    members, response = _parts(text)
    client_data = _bytes(response, "clientDataJSON")
    return PostedKey(
        credential_id=_bytes(members, "rawId"),
        challenge=_challenge(client_data, "webauthn.create"),
        client_data=client_data,
        attestation_object=_attestation_object(response),
        transports=_transports(response.get("transports")),
        attached=members.get("authenticatorAttachment") == "platform",
    )


def read_assertion(text: str) -> PostedAssertion:
    """A signature by a passkey; raises `UnreadableError`."""
    members, response = _parts(text)
    client_data = _bytes(response, "clientDataJSON")
    authenticator_data = _bytes(response, "authenticatorData")
    check_authenticator_data(authenticator_data)
    return PostedAssertion(
        credential_id=_bytes(members, "rawId"),
        challenge=_challenge(client_data, "webauthn.get"),
        client_data=client_data,
        authenticator_data=authenticator_data,
        signature=_bytes(response, "signature"),
        user_handle=_bytes(response, "userHandle") if response.get("userHandle") else None,
    )


def check_authenticator_data(data: bytes) -> None:
    """Raises `UnreadableError` for CBOR in it (§6.1) that no authenticator makes.

    Numbers that are not in their shortest form, and floats, would let py_webauthn begin to read amid a
    string, because it takes the length of what it decoded from a new encoding.
    """
    with_key = len(data) > 32 and data[32] & 0x40
    _check_cbor(data, 55 + int.from_bytes(data[53:55], "big") if with_key else 37, shortest=True)


def _check_cbor(data: bytes, at: int = 0, *, shortest: bool = False) -> None:
    """Refuses tags, as CTAP2 does (CTAP 2.1 §8), before a decoder reads them.

    By tags, 620 bytes could refer to their own parts so often that decoding would not end.
    """
    while at < len(data):
        kind, number = divmod(data[at], 32)
        width, least = _LONG_NUMBERS.get(number, (0, 0))
        value = int.from_bytes(data[at + 1 : at + 1 + width], "big") if width else number
        if kind == 6 or number > 27 or (shortest and (value < least or (kind == 7 and width))):
            raise UnreadableError("CBOR that no authenticator makes")
        at += 1 + width + (value if kind in (2, 3) else 0)


def _parts(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The whole object and its member `response`."""
    if len(text) > MOST_CHARACTERS:
        raise UnreadableError("too long")
    members = _object(text)
    response = members.get("response")
    if members.get("type") != "public-key" or not isinstance(response, dict):
        raise UnreadableError("not a public-key credential")
    return members, response


def _challenge(client_data: bytes, kind: str) -> bytes:
    """The challenge in the client data (§5.8.1), which must be of this kind and of no framed page."""
    try:
        members = _object(client_data.decode())
    except UnicodeDecodeError:
        raise UnreadableError("the client data is not UTF-8") from None
    if members.get("type") != kind:
        raise UnreadableError(f"the client data is not of {kind}")
    if members.get("crossOrigin", False) is not False or "topOrigin" in members:
        raise UnreadableError("the page was framed by another origin")
    return _decoded(members.get("challenge"), "challenge", 64)


def _object(text: str) -> dict[str, Any]:
    try:
        members = strict_json.loads(text, deepest=10)
    except StrictJsonError:
        raise UnreadableError("not JSON") from None
    if not isinstance(members, dict):
        raise UnreadableError("not an object")
    return members


def _bytes(members: Mapping[str, Any], name: str) -> bytes:
    return _decoded(members.get(name), name, MOST_BYTES[name])


def _attestation_object(members: Mapping[str, Any]) -> bytes:
    """An attestation object (§6.5.4) with authenticator data.

    The library converts `authData` with `bytes()`, which makes as many zeros as a number says.
    """
    encoded = _bytes(members, "attestationObject")
    _check_cbor(encoded)
    decoded = None
    with suppress(InvalidCBORData):
        decoded = parse_cbor(encoded)
    data = decoded.get("authData") if isinstance(decoded, dict) else None
    if not isinstance(data, bytes) or len(data) not in AUTHENTICATOR_DATA:
        raise UnreadableError("the attestation object has no authenticator data")
    check_authenticator_data(data)
    return encoded


def _decoded(value: object, name: str, most: int) -> bytes:
    try:
        decoded = base64url.decode(value) if isinstance(value, str) else b""
    except Base64urlError:
        raise UnreadableError(f"{name} is not base64url") from None
    if not 0 < len(decoded) <= most:
        raise UnreadableError(f"{name} is missing, empty or longer than {most} bytes")
    return decoded


def _transports(value: object) -> tuple[str, ...]:
    """Those that we know; browsers may add others."""
    return tuple(name for name in TRANSPORTS if isinstance(value, list) and name in value)
