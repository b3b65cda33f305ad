"""What a client signs: its requests (RFC 9101 §4) and assertions in the place of a secret (RFC 7523 §2.2)."""

import json
import secrets
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from credential_presentation.jose import encode

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFETIME = 300  # seconds


class ClientKey:
    """The private key whose public half is registered for a client."""

    def __init__(self, pem: str | bytes, key_id: str) -> None:
        """Raises `ValueError` if it is no unencrypted private key on P-256."""
        try:
            key = load_pem_private_key(pem.encode() if isinstance(pem, str) else pem, None)
        except Exception:  # of many kinds; none of them may repeat the text
            raise ValueError("private_key is no unencrypted private key as PEM") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
            raise ValueError("private_key is not on the curve P-256")
        self._key, self._key_id = key, key_id

    def pushed(self, parameters: Mapping[str, str], issuer: str, now: float) -> dict[str, str]:
        """The fields of a pushed request: who it is from, and the parameters, both signed (RFC 9126 §3)."""
        client_id = parameters["client_id"]
        times = {"iat": int(now), "exp": int(now) + LIFETIME, "aud": issuer, "iss": client_id}
        assertion = {"sub": client_id, "jti": secrets.token_urlsafe(24), **times}
        return {
            "client_id": client_id,
            "client_assertion_type": ASSERTION,
            "client_assertion": self._signed("client-authentication+jwt", assertion),
            "request": self._signed("oauth-authz-req+jwt", {**parameters, **times}),
        }

    def _signed(self, typ: str, claims: Mapping[str, object]) -> str:
        header = {"alg": "ES256", "typ": typ} | ({"kid": self._key_id} if self._key_id else {})
        text = ".".join(encode(json.dumps(part).encode()) for part in (header, claims))
        r, s = utils.decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(SHA256())))
        return f"{text}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
