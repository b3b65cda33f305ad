"""SD-JWTs (RFC 9901): issue, select, bind to a holder key. Pure; reading them is in `sd_jwt_verification`.

Nothing is disclosed unless it is selected, and randomness is an argument.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from keys.jws import b64url, encode_segment, sign_segments
from keys.signer import Signer

Path = tuple[str | int, ...]  # where a claim stands, e.g. ("age_equal_or_over", "18")

# Names with a meaning of their own (RFC 9901 §4.1).
RESERVED = frozenset({"_sd", "_sd_alg", "..."})
# What a verifier relies on must not be withheld (RFC 9901 §9.7, SD-JWT VC §2.2.2.3).
ALWAYS_PLAIN = frozenset({"iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"})

_SALT_BYTES = 18  # 144 bits; a multiple of three, so many can be encoded at once and cut apart
_SALT_CHARACTERS = _SALT_BYTES // 3 * 4
_SALTS_AT_ONCE = 16
_KEY_BINDING_HEADER = encode_segment({"alg": "ES256", "typ": "kb+jwt"})
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class SdJwtError(ValueError):
    """An SD-JWT does not fit RFC 9901, or does not hold what was asked of it; the text says why."""


class Disclosable(NamedTuple):
    """Marks a member of an object, or an element of an array, as selectively disclosable."""

    value: Any


class Disclosure(NamedTuple):
    """One withheld claim: `text` as it travels, its digest, and the path of the claim it reveals."""

    path: Path
    text: str
    digest: str

    def __repr__(self) -> str:
        return f"<Disclosure of {self.path}>"


class KeyBinding(NamedTuple):
    """What a holder's key signs (RFC 9901 §4.3, OpenID4VP 1.0 §B.3.3)."""

    issued_at: int
    audience: str
    nonce: str
    sd_hash: str
    transaction_data_hashes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<KeyBinding>"


@dataclass(frozen=True, slots=True)
class SdJwt:
    """An issuer-signed JWT with disclosures, and a key binding once there is one."""

    jwt: str
    disclosures: tuple[Disclosure, ...]
    key_binding: str = ""

    @property
    def unbound(self) -> str:
        """Everything up to and including the last `~`: what `sd_hash` covers."""
        return "~".join([self.jwt, *(disclosure.text for disclosure in self.disclosures), ""])

    @property
    def compact(self) -> str:
        """The token as it travels (RFC 9901 §4)."""
        return self.unbound + self.key_binding

    def __repr__(self) -> str:
        return f"<SdJwt with {len(self.disclosures)} disclosures>"


def digest(text: str) -> str:
    """SHA-256 of an ASCII text, base64url: of Disclosures, `sd_hash` and transaction data alike."""
    return b64url(sha256(text.encode("ascii")).digest())


def all_disclosable(claims: Mapping[str, Any]) -> dict[str, Disclosable]:
    """`claims` with every member of every object disclosable on its own; arrays go as a whole."""
    return {
        name: Disclosable(all_disclosable(value) if isinstance(value, Mapping) else value)
        for name, value in claims.items()
    }


def issue(
    claims: Mapping[str, Any],
    *,
    header: str,
    signer: Signer,
    random_bytes: Callable[[int], bytes],
    decoys: int = 0,
) -> SdJwt:
    """A signed SD-JWT of `claims`, in which whatever stands in a `Disclosable` is withheld.

    `header` is an encoded segment (`IssuerKey.header_segment`); `random_bytes` such as
    `secrets.token_bytes`; `decoys` digests of nothing join every object that withholds something (§4.2.5).
    Raises ValueError when a name is reserved, or withheld though verifiers rely on it.
    """
    if withheld := [n for n in ALWAYS_PLAIN & claims.keys() if isinstance(claims[n], Disclosable)]:
        raise ValueError(f"verifiers rely on {withheld}")
    issuance = _Issuance(_salts(random_bytes), decoys)
    payload = issuance.object(claims, ())
    payload["_sd_alg"] = "sha-256"
    jwt = sign_segments(header, encode_segment(payload), signer)
    return SdJwt(jwt, tuple(issuance.disclosures))


