"""A provider's metadata and keys, cached and fetched again from time to time."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Generic, TypeVar

from jwcrypto.common import JWException
from jwcrypto.jwk import JWK

from wallet.providers.openid_connect import metadata as metadatas
from wallet.providers.openid_connect.calls import Calls
from wallet.providers.openid_connect.metadata import Metadata

GOOD_FOR = 3600.0  # seconds
KEYS_AGAIN_AFTER = 10.0  # seconds; tokens with made-up key names must not cause more calls than that

T = TypeVar("T")


class Kept(Generic[T]):
    """A value of this process, and how old it is."""

    def __init__(self, fetch: Callable[[], T]) -> None:
        self._fetch = fetch
        self._kept: tuple[float, T] | None = None

    def get(self, *, good_for: float = GOOD_FOR) -> T:
        """The value, fetched anew if it is older. Raises ProviderError."""
        kept = self._kept
        if kept is None or monotonic() - kept[0] > good_for:
            began = monotonic()  # before the call, so that a slow one makes the value no younger
            kept = self._kept = (began, self._fetch())
        return kept[1]


MOST = 100  # keys of a set
SHORTEST_MODULUS = 342  # characters of base64url: 2048 bits

_KINDS = ("EC", "RSA")
_PREFIXES = {"ES": "EC", "RS": "RSA", "PS": "RSA"}  # of an `alg`: the `kty` that it needs


class KeySet:
    """The keys that can verify signatures. Keys of other kinds, and those that are faulty, are left out."""

    def __init__(self, document: Any) -> None:
        members = document.get("keys") if isinstance(document, dict) else None
        candidates = members[:MOST] if isinstance(members, list) else []
        self._keys = [(member, key) for member in candidates if (key := _key(member)) is not None]

    def fitting(self, kid: Any, algorithm: str) -> JWK | None:
        """The one key that a token with this header names; None if there is none, or no way to tell which."""
        fitting = [
            key
            for member, key in self._keys
            if member["kty"] == _PREFIXES.get(algorithm[:2])
            and member.get("alg", algorithm) == algorithm
            and (kid is None or member.get("kid") == kid)
        ]
        return fitting[0] if len(fitting) == 1 else None


def _key(member: Any) -> JWK | None:
    kind = member.get("kty") if isinstance(member, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS or member.get("use", "sig") != "sig":
        return None
    if kind == "RSA" and (not isinstance(member.get("n"), str) or len(member["n"]) < SHORTEST_MODULUS):
        return None
    public = {name: member[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in member}
    try:
        return JWK(**public)
    except (JWException, ValueError, TypeError, KeyError, AttributeError):
        return None


class Discovery:
    """Metadata and keys of one provider."""

    def __init__(self, calls: Calls, issuer: str, *, loopback: bool) -> None:
        self._calls, self._issuer, self._loopback = calls, issuer, loopback
        self._metadata = Kept(self._read_metadata)
        self._keys = Kept(lambda: KeySet(self._calls.document(self.metadata().jwks_uri)))

    def metadata(self) -> Metadata:
        """The provider's metadata. Raises ProviderError, also for the metadata of another issuer."""
        return self._metadata.get()

    def keys(self) -> KeySet:
        """Raises ProviderError."""
        return self._keys.get()

    def find_key(self, kid: Any, algorithm: str) -> JWK | None:
        """The key that a token names; fetches the keys again if it is not cached. Raises ProviderError."""
        key = self._keys.get().fitting(kid, algorithm)
        return key or self._keys.get(good_for=KEYS_AGAIN_AFTER).fitting(kid, algorithm)

    def _read_metadata(self) -> Metadata:
        document = self._calls.document(metadatas.address_of(self._issuer))
        return metadatas.parse(document, issuer=self._issuer, loopback=self._loopback)
