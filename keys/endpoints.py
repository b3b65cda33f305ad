"""Published documents of the keys: the key sets (RFC 7517 §5) and the sandbox's root certificate."""

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from infra.published.documents import NothingToPublishError, PublishedDocument
from keys.certificates.chain import CertificateChain
from keys.jwk import any_public_key_from_der, public_jwk, public_rsa_jwk
from keys.models import Authority, IdTokenKey, Key, SigningKey, StatementKey
from keys.rotation.states import JWKS_MAX_AGE

State = Key.State
_ORDER: list[str] = [State.ACTIVE, State.STAGED, State.RETIRED]


def key_set() -> bytes:
    """The keys that verifiers need: those for credentials, then those for ID tokens.

    Raises NothingToPublishError before the first signing key is made.
    """
    if not SigningKey.objects.exists():
        raise NothingToPublishError("There is no signing key yet.", status=503)
    return _as_json(_published(SigningKey) + _published(IdTokenKey))


def statement_key_set() -> bytes:
    """The keys for statements; empty without any."""
    return _as_json(_published(StatementKey))


def _as_json(keys: list[dict[str, Any]]) -> bytes:
    return json.dumps({"keys": keys}, separators=(",", ":")).encode()


def _published(kind: type[Key]) -> list[dict[str, Any]]:
    """Every certified key of this kind that is staged, active or retired, the active one first."""
    columns = ("state", "id", "public_key", "chain_pem", "certified_at")
    rows = sorted(
        kind._default_manager.filter(state__in=_ORDER, certified_at__isnull=False).values_list(*columns),
        key=lambda row: _ORDER.index(row[0]),
    )
    return [_jwk(str(kid), bytes(public_key), *chain) for _, kid, public_key, *chain in rows]


@lru_cache(maxsize=128)
def _jwk(kid: str, public_key: bytes, chain_pem: str, certified_at: datetime) -> dict[str, Any]:
    """A key as a JWK; one on P-256 with exactly the members that the contract names."""
    # Checked at the time of its installation: a retired key stays published when a certificate ends.
    chain = CertificateChain.from_pem(chain_pem, public_key=public_key, now=certified_at)
    key = any_public_key_from_der(public_key)
    of_key = public_rsa_jwk(key) if isinstance(key, rsa.RSAPublicKey) else public_jwk(key)
    return {"kty": of_key["kty"], "kid": kid, "use": "sig", "x5c": chain.x5c_with_root, **of_key}


def _root_as_pem() -> bytes:
    authority = Authority.objects.first()
    if authority is None:
        raise NothingToPublishError("This service's certificates come from an authority of their own.")
    return authority.root_pem.encode()


def _root_as_der() -> bytes:
    return x509.load_pem_x509_certificate(_root_as_pem()).public_bytes(Encoding.DER)


jwks = PublishedDocument(key_set, max_age=int(JWKS_MAX_AGE.total_seconds()))
statement_jwks = PublishedDocument(statement_key_set)
root_pem = PublishedDocument(_root_as_pem, content_type="application/x-pem-file")
root_der = PublishedDocument(_root_as_der, content_type="application/pkix-cert")
