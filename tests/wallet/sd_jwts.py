"""Keys, a time, and functions that issue and present SD-JWTs, valid or not."""

import base64
import hashlib
import json
import secrets
from datetime import UTC, datetime
from typing import Any

from keys.jwk import public_jwk
from keys.jws import encode_segment
from keys.private_keys.signer import SoftwareSigner
from tests.keys.compact_jws import sign_compact
from wallet.sd_jwt import issuance
from wallet.sd_jwt.parsing import parse
from wallet.sd_jwt.verification import SD_JWT_VC_CLAIMS, verify_issuer_signed

NOW = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)
MOMENT = int(NOW.timestamp())
AUDIENCE, NONCE = "acme-bank", "n-0S6_WzA2MjAzNDU2Nzg5MA"
ISSUER, HOLDER = SoftwareSigner.generate(), SoftwareSigner.generate()
HEADER = {"alg": "ES256", "typ": "dc+sd-jwt"}
PLAIN: dict[str, Any] = {
    "iss": "https://wallet.example",
    "vct": "https://wallet.example/credential-types/identity/v1",
    "iat": MOMENT - 60,
    "exp": MOMENT + 3600,
    "cnf": {"jwk": public_jwk(HOLDER.public_key)},
}
CLAIMS: dict[str, Any] = {
    "given_name": "Zoë",
    "age_equal_or_over": {"18": True, "65": False},
    "nationalities": ["IE", "ES"],
}
EVERYTHING = (
    ("given_name",),
    ("age_equal_or_over", "18"),
    ("age_equal_or_over", "65"),
    ("nationalities",),
)


def issued(claims: dict[str, Any] | None = None, **options: Any) -> issuance.SdJwt:
    """An SD-JWT VC that `issuance` made, with CLAIMS selectively disclosable unless `claims` are given."""
    return issuance.issue(
        PLAIN | issuance.all_withheld(CLAIMS) if claims is None else claims,
        header=encode_segment(HEADER),
        signer=ISSUER,
        random_bytes=secrets.token_bytes,
        **options,
    )


def presented(sd: issuance.SdJwt, **options: Any) -> str:
    """A presentation of it that is bound to Acme Bank's request."""
    facts: dict[str, Any] = {"audience": AUDIENCE, "nonce": NONCE, "holder": HOLDER, "now": NOW}
    return issuance.bind(sd, **(facts | options))


def verify_issued(
    token: str, *, issuer_key: Any, now: datetime, typ: str = "dc+sd-jwt", required: Any = SD_JWT_VC_CLAIMS
) -> dict[str, Any]:
    """The payload of a token without key binding."""
    return verify_issuer_signed(parse(token), issuer_key, now, typ, required, lambda check: None)


def disclosure(*content: Any) -> str:
    """A Disclosure with any content, valid or not."""
    return b64(json.dumps(content).encode())


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sha(text: str) -> str:
    return b64(hashlib.sha256(text.encode()).digest())


def signed(payload: dict[str, Any], *disclosures: str, header: dict[str, Any] | None = None) -> str:
    """An SD-JWT whose issuer signs PLAIN, updated by `payload`, without any checks."""
    jwt = sign_compact(HEADER | (header or {}), PLAIN | payload, ISSUER)
    return "~".join([jwt, *disclosures, ""])


def key_bound(
    unbound: str,
    *,
    header: dict[str, Any] | None = None,
    without: str = "",
    holder: SoftwareSigner = HOLDER,
    **claims: Any,
) -> str:
    """A presentation whose holder signs any claims, without checks."""
    payload = {"iat": MOMENT, "aud": AUDIENCE, "nonce": NONCE, "sd_hash": sha(unbound)} | claims
    payload.pop(without, None)
    return unbound + sign_compact({"alg": "ES256", "typ": "kb+jwt"} | (header or {}), payload, holder)
