"""The key set as this process knows it, for telling what this issuer signed; asked for every few seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from time import monotonic

from cryptography.hazmat.primitives.asymmetric import ec

from keys.certificates.chain import CertificateChain
from keys.jwk import public_key_from_der
from keys.models import SigningKey

REMEMBERED = 5.0  # seconds; so long what a withdrawn key signed may still be taken
# Seconds; so often an unknown key is asked for, because anybody can make one up. So late at most is one found
# that another instance activated just now; one that was staged is known long before.
UNKNOWN_ASKED_EVERY = 1.0
_PUBLISHED = (SigningKey.State.STAGED, SigningKey.State.ACTIVE, SigningKey.State.RETIRED)


@dataclass(frozen=True)
class PublishedKey:
    """One key of the set: it is certified, and from staged to retired."""

    kid: str
    public_key: ec.EllipticCurvePublicKey = field(repr=False)
    x5c: tuple[str, ...] = field(repr=False)  # leaf and issuing CA, as in the header of a token
    not_after: datetime  # when the first of its certificates ends


@dataclass(frozen=True)
class _Known:
    keys: Mapping[str, PublishedKey]
    due: float  # on the monotonic clock


# Replaced whole, so threads need no lock.
_known: _Known | None = None
_unknown_due = float("-inf")  # when an unknown key may be asked for again, on the same clock


def find(kid: str) -> PublishedKey | None:
    """The published key of this id. One that is not known is asked for, once a second at most."""
    global _unknown_due
    known, now = _known, monotonic()
    if known is not None and now < known.due and kid not in known.keys and now >= _unknown_due:
        known, _unknown_due = None, now + UNKNOWN_ASKED_EVERY
    if known is None or now >= known.due:
        known = _asked()
    return known.keys.get(kid)


def forget() -> None:
    """Ask the database next time."""
    global _known, _unknown_due
    _known, _unknown_due = None, float("-inf")


def _asked() -> _Known:
    global _known
    due = monotonic() + REMEMBERED  # counted from before the question
    rows = SigningKey.objects.filter(state__in=_PUBLISHED, certified_at__isnull=False)
    columns = rows.values_list("id", "public_key", "chain_pem", "certified_at")
    keys = {str(kid): _read(str(kid), bytes(public_key), *chain) for kid, public_key, *chain in columns}
    fresh = _known = _Known(keys, due)
    return fresh


@lru_cache(maxsize=32)
def _read(kid: str, public_key: bytes, chain_pem: str, certified_at: datetime) -> PublishedKey:
    # As it was when it was accepted; whether it has ended since is for the caller to ask.
    chain = CertificateChain.from_pem(chain_pem, public_key=public_key, now=certified_at)
    return PublishedKey(kid, public_key_from_der(public_key), tuple(chain.x5c), chain.not_after)