def select(sd_jwt: SdJwt, paths: Collection[Path]) -> SdJwt:
    """The SD-JWT with the disclosures of `paths` only, with those of the objects they stand in.

    The path of an object stands for everything in it. No paths, no disclosures. Raises SdJwtError when
    a path leads to nothing that can be disclosed.
    """
    wholes = set(paths)
    parts = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    chosen = tuple(
        disclosure
        for disclosure in sd_jwt.disclosures
        if disclosure.path in parts
        or any(disclosure.path[:length] in wholes for length in range(1, len(disclosure.path)))
    )
    if missing := wholes - {disclosure.path for disclosure in chosen}:
        raise SdJwtError(f"nothing to disclose at {sorted(map(str, missing))}")
    return SdJwt(sd_jwt.jwt, chosen)


def bind(
    sd_jwt: SdJwt,
    *,
    audience: str,
    nonce: str,
    holder: Signer,
    now: datetime,
    transaction_data: Sequence[str] = (),
) -> SdJwt:
    """The SD-JWT bound to one verifier and request by the holder's key (RFC 9901 §4.3).

    `transaction_data` are the strings exactly as received; their hashes stand in the same order.
    """
    if not audience or not nonce:
        raise ValueError("a key binding needs an audience and a nonce")
    payload: dict[str, Any] = {
        "iat": int(now.timestamp()),
        "aud": audience,
        "nonce": nonce,
        "sd_hash": digest(sd_jwt.unbound),
    }
    if transaction_data:
        payload["transaction_data_hashes"] = [digest(value) for value in transaction_data]
        payload["transaction_data_hashes_alg"] = "sha-256"
    key_binding = sign_segments(_KEY_BINDING_HEADER, encode_segment(payload), holder)
    return SdJwt(sd_jwt.jwt, sd_jwt.disclosures, key_binding)


class _Issuance:
    """The disclosures of one issuance, gathered leaf first while the payload is built."""

    def __init__(self, salts: Iterator[str], decoys: int) -> None:
        self.salts = salts
        self.decoys = decoys
        self.disclosures: list[Disclosure] = []

    def object(self, members: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """The object with digests in the place of what it withholds, sorted to hide their order."""
        if RESERVED & members.keys():
            raise ValueError(f"{sorted(RESERVED & members.keys())} are reserved names")
        plain: dict[str, Any] = {}
        digests = []
        for name, value in members.items():
            here = (*path, name)
            if isinstance(value, Disclosable):
                digests.append(self._withhold(f"{_to_json(name)},", value.value, here))
            else:
                plain[name] = self._value(value, here)
        if digests:
            digests += [digest(next(self.salts)) for _ in range(self.decoys)]
            plain["_sd"] = sorted(digests)
        return plain

    def _value(self, value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return self.object(value, path)
        if isinstance(value, list | tuple) and not isinstance(value, Disclosable):
            return [self._element(element, (*path, index)) for index, element in enumerate(value)]
        return value

    def _element(self, element: Any, path: Path) -> Any:
        if isinstance(element, Disclosable):
            return {"...": self._withhold("", element.value, path)}
        return self._value(element, path)

    def _withhold(self, name: str, value: Any, path: Path) -> str:
        """The digest of a new Disclosure (§4.2.1, §4.2.2); `name` as JSON with its comma, or nothing."""
        content = _to_json(self._value(value, path))
        text = b64url(f'["{next(self.salts)}",{name}{content}]'.encode())
        disclosure = Disclosure(path, text, digest(text))
        self.disclosures.append(disclosure)
        return disclosure.digest


def _salts(random_bytes: Callable[[int], bytes]) -> Iterator[str]:
    """Salts without end, drawn many at a time."""
    while True:
        drawn = b64url(random_bytes(_SALT_BYTES * _SALTS_AT_ONCE))
        for start in range(0, len(drawn), _SALT_CHARACTERS):
            yield drawn[start : start + _SALT_CHARACTERS]
