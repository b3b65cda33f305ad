"""Issuing SD-JWTs (RFC 9901), selecting disclosures, and binding to a holder's key. Pure.

Only selected claims are disclosed, and randomness is an argument.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from orjson import dumps

from infra import base64url
from keys.jws import encode_segment, sign_segments
from keys.private_keys.signer import Signer

Path = tuple[str | int, ...]  # of a claim, e.g. ("age_equal_or_over", "18")
Disclosure = str  # the encoded text (§4.2); encoding its content again could give another digest

# Names that the format reserves (§4.1).
RESERVED = frozenset({"_sd", "_sd_alg", "..."})
# Claims that verifiers rely on and that must not be selectively disclosable (§9.7, SD-JWT VC §2.2.2.3).
ALWAYS_PLAIN = frozenset({"iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"})

_SALT_BYTES = 18  # 144 bits; a multiple of three bytes, so that many can be encoded at once
_SALT = _SALT_BYTES // 3 * 4  # characters
_CONTAINERS = (dict, list)
_KEY_BINDING_HEADER = encode_segment({"alg": "ES256", "typ": "kb+jwt"})


class SdJwtError(ValueError):
    """An SD-JWT is invalid by RFC 9901, or lacks a requested claim; the text says why.

    `check` is the name of the failed check, as in `verification.verify`.
    """

    def __init__(self, reason: str, check: str = "structure") -> None:
        super().__init__(reason)
        self.check = check


class SdJwt(NamedTuple):
    """An issuer-signed JWT, and its Disclosures by the path of the claim that each reveals."""

    jwt: str
    disclosures: Mapping[Path, Disclosure]

    @property
    def compact(self) -> str:
        """The serialized SD-JWT without key binding (§4), which ends with `~`."""
        return "~".join((self.jwt, *self.disclosures.values(), ""))

    def __repr__(self) -> str:
        return f"<SdJwt with {len(self.disclosures)} disclosures>"


def digest(text: str) -> str:
    """SHA-256 of an ASCII text as base64url, for Disclosures, `sd_hash` and transaction data.

    Raises SdJwtError for other text: Disclosures, tokens and transaction data are always ASCII.
    """
    try:
        return base64url.encode(sha256(text.encode("ascii")).digest())
    except UnicodeEncodeError:
        raise SdJwtError("a text that is not ASCII") from None


def all_withheld(claims: dict[str, Any], *, whole: Collection[str] = ()) -> dict[str, Any]:
    """`claims` for `issue` with every member of every object selectively disclosable; arrays, and the members
    named in `whole`, as a whole."""
    inside = {n: isinstance(v, dict) and n not in whole for n, v in claims.items()}
    return {"_sd": {n: all_withheld(v) if inside[n] else v for n, v in claims.items()}}


def issue(
    claims: dict[str, Any],
    *,
    header: str,
    signer: Signer,
    random_bytes: Callable[[int], bytes],
    holder_jwk: dict[str, str] | None = None,
    digests: Mapping[Path, int] = {},
) -> SdJwt:
    """A signed SD-JWT of `claims` with all its Disclosures.

    claims: the payload in the notation of RFC 9901, but with claims in the place of their digests: the
    selectively disclosable members of an object are under its `_sd`. Elements of arrays are not. header: an
    encoded segment, as from `IssuerKey.header_segment`. random_bytes: such as `secrets.token_bytes`.
    holder_jwk: goes into `cnf`. digests: how many digests the `_sd` at a path has; decoys stand for those
    that are missing (§4.2.5).
    Raises ValueError for a reserved name, and for a member of `_sd` that is in `ALWAYS_PLAIN`.
    """
    if withheld := ALWAYS_PLAIN & claims.get("_sd", {}).keys():
        raise ValueError(f"{sorted(withheld)} cannot be withheld")
    issuance = _Issuance({}, random_bytes, digests)
    payload = _object(claims, (), issuance)
    payload["_sd_alg"] = "sha-256"
    if holder_jwk is not None:
        payload["cnf"] = {"jwk": holder_jwk}  # RFC 7800 §3.2
    return SdJwt(sign_segments(header, base64url.encode(dumps(payload)), signer), issuance.disclosures)


def select(sd_jwt: SdJwt, paths: Collection[Path]) -> SdJwt:
    """The SD-JWT with the Disclosures of the claims at `paths` and of the objects that contain them only.

    An object with selectively disclosable members comes without those that are not selected. Raises
    SdJwtError if a path has no Disclosure.
    """
    chosen = {}
    for path in paths:
        if path not in sd_jwt.disclosures:
            raise SdJwtError(f"nothing to disclose at {path}")
        for length in range(1, len(path)):
            if disclosure := sd_jwt.disclosures.get(path[:length]):  # an object that contains it may be plain
                chosen[path[:length]] = disclosure
        chosen[path] = sd_jwt.disclosures[path]
    return SdJwt(sd_jwt.jwt, chosen)


def bind(
    sd_jwt: SdJwt,
    *,
    audience: str,
    nonce: str,
    holder: Signer,
    now: datetime,
    transaction_data: Sequence[str] = (),
) -> str:
    """The serialized presentation with a Key Binding JWT for one verifier and one request (§4.3).

    holder: signs with the holder's key. transaction_data: the strings exactly as received; their hashes are
    in the same order (OpenID4VP 1.0 §B.3.3). Raises ValueError if `audience` or `nonce` is empty.
    """
    if not audience or not nonce:
        raise ValueError("a key binding needs an audience and a nonce")
    unbound = sd_jwt.compact
    payload: dict[str, Any] = {
        "iat": int(now.timestamp()),
        "aud": audience,
        "nonce": nonce,
        "sd_hash": digest(unbound),
    }
    if transaction_data:
        payload["transaction_data_hashes"] = [digest(value) for value in transaction_data]
        payload["transaction_data_hashes_alg"] = "sha-256"
    return unbound + sign_segments(_KEY_BINDING_HEADER, base64url.encode(dumps(payload)), holder)


class _Issuance(NamedTuple):
    """The state of one issuance: the Disclosures so far, innermost first, and what `issue` was given."""

    disclosures: dict[Path, Disclosure]
    random_bytes: Callable[[int], bytes]
    digests: Mapping[Path, int]

    def salts(self, number: int) -> str:
        """`number` salts of `_SALT` characters in one text, which is faster than one call for each."""
        return base64url.encode(self.random_bytes(number * _SALT_BYTES))

    def decoys(self, number: int) -> list[str]:
        """`number` digests without a Disclosure; none if it is not above zero."""
        seeds = self.random_bytes(number * 32) if number > 0 else b""
        hashes = [sha256(seeds[at : at + 32]).digest() for at in range(0, len(seeds), 32)]
        return base64url.encode_all(hashes) if hashes else []


def _value(value: Any, path: Path, issuance: _Issuance) -> Any:
    """`value` with digests in the place of its selectively disclosable parts (§4.2.4)."""
    if isinstance(value, dict):
        return _object(value, path, issuance)
    if isinstance(value, list):
        return [_value(element, (*path, index), issuance) for index, element in enumerate(value)]
    return value


def _object(members: dict[str, Any], path: Path, issuance: _Issuance) -> dict[str, Any]:
    result = members.copy()
    withheld = result.pop("_sd", None)
    for name, value in result.items():
        if isinstance(value, _CONTAINERS):
            result[name] = _value(value, (*path, name), issuance)
    if not RESERVED.isdisjoint(result):
        raise ValueError("a name is reserved or repeated")
    if withheld:
        if not (RESERVED.isdisjoint(withheld) and result.keys().isdisjoint(withheld)):
            raise ValueError("a name is reserved or repeated")
        result["_sd"] = _digests(withheld, path, issuance)
    return result


def _digests(withheld: dict[str, Any], path: Path, issuance: _Issuance) -> list[str]:
    """The digests of the selectively disclosable members of the object at `path`."""
    salts, at = issuance.salts(len(withheld)), 0
    contents = []
    for name, value in withheld.items():
        if isinstance(value, _CONTAINERS):
            value = _value(value, (*path, name), issuance)
        contents.append(dumps((salts[at : at + _SALT], name, value)))
        at += _SALT
    disclosures = base64url.encode_all(contents)
    issuance.disclosures.update({(*path, name): one for name, one in zip(withheld, disclosures, strict=True)})
    digests = base64url.encode_all([sha256(one.encode()).digest() for one in disclosures])
    digests += issuance.decoys(issuance.digests.get(path, 0) - len(digests))
    digests.sort()  # so that the order reveals nothing (§4.2.4.1)
    return digests
