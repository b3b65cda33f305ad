"""SD-JWTs (RFC 9901): issue, select, bind to a holder's key. Pure; reading is in `verification`.

Nothing is disclosed unless it is selected, and randomness is an argument.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from orjson import dumps

from infra import base64url
from keys.jws import encode_segment, sign_segments
from keys.private_keys.signer import Signer

Path = tuple[str | int, ...]  # where a claim stands, e.g. ("age_equal_or_over", "18")
Disclosure = str  # a withheld claim as it travels (§4.2), never to be written anew

# Names with a meaning of their own (§4.1).
RESERVED = frozenset({"_sd", "_sd_alg", "..."})
# What a verifier relies on must not be withheld (§9.7, SD-JWT VC §2.2.2.3).
ALWAYS_PLAIN = frozenset({"iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"})

_SALT_BYTES = 18  # 144 bits; a multiple of three, so that many are encoded at once and cut apart
_SALT = _SALT_BYTES // 3 * 4  # characters
_CONTAINERS = (dict, list)
_KEY_BINDING_HEADER = encode_segment({"alg": "ES256", "typ": "kb+jwt"})


class SdJwtError(ValueError):
    """An SD-JWT does not fit RFC 9901, or does not hold what was asked of it; the text says why.

    `check` names what refused it; the names are those of `verification.verify`.
    """

    def __init__(self, reason: str, check: str = "structure") -> None:
        super().__init__(reason)
        self.check = check


class SdJwt(NamedTuple):
    """An issuer-signed JWT, and disclosures that go with it by the path of the claim each reveals."""

    jwt: str
    disclosures: Mapping[Path, Disclosure]

    @property
    def compact(self) -> str:
        """The token as it travels (§4): everything up to and including the last `~`."""
        return "~".join((self.jwt, *self.disclosures.values(), ""))

    def __repr__(self) -> str:
        return f"<SdJwt with {len(self.disclosures)} disclosures>"


class KeyBinding(NamedTuple):
    """What a holder's key has signed (§4.3; OpenID4VP 1.0 §B.3.3)."""

    issued_at: float
    audience: str
    nonce: str
    sd_hash: str
    transaction_data_hashes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<KeyBinding>"


def digest(text: str) -> str:
    """SHA-256 of an ASCII text, base64url: of Disclosures, `sd_hash` and transaction data alike.

    Raises SdJwtError for any other text: Disclosures, tokens and transaction data are always ASCII.
    """
    try:
        return base64url.encode(sha256(text.encode("ascii")).digest())
    except UnicodeEncodeError:
        raise SdJwtError("a text beyond ASCII") from None


def all_withheld(claims: dict[str, Any]) -> dict[str, Any]:
    """`claims` for `issue`, every member of every object to be withheld on its own; arrays go as a whole."""
    return {"_sd": {n: all_withheld(v) if isinstance(v, dict) else v for n, v in claims.items()}}


def issue(
    claims: dict[str, Any],
    *,
    header: str,
    signer: Signer,
    random_bytes: Callable[[int], bytes],
    holder_jwk: dict[str, str] | None = None,
    decoys: int = 0,
) -> SdJwt:
    """A signed SD-JWT of `claims` with all its disclosures, for the holder of `holder_jwk` if there is one.

    `claims` are the payload as RFC 9901 writes it, only with the claims themselves where their digests
    will be: the members of an object to be withheld stand under its `_sd`, an element of an array to be
    withheld is `{"...": element}`; both within one another as deep as need be. `header` is an encoded
    segment (`IssuerKey.header_segment`), `random_bytes` such as `secrets.token_bytes`; `decoys` digests of
    nothing join every `_sd` (§4.2.5). Raises ValueError for a name that is reserved, or withheld though
    verifiers rely on it.
    """
    if withheld := ALWAYS_PLAIN & claims.get("_sd", {}).keys():
        raise ValueError(f"{sorted(withheld)} cannot be withheld")
    issuance = _Issuance({}, random_bytes, decoys)
    payload = _object(claims, (), issuance)
    payload["_sd_alg"] = "sha-256"
    if holder_jwk is not None:
        payload["cnf"] = {"jwk": holder_jwk}  # RFC 7800 §3.2
    return SdJwt(sign_segments(header, base64url.encode(dumps(payload)), signer), issuance.disclosures)


def select(sd_jwt: SdJwt, paths: Collection[Path]) -> SdJwt:
    """The SD-JWT with the disclosures of the claims at `paths`, and of the objects those stand in.

    Nothing more: no paths, no disclosures; and an object whose members are withheld too comes without
    them. Raises SdJwtError when there is no disclosure for a path.
    """
    chosen = {}
    for path in paths:
        if path not in sd_jwt.disclosures:
            raise SdJwtError(f"nothing to disclose at {path}")
        for length in range(1, len(path)):
            if disclosure := sd_jwt.disclosures.get(path[:length]):  # an object on the way may be plain
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
    """The presentation as it travels: bound to one verifier and one request by the holder's key (§4.3).

    `transaction_data` are the strings exactly as received; their hashes stand in the same order.
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
    """What one issuance draws from, and the disclosures it has made, leaf first."""

    disclosures: dict[Path, Disclosure]
    random_bytes: Callable[[int], bytes]
    decoys: int

    def salts(self, number: int) -> str:
        """So many salts in one text, `_SALT` characters each: drawn one by one they would cost more."""
        return base64url.encode(self.random_bytes(number * _SALT_BYTES))


def _value(value: Any, path: Path, issuance: _Issuance) -> Any:
    """`value` with digests in the place of whatever is withheld in it (§4.2.4)."""
    if isinstance(value, dict):
        return _object(value, path, issuance)
    if isinstance(value, list):
        return [_element(element, (*path, index), issuance) for index, element in enumerate(value)]
    return value


def _object(members: dict[str, Any], path: Path, issuance: _Issuance) -> dict[str, Any]:
    result = members.copy()
    withheld = result.pop("_sd", None)
    for name, value in result.items():
        if isinstance(value, _CONTAINERS):
            result[name] = _value(value, (*path, name), issuance)
    if not RESERVED.isdisjoint(result):
        raise ValueError("a name that is reserved, or there twice")
    if withheld:
        if not (RESERVED.isdisjoint(withheld) and result.keys().isdisjoint(withheld)):
            raise ValueError("a name that is reserved, or there twice")
        result["_sd"] = _digests(withheld, path, issuance)
    return result


def _digests(withheld: dict[str, Any], path: Path, issuance: _Issuance) -> list[str]:
    """The digests of the members withheld from the object at `path`, and of the decoys among them."""
    disclosures, _, decoys = issuance
    salts, at = issuance.salts(len(withheld) + decoys), 0
    digests = []
    for name, value in withheld.items():
        if isinstance(value, _CONTAINERS):
            value = _value(value, (*path, name), issuance)
        disclosure = base64url.encode(dumps((salts[at : at + _SALT], name, value)))
        disclosures[(*path, name)] = disclosure
        digests.append(base64url.encode(sha256(disclosure.encode()).digest()))
        at += _SALT
    if decoys:
        digests += [digest(salts[at : at + _SALT]) for at in range(at, len(salts), _SALT)]
    digests.sort()  # so that their order tells nothing
    return digests


def _element(element: Any, path: Path, issuance: _Issuance) -> Any:
    if isinstance(element, dict) and element.keys() == {"..."}:
        content = (issuance.salts(1), _value(element["..."], path, issuance))
        issuance.disclosures[path] = disclosure = base64url.encode(dumps(content))
        return {"...": digest(disclosure)}
    return _value(element, path, issuance)
