"""The public keys of an OpenID provider (RFC 7517). Pure."""

from typing import Any

from jwcrypto.common import JWException
from jwcrypto.jwk import JWK

MOST = 100
SHORTEST_MODULUS = 342  # characters of base64url: 2048 bits

_KINDS = ("EC", "RSA")
_PREFIXES = {"ES": "EC", "RS": "RSA", "PS": "RSA"}  # of an `alg`: the `kty` that it needs


class KeySet:
    """The keys that can verify signatures. Keys of other kinds, and those that are faulty, are left out."""

    def __init__(self, document: Any) -> None:
        members = document.get("keys") if isinstance(document, dict) else None
        found = members[:MOST] if isinstance(members, list) else []
        self._keys = [(member, key) for member in found if (key := _key(member)) is not None]

    def fitting(self, kid: Any, algorithm: str) -> JWK | None:
        """The one key that a token with this header names; None if there is none, or no way to tell which."""
        fitting = [
            key
            for member, key in self._keys
            if member["kty"] == _PREFIXES.get(algorithm[:2])
            and member.get("alg", algorithm) == algorithm
            and (kid is None or member.get("kid") == kid)
        ]
        return fitting[0] if len(fitting) == 1 else None


def _key(member: Any) -> JWK | None:
    kind = member.get("kty") if isinstance(member, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS or member.get("use", "sig") != "sig":
        return None
    if kind == "RSA" and (not isinstance(member.get("n"), str) or len(member["n"]) < SHORTEST_MODULUS):
        return None
    public = {name: member[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in member}
    try:
        return JWK(**public)
    except (JWException, ValueError, TypeError, KeyError, AttributeError):
        return None
