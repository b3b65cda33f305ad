"""The key set in the memory of this process, to find the key of a token that this issuer signed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from time import monotonic

from cryptography.hazmat.primitives.asymmetric import ec

from keys.certificates.chain import CertificateChain
from keys.jwk import public_key_from_der
from keys.models import SigningKey

REMEMBERED = 5.0  # seconds; a token of a key withdrawn by another instance may be accepted for this long
# Query the database for an unknown kid at most once per second, because attackers can invent kids. A key that
# another instance has just made and activated is found that late; a staged key is known long before.
UNKNOWN_ASKED_EVERY = 1.0
_PUBLISHED = (SigningKey.State.STAGED, SigningKey.State.ACTIVE, SigningKey.State.RETIRED)


@dataclass(frozen=True)
class PublishedKey:
    """A key of the set: it is certified, and staged, active or retired."""

    kid: str
    public_key: ec.EllipticCurvePublicKey = field(repr=False)
    x5c: tuple[str, ...] = field(repr=False)  # leaf and issuing CA, as in the header of a token
    not_after: datetime  # when the first of its certificates ends


@dataclass(frozen=True)
class _Known:
    keys: Mapping[str, PublishedKey]
    due: float  # on the monotonic clock


# Always replaced as a whole, so threads need no lock.
_known: _Known | None = None
_unknown_due = float("-inf")  # when an unknown kid may be queried again, on the same clock


def find(kid: str) -> PublishedKey | None:
    """The published key of this id, or None. Queries unknown ids once per UNKNOWN_ASKED_EVERY at most."""
    global _unknown_due
    cached, now = _known, monotonic()
    if cached is not None and now < cached.due and kid not in cached.keys and now >= _unknown_due:
        cached, _unknown_due = None, now + UNKNOWN_ASKED_EVERY
    if cached is None or now >= cached.due:
        cached = _queried()
    return cached.keys.get(kid)


def forget() -> None:
    """Has the next call query the database."""
    global _known, _unknown_due
    _known, _unknown_due = None, float("-inf")


def _queried() -> _Known:
    global _known
    due = monotonic() + REMEMBERED  # before the query, so that a slow query does not extend the cache
    rows = SigningKey.objects.filter(state__in=_PUBLISHED, certified_at__isnull=False)
    columns = rows.values_list("id", "public_key", "chain_pem", "certified_at")
    keys = {str(kid): _read(str(kid), bytes(public_key), *chain) for kid, public_key, *chain in columns}
    fresh = _known = _Known(keys, due)
    return fresh


@lru_cache(maxsize=32)
def _read(kid: str, public_key: bytes, chain_pem: str, certified_at: datetime) -> PublishedKey:
    # Checked at the time of its installation; the caller checks `not_after`.
    chain = CertificateChain.from_pem(chain_pem, public_key=public_key, now=certified_at)
    return PublishedKey(kid, public_key_from_der(public_key), tuple(chain.x5c), chain.not_after)
