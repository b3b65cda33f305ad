"""Verification of an SD-JWT VC presentation (RFC 9901 §7.3, OpenID4VP 1.0 §8.6), without a network."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from credential_presentation import jose, sealing
from credential_presentation.errors import Rejected, demand
from credential_presentation.jose import Jwt, at, decode, digest, read_json, whole_number

TOLERANCE = 300  # seconds by which any time may differ, so that all of them fail at the same clock
LONGEST = 65_536  # characters of a presentation
DEEPEST = 16  # objects and arrays inside each other
LONGEST_SEALED = 3500  # characters of a request in a cookie, which browsers take with 4,096
LONGEST_LIST = 2**22  # bytes of an unpacked status list
# Never disclosed selectively (SD-JWT VC §2.2.2.3). They describe the token and not the person.
OF_EVERY_JWT = {"iss", "aud", "iat", "nbf", "exp", "cnf"}
OF_THE_TOKEN = OF_EVERY_JWT | {"vct", "vct#integrity", "aka_vcts", "status", "_sd_alg"}

KeyOf = Callable[[Jwt], jose.PublicKey]  # the issuer's key for a token, or `Rejected`
ListAt = Callable[[str], str]  # the status list at an address


@dataclass(frozen=True)
class Pending:
    """A request that waits for its answer. Use it once.

    Keep it in the person's session on your server as `to_json()`, or in a cookie as `sealed(key)`.
    """

    issuer: str
    client_id: str
    nonce: str = field(repr=False)
    claims: Sequence[str] | None  # those that were requested; None accepts any
    transaction_data: Sequence[str] = field(default=(), repr=False)
    state: str = field(default="", repr=False)
    begun: float = 0
    decryption_key: Mapping[str, str] | None = field(default=None, repr=False)
    transaction_data_hashes: Sequence[str] = ()  # in place of the data, once it was in a cookie

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Pending":
        return cls(**json.loads(text))

    def sealed(self, key: str | bytes) -> str:
        """Encrypted and authenticated, in at most 3,500 characters, for a cookie; payments are hashes there.

        `key` is a secret of your server with at least 32 characters. The text says nothing to the browser,
        which can keep it, however, and send it again: remember `nonce` where an answer may count only once.
        Raises `ValueError` if the key is too short, or there are too many claims.
        """
        facts = asdict(self) | {"transaction_data": (), "transaction_data_hashes": self.hashes}
        text = sealing.seal(json.dumps(facts, separators=(",", ":")).encode(), key)
        if len(text) > LONGEST_SEALED:
            raise ValueError("the request has too many claims for a cookie: keep it on your server")
        return text

    @classmethod
    def opened(cls, text: str, *keys: str | bytes) -> "Pending":
        """What was `sealed` with one of the keys: your key, or the new and the old one while you change it.

        Raises `Rejected` if it was not, or was changed.
        """
        return cls(**json.loads(sealing.open_sealed(text, *keys)))

    @property
    def hashes(self) -> list[str]:
        """Those of the transaction data, in order (OpenID4VP 1.0 B.3.3)."""
        return [digest(value) for value in self.transaction_data] or list(self.transaction_data_hashes)

    @property
    def nonce_sha256(self) -> str:
        """The name of this request in webhooks."""
        return sha256(self.nonce.encode()).hexdigest()


class Presentation:
    """An SD-JWT with a Key Binding JWT, taken apart (RFC 9901 §4). The constructor verifies nothing.

    It is the text itself, or in an object by the ID of its query (OpenID4VP 1.0 §8.1).
    """

    def __init__(self, vp_token: object) -> None:
        is_json = isinstance(vp_token, str) and vp_token.startswith("{")
        parsed = read_json(str(vp_token)[:LONGEST], dict) if is_json else vp_token
        lists = list(parsed.values()) if isinstance(parsed, dict) else [[parsed]]
        one = len(lists) == 1 and isinstance(lists[0], list) and len(lists[0]) == 1
        demand(one and isinstance(lists[0][0], str), "structure", "there is not exactly one presentation")
        self.token = str(lists[0][0])
        demand(len(self.token) <= LONGEST, "structure", "the presentation is too long")
        issued, *shown = self.token.split("~")
        binding = shown.pop() if shown else ""
        self.jwt, self.binding = Jwt(issued), Jwt(binding)
        self.disclosures = {digest(disclosure): read_json(decode(disclosure), list) for disclosure in shown}
        demand(len(self.disclosures) == len(shown), "digests-once", "a disclosure is there twice")
        self.bound = self.token[: -len(binding)]


def verify(
    given: Presentation, request: Pending, key_of: KeyOf, now: float, list_at: ListAt
) -> tuple[dict[str, Any], str]:
    """The claims of the person, and the status list that says that the presentation is valid."""
    said = given.jwt.payload
    demand(said.get("iss") == request.issuer, "iss", f"its issuer is not {request.issuer}, your base_url")
    given.jwt.verify(key_of(given.jwt), "dc+sd-jwt", "issuer-signature", "typ", "alg")
    vct = f"{request.issuer}/credential-types/identity/v1"
    demand(said.get("vct") == vct, "vct", "it is a credential of another type")
    exp, nbf = whole_number(said.get("exp")), whole_number(said.get("nbf", 0))
    demand(exp is not None and now < exp + TOLERANCE, "exp", "it has expired")
    demand(nbf is not None and nbf <= now + TOLERANCE, "exp", "it is not valid yet")
    demand(said.get("_sd_alg", "sha-256") == "sha-256", "sd-alg", "_sd_alg is not sha-256")
    claims = _disclosed(given)
    if request.claims is not None:
        _check_claims(claims, request.claims)
    _check_binding(given, request, now)
    return claims, _check_status(said, key_of, now, list_at)


def _disclosed(given: Presentation) -> dict[str, Any]:
    """The claims of the person, with the disclosures where their signed digests are (RFC 9901 §7.1)."""
    seen = set[str]()

    def take(digests: Any, parts: int) -> list[list[Any]]:
        texts = isinstance(digests, list) and all(isinstance(hashed, str) for hashed in digests)
        demand(texts, "disclosures-form", "the digests are not an array of strings")
        once = len({*seen, *digests}) == len(seen) + len(digests)
        demand(once, "digests-once", "a digest is there twice")
        seen.update(digests)
        disclosures = [given.disclosures.get(hashed) for hashed in digests]  # None: a decoy (RFC 9901 §4.2.5)
        form = all(
            disclosure is None or (len(disclosure) == parts and isinstance(disclosure[0], str))
            for disclosure in disclosures
        )
        demand(form, "disclosures-form", "a disclosure has other parts")
        return [disclosure[1:] for disclosure in disclosures if disclosure is not None]

    def placed(element: Any) -> list[Any]:
        place = isinstance(element, dict) and element.keys() == {"..."}
        return [value for (value,) in take([element["..."]], 2)] if place else [element]

    def unfold(node: Any, depth: int = 0) -> Any:
        demand(depth <= DEEPEST, "disclosures-form", "it is nested too deeply")
        if isinstance(node, list):
            return [unfold(value, depth + 1) for element in node for value in placed(element)]
        if not isinstance(node, dict):
            return node
        plain = [[name, value] for name, value in node.items() if name != "_sd"]
        entries = [*plain, *take(node.get("_sd", []), 3)]
        names = {name for name, _ in entries if isinstance(name, str)} - {"_sd", "_sd_alg", "..."}
        demand(len(names) == len(entries), "disclosures-form", "a name may not be there")
        return {name: unfold(value, depth + 1) for name, value in entries}

    of_the_person = {name: value for name, value in given.jwt.payload.items() if name not in OF_THE_TOKEN}
    claims: dict[str, Any] = unfold(of_the_person)
    demand(not OF_THE_TOKEN & claims.keys(), "disclosures-form", "it may not be disclosed")
    demand(given.disclosures.keys() <= seen, "disclosures-referenced", "a disclosure was not signed")
    return claims


def _check_claims(claims: Mapping[str, Any], requested: Sequence[str]) -> None:
    """Exactly the requested claims are there; only those with a question mark may be missing."""
    leaves, paths = list(_leaves(claims)), [f"{name.rstrip('?')}." for name in requested]
    for claim, path in zip(requested, paths, strict=True):
        there = claim.endswith("?") or any(leaf.startswith(path) for leaf in leaves)
        demand(there, "claims", f"{claim} is missing")
    for leaf in leaves:
        demand(leaf.startswith(tuple(paths)), "claims", "more was disclosed than requested")


def _leaves(claims: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The path of each value, with a dot after each name."""
    for name, value in claims.items():
        path = f"{above}{name}."
        yield from _leaves(value, path) if isinstance(value, Mapping) and value else [path]


