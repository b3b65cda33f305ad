"""Signs and verifies whole tokens, for tests."""

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from keys.jws import encode_segment, sign_segments, take_apart
from keys.private_keys.signer import Signer


def sign_compact(header: Mapping[str, Any], payload: Mapping[str, Any], signer: Signer) -> str:
    return sign_segments(encode_segment(header), encode_segment(payload), signer)


def verify_compact(token: str, public_key: ec.EllipticCurvePublicKey, *, typ: str) -> dict[str, Any]:
    return take_apart(token).verified(public_key, typ=typ)
