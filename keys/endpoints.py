"""Published documents of the keys: the key sets (RFC 7517 §5) and the sandbox's root certificate."""

import json
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from infra.published.documents import NothingToPublishError, PublishedDocument
from keys.certificates.chain import CertificateChain
from keys.jwk import public_jwk, public_key_from_der
from keys.models import Authority, Key, SigningKey, StatementKey
from keys.rotation.states import JWKS_MAX_AGE

State = Key.State
_ORDER: list[str] = [State.ACTIVE, State.STAGED, State.RETIRED]


def key_set(kind: type[Key] = SigningKey) -> bytes:
    """Every certified key of this kind that is staged, active or retired, the active one first.

    Raises NothingToPublishError before the first signing key is made. Without keys for statements, their set
    is empty.
    """
    columns = ("state", "id", "public_key", "chain_pem", "certified_at")
    rows = sorted(
        kind._default_manager.filter(state__in=_ORDER, certified_at__isnull=False).values_list(*columns),
        key=lambda row: _ORDER.index(row[0]),
    )
    if kind is SigningKey and not rows and not SigningKey.objects.exists():
        raise NothingToPublishError("There is no signing key yet.", status=503)
    keys = [_jwk(str(kid), bytes(public_key), *chain) for _, kid, public_key, *chain in rows]
    return json.dumps({"keys": keys}, separators=(",", ":")).encode()


@lru_cache(maxsize=128)
def _jwk(kid: str, public_key: bytes, chain_pem: str, certified_at: datetime) -> dict[str, Any]:
    """A key as a JWK, with exactly the members that the contract names."""
    # Checked at the time of its installation: a retired key stays published when a certificate ends.
    chain = CertificateChain.from_pem(chain_pem, public_key=public_key, now=certified_at)
    members = {"kty": "EC", "kid": kid, "use": "sig", "x5c": chain.x5c_with_root}
    return {**members, **public_jwk(public_key_from_der(public_key))}


def _root_as_pem() -> bytes:
    authority = Authority.objects.first()
    if authority is None:
        raise NothingToPublishError("This service's certificates come from an authority of their own.")
    return authority.root_pem.encode()


def _root_as_der() -> bytes:
    return x509.load_pem_x509_certificate(_root_as_pem()).public_bytes(Encoding.DER)


jwks = PublishedDocument(key_set, max_age=int(JWKS_MAX_AGE.total_seconds()))
statement_jwks = PublishedDocument(partial(key_set, StatementKey))
root_pem = PublishedDocument(_root_as_pem, content_type="application/x-pem-file")
root_der = PublishedDocument(_root_as_der, content_type="application/pkix-cert")