def _check_binding(given: Presentation, request: Pending, now: float) -> None:
    """The Key Binding JWT (RFC 9901 §7.3 step 5) and its transaction data (OpenID4VP 1.0 B.3.3)."""
    said, key = given.binding.payload, jose.public_key(at(given.jwt.payload, "cnf", "jwk"), "kb-signature")
    given.binding.verify(key, "kb+jwt", "kb-signature", "kb-typ", "kb-typ")
    iat = whole_number(said.get("iat"))
    demand(iat is not None and abs(now - iat) <= TOLERANCE, "kb-iat", "it was not made just now")
    issued = given.jwt.payload
    own = "aud" not in issued or jose.is_for(issued, request.client_id)
    # In the binding it is a text (RFC 9901 §4.3).
    demand(said.get("aud") == request.client_id and own, "kb-aud", "it was made for another client")
    demand(request.nonce and said.get("nonce") == request.nonce, "kb-nonce", "it has another nonce")
    demand(said.get("sd_hash") == digest(given.bound), "kb-sd-hash", "it is bound to other disclosures")
    wanted = request.hashes or None
    hashed = (said.get("transaction_data_hashes_alg", "sha-256"), said.get("transaction_data_hashes"))
    demand(hashed == ("sha-256", wanted), "transaction-data", "it is not that of the request")


