"""Encrypting an answer to a key of the relying party: `direct_post.jwt` (OpenID4VP 1.0 §8.3, HAIP §5). Pure.

ECDH-ES on P-256 straight to the content key (RFC 7518 §4.6), A256GCM before A128GCM.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jwcrypto import jwe, jwk

from infra import strict_json
from infra.strict_json import StrictJsonError
from keys.jwk import public_jwk, public_key_of
from presentation.errors import InvalidRequestError
from presentation.relying_parties.metadata.public_keys import ENCRYPTION, is_for_encryption

ALGORITHM = ENCRYPTION
METHODS = ("A256GCM", "A128GCM")  # the preferred one first
METHOD_LEFT_OUT = "A128GCM"  # the default (OpenID4VP 1.0 §8.3)
MOST_KEYS = 20


@dataclass(frozen=True)
class Recipient:
    """The key to encrypt to, and the content encryption method."""

    key: Mapping[str, str]  # kty, crv, x and y
    kid: str | None
    method: str

    def encrypt(self, members: Mapping[str, object]) -> str:
        """A compact JWE of the members as a JSON object."""
        header = {"alg": ALGORITHM, "enc": self.method} | ({"kid": self.kid} if self.kid else {})
        plain = json.dumps(dict(members), separators=(",", ":")).encode()
        token = jwe.JWE(plain, protected=json.dumps(header, separators=(",", ":")))
        token.add_recipient(jwk.JWK(**self.key))
        return str(token.serialize(compact=True))


def recipient(client_metadata: str | None, registered: Sequence[Mapping[str, Any]] = ()) -> Recipient:
    """The first usable key in the request's `client_metadata`, and the best method.

    Keys for other purposes are skipped (RFC 7517 §5). registered: keys to use if the request brings none.
    Raises InvalidRequestError.
    """
    try:
        metadata = strict_json.loads("{}" if client_metadata is None else client_metadata)
    except StrictJsonError as error:
        raise InvalidRequestError(f"client_metadata {error}") from None
    if not isinstance(metadata, dict):
        raise InvalidRequestError("client_metadata must be a JSON object")
    usable = [*_usable(metadata.get("jwks", {"keys": []})), *registered]
    if not usable:
        raise InvalidRequestError(
            "direct_post.jwt needs a public P-256 key with alg ECDH-ES, in client_metadata.jwks or registered"
        )
    return Recipient(public_jwk(public_key_of(usable[0])), usable[0].get("kid"), _method(metadata))


def _usable(jwks: Any) -> list[Mapping[str, Any]]:
    keys = jwks.get("keys") if isinstance(jwks, dict) else None
    if not isinstance(keys, list) or len(keys) > MOST_KEYS:
        raise InvalidRequestError(f"client_metadata.jwks must be a JWK set of at most {MOST_KEYS} keys")
    return [key for key in keys if is_for_encryption(key)]


def _method(metadata: Mapping[str, Any]) -> str:
    offered = metadata.get("encrypted_response_enc_values_supported", [METHOD_LEFT_OUT])
    for method in METHODS:
        if isinstance(offered, list) and method in offered:
            return method
    raise InvalidRequestError("encrypted_response_enc_values_supported must have A128GCM or A256GCM")
