"""An authenticator in software: makes passkeys, and signs with them, as browsers post it (WebAuthn §6)."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field, replace
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from infra import base64url

PRESENT, VERIFIED, CAN_BACK_UP, BACKED_UP, HAS_KEY = 0x01, 0x04, 0x08, 0x10, 0x40


@dataclass
class Authenticator:
    """One passkey. Its fields can be changed to make what an attacker or a broken device would send."""

    origin: str
    rp_id: str = "localhost"
    flags: int = PRESENT | VERIFIED
    sign_count: int = 0  # of the next signature
    transports: tuple[str, ...] = ("internal",)
    attachment: str = "platform"
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: bytes = b""
    client_data: dict[str, Any] = field(default_factory=dict)  # further members, or other values

    def changed(self, **fields: Any) -> "Authenticator":
        """A copy with the same key that differs in these fields."""
        return replace(self, **fields)

    def create(self, options: dict[str, Any]) -> str:
        """What a browser posts after `navigator.credentials.create`."""
        self.user_handle = base64url.decode(options["user"]["id"])
        data = self._data(self.flags | HAS_KEY) + bytes(16)  # no AAGUID
        data += len(self.credential_id).to_bytes(2, "big") + self.credential_id + self._cose_key()
        attestation = {"fmt": "none", "attStmt": {}, "authData": data}
        response = {
            "clientDataJSON": base64url.encode(self._client_data("webauthn.create", options)),
            "attestationObject": base64url.encode(cbor2.dumps(attestation)),
            "transports": list(self.transports),
        }
        return self._posted(response)

    def get(self, options: dict[str, Any]) -> str:
        """What a browser posts after `navigator.credentials.get`."""
        client_data = self._client_data("webauthn.get", options)
        data = self._data(self.flags)
        signed = data + hashlib.sha256(client_data).digest()
        response = {
            "clientDataJSON": base64url.encode(client_data),
            "authenticatorData": base64url.encode(data),
            "signature": base64url.encode(self.key.sign(signed, ec.ECDSA(hashes.SHA256()))),
            "userHandle": base64url.encode(self.user_handle) if self.user_handle else None,
        }
        return self._posted(response)

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        members = {"type": kind, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps({**members, "crossOrigin": False, **self.client_data}).encode()

    def _data(self, flags: int) -> bytes:
        digest = hashlib.sha256(self.rp_id.encode()).digest()
        return digest + bytes([flags]) + self.sign_count.to_bytes(4, "big")

    def _cose_key(self) -> bytes:
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def _posted(self, response: dict[str, Any]) -> str:
        name = base64url.encode(self.credential_id)
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "authenticatorAttachment": self.attachment,
                "clientExtensionResults": {},
                "response": response,
            }
        )
