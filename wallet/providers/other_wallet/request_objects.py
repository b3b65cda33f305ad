"""The signed request to a wallet (OpenID4VP 1.0 §5, HAIP 1.0 §5), and the link that leads to it. Pure.

What is asked for depends on the provider's settings alone. The PID's own `exp` is the end of one copy and is
not asked for.
"""

import re
from collections.abc import Collection
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

from jwcrypto.jwk import JWK

from wallet.providers.other_wallet.access import AccessCertificate
from wallet.providers.other_wallet.transactions import Transaction

MEDIA_TYPE = "application/oauth-authz-req+jwt"
TYP = "oauth-authz-req+jwt"
AUDIENCE = "https://self-issued.me/v2"  # of every request that no particular wallet is meant by (§5.8)
ENCRYPTION = ("A128GCM", "A256GCM")  # both, because the wallet chooses
CREDENTIAL = "pid"  # its id in the query
VCT = "urn:eudi:pid:1"  # a wallet may answer with a national type that extends it (§B.3.5)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,40}", re.ASCII)
_NONCE = re.compile(r"[\x21-\x7e]{1,500}", re.ASCII)

_ASKED = {
    "given": ["given_name"],
    "family": ["family_name"],
    "birth": ["birthdate"],
    "nationality": ["nationalities", None],
    "country": ["issuing_country"],
    "expiry": ["date_of_expiry"],
}
# By the group of details: what is asked for where the provider is set to verify them.
DETAILS = {"address": "address", "place_of_birth": "place_of_birth", "document": "document_number"}


def query(details: Collection[str]) -> dict[str, Any]:
    """The DCQL query. Not every PID says when it ends, or has all details, so any of these may be missing."""
    more = {group: [name] for group, name in DETAILS.items() if group in details}
    paths, optional = {**_ASKED, **more}, ["expiry", *more]
    without = (gone for number in range(len(optional) + 1) for gone in combinations(optional, number))
    return {
        "credentials": [
            {
                "id": CREDENTIAL,
                "format": "dc+sd-jwt",
                "meta": {"vct_values": [VCT]},
                "claims": [{"id": name, "path": path} for name, path in paths.items()],
                "claim_sets": [[name for name in paths if name not in gone] for gone in without],
            }
        ]
    }


def is_wallet_nonce(text: str) -> bool:
    """Whether a wallet's `wallet_nonce` can be repeated in the request."""
    return _NONCE.fullmatch(text) is not None


def signed(
    transaction: Transaction,
    access: AccessCertificate,
    *,
    details: Collection[str],
    response_uri: str,
    wallet_nonce: str = "",
) -> str:
    """The request object; always the same for one transaction, but for the wallet's nonce."""
    payload: dict[str, Any] = {
        "client_id": transaction.client_id,
        "iss": transaction.client_id,
        "aud": AUDIENCE,
        "iat": transaction.began_at,
        "exp": transaction.ends_at,
        "response_type": "vp_token",
        "response_mode": "direct_post.jwt",
        "response_uri": response_uri,
        "nonce": transaction.nonce,
        "state": transaction.state,
        "dcql_query": query(details),
        "client_metadata": {
            "jwks": {"keys": [JWK(**transaction.key).export_public(as_dict=True)]},
            "encrypted_response_enc_values_supported": list(ENCRYPTION),
            "vp_formats_supported": {
                "dc+sd-jwt": {"sd-jwt_alg_values": ["ES256"], "kb-jwt_alg_values": ["ES256"]}
            },
        },
    }
    if wallet_nonce:
        payload["wallet_nonce"] = wallet_nonce
    return access.sign(TYP, payload)


def link(transaction: Transaction, *, scheme: str, request_uri: str) -> str:
    """What opens a wallet, on a click or from a QR code."""
    parameters = {
        "client_id": transaction.client_id,
        "request_uri": request_uri,
        "request_uri_method": "post",  # a wallet that knows no POST uses GET (§5.10)
    }
    return f"{scheme}://?{urlencode(parameters)}"
