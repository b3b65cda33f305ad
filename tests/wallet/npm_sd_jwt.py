"""The npm package @sd-jwt/sd-jwt-vc, which reads our tokens."""

import json
import subprocess
from pathlib import Path
from typing import Any

from keys.jwk import public_jwk
from tests.wallet.sd_jwts import AUDIENCE, ISSUER, NONCE

NODE = Path(__file__).parent.parent / "node"
ISSUER_JWK = public_jwk(ISSUER.public_key)


def npm(token: str, **changes: Any) -> dict[str, Any]:
    """The result of the package; ValueError if it refuses the token."""
    asked = {"token": token, "issuer": ISSUER_JWK, "nonce": NONCE, "aud": AUDIENCE} | changes
    ran = subprocess.run(
        ["node", "verify.mjs"], cwd=NODE, input=json.dumps(asked), capture_output=True, text=True, timeout=60
    )
    if ran.returncode:
        raise ValueError(ran.stderr)
    return json.loads(ran.stdout)
