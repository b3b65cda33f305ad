"""Verification of an SD-JWT VC presentation (RFC 9901 §7.3, OpenID4VP 1.0 §8.6), without a network."""

import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from credential_presentation.errors import Rejected, demand
from credential_presentation.jose import Jwt, at, decode, digest, public_key, read_json, whole_number

CLOCK_SKEW = 30  # seconds
FRESH = 300  # seconds since the holder signed
LONGEST = 65_536  # characters of a presentation
DEEPEST = 16  # objects and arrays inside each other
LONGEST_LIST = 2**22  # bytes of an unpacked status list
# Never disclosed selectively (SD-JWT VC §2.2.2.3). They describe the token and not the person.
OF_THE_TOKEN = {"iss", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"}

KeyOf = Callable[[Jwt], ec.EllipticCurvePublicKey]


@dataclass(frozen=True)
class Pending:
    """A request that waits for its answer. Keep it in the person's session on your server; use it once."""

    issuer: str
    client_id: str
    nonce: str = field(repr=False)
    claims: Sequence[str] | None  # those that were requested; None accepts any
    transaction_data: Sequence[str] = field(default=(), repr=False)
    state: str = field(default="", repr=False)
    begun: float = 0
    decryption_key: Mapping[str, str] | None = field(default=None, repr=False)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Pending":
        return cls(**json.loads(text))

    @property
    def nonce_sha256(self) -> str:
        """The name of this request in webhooks."""
        return sha256(self.nonce.encode()).hexdigest()


class Presentation:
    """An SD-JWT with a Key Binding JWT, taken apart (RFC 9901 §4). The constructor verifies nothing."""

    def __init__(self, token: object) -> None:
        demand(isinstance(token, str) and len(token) <= LONGEST, "structure", "there is no presentation")
        self.token = str(token)
        demand("~" in self.token, "structure", "it is not an SD-JWT")
        issued, *self.shown, binding = self.token.split("~")
        demand(binding, "structure", "there is no key binding")
        self.jwt, self.binding = Jwt(issued), Jwt(binding)
        self.contents = [read_json(decode(each)) for each in self.shown]
        arrays = all(isinstance(each, list) for each in self.contents)
        demand(arrays, "structure", "a disclosure is not an array")
        self.bound = self.token[: -len(binding)]


def verify(given: Presentation, request: Pending, key_of: KeyOf, now: float) -> dict[str, Any]:
    """The claims of the person. The status remains to be checked.

    `key_of` returns the issuer's key for a token, or raises `Rejected`.
    """
    header, said = given.jwt.header, given.jwt.payload
    demand(said.get("iss") == request.issuer, "iss", "it is from another issuer")
    demand(header.get("typ") == "dc+sd-jwt", "typ", "it is not an SD-JWT VC")
    demand(header.get("alg") == "ES256", "alg", "alg is not ES256")
    given.jwt.verify(key_of(given.jwt), "issuer-signature")
    vct = f"{request.issuer}/credential-types/identity/v1"
    demand(said.get("vct") == vct, "vct", "it is a credential of another type")
    exp, nbf = whole_number(said.get("exp")), whole_number(said.get("nbf", 0))
    demand(exp is not None and now < exp + CLOCK_SKEW, "exp", "it has expired")
    demand(nbf is not None and nbf <= now + CLOCK_SKEW, "exp", "it is not valid yet")
    demand(said.get("_sd_alg", "sha-256") == "sha-256", "sd-alg", "_sd_alg is not sha-256")
    claims = _disclosed(given)
    if request.claims is not None:
        _check_claims(claims, request.claims)
    _check_binding(given, request, now)
    return claims


def _disclosed(given: Presentation) -> dict[str, Any]:
    """The claims of the person, with the disclosures where their signed digests are (RFC 9901 §7.1)."""
    shown, contents, seen = given.shown, given.contents, set[str]()
    by_digest = {digest(text): each for text, each in zip(shown, contents, strict=True)}
    demand(len(by_digest) == len(shown), "digests-once", "a disclosure is there twice")
    salts = {each[0] for each in contents if each and isinstance(each[0], str)}
    demand(len(salts) == len(shown), "disclosures-form", "a salt is missing or there twice")

    def take(digests: Any, parts: int) -> Iterator[list[Any]]:
        demand(isinstance(digests, list), "disclosures-form", "_sd is not an array")
        for each in digests:
            demand(isinstance(each, str), "disclosures-form", "a digest is not a string")
            demand(each not in seen, "digests-once", "a digest is there twice")
            seen.add(each)
            content = by_digest.get(each)  # without one, the digest may be a decoy (RFC 9901 §4.2.5)
            if content is not None:
                demand(len(content) == parts, "disclosures-form", "a disclosure has other parts")
                yield content

    def unfold(node: Any, depth: int, reserved: Collection[str] = ()) -> Any:
        demand(depth <= DEEPEST, "disclosures-form", "it is nested too deeply")
        if isinstance(node, list):
            values: list[Any] = []
            for each in node:
                place = isinstance(each, dict) and each.keys() == {"..."}
                values += [value for _salt, value in take([each["..."]], 2)] if place else [each]
            return [unfold(value, depth + 1) for value in values]
        if not isinstance(node, dict):
            return node
        found = {name: unfold(value, depth + 1) for name, value in node.items() if name != "_sd"}
        demand(not {"_sd_alg", "..."} & found.keys(), "disclosures-form", "a name is reserved")
        for _salt, name, value in take(node.get("_sd", []), 3):
            free = isinstance(name, str) and name not in {"_sd", "...", *reserved, *found}
            demand(free, "disclosures-form", "a disclosed name may not be there")
            found[name] = unfold(value, depth + 1)
        return found

    signed = {name: value for name, value in given.jwt.payload.items() if name != "_sd_alg"}
    claims = unfold(signed, 0, OF_THE_TOKEN)
    demand(by_digest.keys() <= seen, "disclosures-referenced", "a disclosure was not signed")
    return {name: value for name, value in claims.items() if name not in OF_THE_TOKEN}


def _check_claims(claims: Mapping[str, Any], requested: Sequence[str]) -> None:
    """Exactly the requested claims are there; only those with a question mark may be missing."""
    found, wanted = [f"{leaf}." for leaf in _leaves(claims)], [f"{claim.rstrip('?')}." for claim in requested]
    for claim, path in zip(requested, wanted, strict=True):
        there = claim.endswith("?") or any(leaf.startswith(path) for leaf in found)
        demand(there, "claims", f"{claim} is missing")
    others = [leaf for leaf in found if not leaf.startswith(tuple(wanted))]
    demand(not others, "claims", "more was disclosed than requested")


def _leaves(claims: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in claims.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _check_binding(given: Presentation, request: Pending, now: float) -> None:
    """The Key Binding JWT (RFC 9901 §7.3 step 5) and its transaction data (OpenID4VP 1.0 B.3.3)."""
    header, said = given.binding.header, given.binding.payload
    demand((header.get("typ"), header.get("alg")) == ("kb+jwt", "ES256"), "kb-typ", "it is no key binding")
    given.binding.verify(public_key(at(given.jwt.payload, "cnf", "jwk"), "kb-signature"), "kb-signature")
    iat = whole_number(said.get("iat"))
    demand(iat is not None and abs(now - iat) <= FRESH, "kb-iat", "it was not made just now")
    demand(said.get("aud") == request.client_id, "kb-aud", "it was made for another client")
    demand(request.nonce and said.get("nonce") == request.nonce, "kb-nonce", "it has another nonce")
    demand(said.get("sd_hash") == digest(given.bound), "kb-sd-hash", "it is bound to other disclosures")
    hashes, algorithm = said.get("transaction_data_hashes"), said.get("transaction_data_hashes_alg")
    demand(algorithm in (None, "sha-256"), "transaction-data", "it is hashed with another algorithm")
    wanted = [digest(value) for value in request.transaction_data] or None
    demand(hashes == wanted, "transaction-data", "it is not the transaction data of the request")


def check_status(
    given: Presentation, request: Pending, key_of: KeyOf, now: float, list_at: Callable[[str], str]
) -> str:
    """Checks that the presentation was neither revoked nor suspended (Token Status List §8.3).

    `list_at` returns the status list at an address, which is returned.
    """
    idx, uri = (at(given.jwt.payload, "status", "status_list", name) for name in ("idx", "uri"))
    idx, uri = whole_number(idx), str(uri)
    if idx is None or idx < 0 or not uri.startswith(f"{request.issuer}/"):
        raise Rejected("status", "no status list of the issuer is named")
    token, inflating = list_at(uri), zlib.decompressobj()
    try:
        jwt = Jwt(token)
        jwt.verify(key_of(jwt), "status")
        said, bits = jwt.payload, whole_number(at(jwt.payload, "status_list", "bits"))
        unpacked = inflating.decompress(decode(at(said, "status_list", "lst")), LONGEST_LIST)
    except (Rejected, zlib.error) as error:
        raise Rejected("status", f"the status list cannot be used ({error})") from None
    this = jwt.header.get("typ") == "statuslist+jwt" and said.get("sub") == uri
    demand(this, "status", "it is another list")
    iat, exp = whole_number(said.get("iat")), whole_number(said.get("exp"))
    demand(iat is not None and iat <= now + CLOCK_SKEW, "status", "the list is from the future")
    demand(exp is not None and now < exp, "status", "the list has expired")
    whole = bits in (1, 2, 4, 8) and inflating.eof and not inflating.unused_data
    if not bits or not whole or idx >= len(unpacked) * 8 // bits:
        raise Rejected("status", "the list has no such place")
    value = unpacked[idx * bits // 8] >> (idx * bits % 8) & (2**bits - 1)
    demand(value == 0, "status", {1: "it was revoked", 2: "it is suspended"}.get(value, "it is not valid"))
    return token