def _check_status(said: Mapping[str, Any], key_of: KeyOf, now: float, list_at: ListAt) -> str:
    """The status list that says: neither revoked nor suspended (Token Status List §8.3)."""
    idx, uri = (at(said, "status", "status_list", name) for name in ("idx", "uri"))
    idx, uri = whole_number(idx), str(uri)
    if idx is None or idx < 0 or not uri.startswith(f"{said['iss']}/"):
        raise Rejected("status", "no status list of the issuer is named")
    token, inflating = list_at(uri), zlib.decompressobj()
    try:
        jwt = Jwt(token)
        jwt.verify(key_of(jwt), "statuslist+jwt", "status")
        bits = whole_number(at(jwt.payload, "status_list", "bits"))
        unpacked = inflating.decompress(decode(at(jwt.payload, "status_list", "lst")), LONGEST_LIST)
    except (Rejected, zlib.error) as error:
        raise Rejected("status", f"the status list cannot be used ({error})") from None
    demand(jwt.payload.get("sub") == uri, "status", "it is another list")
    iat, exp = whole_number(jwt.payload.get("iat")), whole_number(jwt.payload.get("exp"))
    current = iat is not None and iat <= now + TOLERANCE and exp is not None and now < exp + TOLERANCE
    demand(current, "status", "the list has expired, or is from the future")
    if bits not in (1, 2, 4, 8) or not inflating.eof or idx >= len(unpacked) * 8 // bits:
        raise Rejected("status", "the list has no such place")
    value = unpacked[idx * bits // 8] >> (idx * bits % 8) & (2**bits - 1)
    demand(value == 0, "status", {1: "it was revoked", 2: "it is suspended"}.get(value, "it is not valid"))
    return token
