"""The examples of RFC 9901."""

import json
from pathlib import Path

VECTORS = json.loads((Path(__file__).parent / "vectors" / "rfc9901_sdjwt_vectors.json").read_text())
ISSUER_JWK = {
    "kty": "EC",
    "crv": "P-256",
    "x": "b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ",
    "y": "Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8",
}
