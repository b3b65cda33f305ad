"""What relying parties know this service by: its issuer, and the paths of its endpoints.

`metadata` publishes them, and `config.urls` routes them.
"""

from django.conf import settings

AUTHORIZE_PATH = "/verifiable-credentials/v1/presentation/authorize"
PUSH_PATH = "/verifiable-credentials/v1/presentation/par"
TOKEN_PATH = "/oauth/v2/token"  # noqa: S105 - a path
USERINFO_PATH = "/openid-connect/userinfo"
JWKS_PATH = "/openid-connect/jwks"


def issuer() -> dict[str, str]:
    """`iss` (RFC 9207 §2). Encrypted answers and tokens in the contract's wire format do not have it."""
    return {"iss": settings.BASE_URL}
