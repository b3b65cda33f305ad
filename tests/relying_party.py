"""An independent relying party, written from the standards. It imports nothing of the service.

It builds authorization requests, reads answers strictly, and verifies presentations against what is published
(discovery, key set, root certificate). Whatever it does not accept raises `RejectedError`, an AssertionError
that names the check. The playground's verifier uses the same names, so one table tests both.
"""

import base64
import hashlib
import json
import re
import secrets
import time
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote_plus, urlencode

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from joserfc import jwe
from joserfc.jwk import ECKey

AUTHORIZE_PATH = "/verifiable-credentials/v1/presentation/authorize"
BASIC = "urn:service:params:scope:verifiable-credentials:basic"
BASIC_CLAIMS = (("given_name",), ("family_name",), ("age_equal_or_over", "18"))
OF_THE_TOKEN = {"iss", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "status"}
JWK_MEMBERS = {"kty", "kid", "use", "x5c", "crv", "x", "y"}
HOLDER_KEY_MEMBERS = {"kty", "crv", "x", "y", "kid", "use", "alg", "key_ops"}  # public ones
CLOCK_SKEW = 30
FRESH = 300
LONGEST_STATUS_LIST = 2**22  # bytes, unpacked
STATUS = {0: "valid", 1: "invalid", 2: "suspended"}


class RejectedError(AssertionError):
    """The presentation, the answer or a document was refused. `check` names the failed check."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(f"{check}: {message}")
        self.check = check


def demand(condition: object, check: str, message: str) -> None:
    """Raises `RejectedError` unless the condition holds."""
    if not condition:
        raise RejectedError(check, message)


# --- Values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The answer in the fragment: either `presentation` (and `vp_token`, as it was sent) or `error`."""

    presentation: str | None = None
    vp_token: str | None = None
    state: str | None = None
    error: str | None = None
    error_description: str | None = None


@dataclass(frozen=True)
class Jwt:
    """A compact JWS, decoded but not verified."""

    header: dict[str, Any]
    payload: dict[str, Any]
    signing_input: bytes
    signature: bytes


@dataclass(frozen=True)
class Disclosure:
    """One disclosure as sent: its text, its digest and its content."""

    encoded: str
    digest: str
    content: list[Any]


@dataclass
class Unfolded:
    """The result of processing a payload with its disclosures (RFC 9901 §7.1 steps 3 to 5)."""

    claims: dict[str, Any] = field(default_factory=dict)
    malformed: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    digests: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Presentation:
    """A verified presentation with all its parts."""

    jwt: Jwt
    disclosures: tuple[Disclosure, ...]
    key_binding: Jwt
    claims: dict[str, Any]


# --- The relying party ------------------------------------------------------------------------------


def get(url: str) -> bytes:
    """The body at an address, by plain HTTP; raises for anything but 200."""
    with urllib.request.urlopen(url, timeout=30) as response:
        return bytes(response.read())


class RelyingParty:
    """A registered relying party: `client_id`, the address of its answers, and the holder it asks.

    `fetch` reads a published document by its address. `trusted_root` is the DER of the root certificate, as
    received out of band; left out, the sandbox's published root is trusted.
    """

    def __init__(
        self,
        client_id: str,
        redirect_uri: str,
        base_url: str,
        *,
        fetch: Callable[[str], bytes] = get,
        wire_format: str = "string",
        trusted_root: bytes | None = None,
        claims: Sequence[tuple[str, ...]] = BASIC_CLAIMS,
        optional: Sequence[tuple[str, ...]] = (),
    ) -> None:
        self.client_id = client_id
        self.redirect_uri = redirect_uri
        self.base_url = base_url.rstrip("/")
        self.fetch = fetch
        self.wire_format = wire_format
        self.trusted_root = trusted_root
        self.claims = tuple(claims)
        self.optional = tuple(optional)  # those of them that the holder may leave off
        self.sent: dict[str, Any] = {}  # the parameters of the newest request

    # Requests

    def authorize_url(self, **changes: Any) -> str:
        """The address for the browser: a correct request, with `changes`.

        None leaves a parameter out, a list repeats it. `transaction_data` may be a list of objects, which are
        encoded as the contract says. Remembers the request as `sent`.
        """
        self.sent = {
            "response_type": "vp_token",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": BASIC,
            "login_hint": "alice@example.org",
            "nonce": secrets.token_urlsafe(24),
            "state": secrets.token_urlsafe(12),
        } | changes
        objects = self.sent.get("transaction_data")
        if isinstance(objects, list) and all(isinstance(value, dict) for value in objects):
            self.sent["transaction_data"] = " ".join(encode_object(value) for value in objects)
        given = {name: value for name, value in self.sent.items() if value is not None}
        return f"{self.base_url}{AUTHORIZE_PATH}?{urlencode(given, quote_via=quote, safe='', doseq=True)}"

    # Answers

    def read(self, location: str) -> Answer:
        """The answer in the address to which the browser was redirected. As strict as the standards.

        Raises RejectedError("answer", …) for a wrong address, encoding, unknown or repeated parameters, and
        a `state` that is not the one sent.
        """
        address, hash_sign, fragment = location.partition("#")
        demand(address == self.redirect_uri, "answer", f"it went to {address}, not to {self.redirect_uri}")
        demand(hash_sign, "answer", "there is no fragment")
        given = dict(self._parameters(fragment))
        answer = self._success(given) if "vp_token" in given else self._failure(given)
        sent_state = self.sent.get("state")
        demand(answer.state == sent_state, "answer", f"state is {answer.state!r}, sent was {sent_state!r}")
        return answer

    def read_posted(self, form: str, *, key: Mapping[str, Any] | None = None) -> Answer:
        """The answer in a form that was posted to the response URI (OpenID4VP 1.0 §8.2), as strict as `read`.

        key: the private JWK of what the request asked to encrypt to (§8.3); only errors come without.
        """
        given = dict(self._parameters(form))
        if key is None or "error" in given:
            answer = self._success(given) if "vp_token" in given else self._failure(given)
        else:
            answer = self._decrypted(given, key)
        sent_state = self.sent.get("state")
        demand(answer.state == sent_state, "answer", f"state is {answer.state!r}, sent was {sent_state!r}")
        return answer

    def _decrypted(self, given: Mapping[str, str], key: Mapping[str, Any]) -> Answer:
        demand(set(given) == {"response"}, "answer", f"there is not `response` alone, but {sorted(given)}")
        opened = jwe.decrypt_compact(
            given["response"], ECKey.import_key(dict(key)), algorithms=["ECDH-ES", "A128GCM", "A256GCM"]
        )
        expected = {"alg": "ECDH-ES", "kid": key.get("kid")}
        said = {name: opened.protected.get(name) for name in expected}
        demand(said == expected, "answer", f"the header says {said}")
        members = json.loads(opened.plaintext or b"")
        demand(set(members) <= {"vp_token", "state"}, "answer", f"unknown members in {sorted(members)}")
        token = members["vp_token"]
        as_object = self.wire_format != "string"
        demand(isinstance(token, dict if as_object else str), "answer", "vp_token is not in the wire format")
        issuer = (
            {"iss": self.base_url} if as_object else {}
        )  # omitted in an encrypted answer, because the key identifies the issuer
        return self._success({**members, "vp_token": json.dumps(token) if as_object else token, **issuer})

    def _parameters(self, fragment: str) -> Iterator[tuple[str, str]]:
        """The form-encoded pairs (OAuth 2.0 Multiple Response Types §2), each name once."""
        seen = set()
        for pair in fragment.split("&"):
            name, equals, value = pair.partition("=")
            encoded = re.fullmatch(r"(?:[A-Za-z0-9*._~+-]|%[0-9A-Fa-f]{2})*", value)
            demand(equals and encoded, "answer", f"{name[:30]!r} is not form-encoded")
            demand(name not in seen, "answer", f"{name!r} is there twice")
            seen.add(name)
            yield name, unquote_plus(value, errors="strict")

    def _success(self, given: Mapping[str, str]) -> Answer:
        as_object = self.wire_format != "string"
        self._only(given, {"vp_token", "state", *(["iss"] if as_object else [])})
        presentation = given["vp_token"]
        if as_object:
            queries = json.loads(given["vp_token"])
            demand(isinstance(queries, dict) and queries, "answer", "vp_token is not an object of queries")
            for query_id, found in queries.items():
                one = isinstance(found, list) and len(found) == 1 and isinstance(found[0], str)
                demand(one, "answer", f"vp_token[{query_id!r}] is not a list of one presentation")
            presentation = next(iter(queries.values()))[0]
        return Answer(presentation, given["vp_token"], given.get("state"))

    def _failure(self, given: Mapping[str, str]) -> Answer:
        demand("error" in given, "answer", f"neither vp_token nor error, but {sorted(given)}")
        self._only(given, {"error", "error_description", "state", "iss"})
        for name in {"error", "error_description"} & set(given):
            allowed = re.fullmatch(r"[\x20\x21\x23-\x5b\x5d-\x7e]+", given[name])  # RFC 6749 §4.2.2.1
            demand(allowed, "answer", f"{name} has characters that it may not have")
        return Answer(
            error=given["error"], error_description=given.get("error_description"), state=given.get("state")
        )

    def _only(self, given: Mapping[str, str], allowed: set[str]) -> None:
        demand(set(given) <= allowed, "answer", f"unknown parameters {sorted(set(given) - allowed)}")
        if "iss" in allowed:  # RFC 9207 §2.4
            demand(given.get("iss") == self.base_url, "answer", f"iss is {given.get('iss')!r}")

    # Verification

    def verify(self, presentation: str | Answer, *, now: float | None = None) -> dict[str, Any]:
        """The disclosed claims of a presentation that answers the newest request; raises RejectedError."""
        return self.examine(presentation, now=now).claims

    def examine(self, presentation: str | Answer, *, now: float | None = None) -> Presentation:
        """Like `verify`, but returns all parts of the presentation."""
        token = presentation.presentation if isinstance(presentation, Answer) else presentation
        demand(token, "structure", "the answer carries no presentation")
        moment = time.time() if now is None else now
        jwt, disclosures, binding, bound = take_apart(str(token))
        self._issued(jwt, moment)
        claims = disclosed_claims(jwt, disclosures)
        self._as_asked(claims)
        verify_key_binding(
            jwt, binding, bound, audience=self.client_id, nonce=str(self.sent.get("nonce")), now=moment
        )
        verify_transaction_data(binding, str(self.sent.get("transaction_data") or ""))
        self._still_good(jwt.payload, moment)  # last: the list of an invalid presentation is not fetched
        return Presentation(jwt, disclosures, binding, claims)

    def discovery(self) -> dict[str, Any]:
        """The discovery document, which must name this issuer (RFC 8414 §3.3)."""
        document = json.loads(self.fetch(f"{self.base_url}/.well-known/openid-configuration"))
        demand(document.get("issuer") == self.base_url, "discovery", f"issuer is {document.get('issuer')!r}")
        for member in ("token_endpoint", "jwks_uri"):
            inside = str(document.get(member)).startswith(f"{self.base_url}/")
            demand(inside, "discovery", f"{member} is {document.get(member)!r}")
        return dict(document)

    def keys(self) -> dict[str, dict[str, Any]]:
        """The keys for credentials by `kid`, each with exactly the members of the contract.

        RSA keys in the set are for ID tokens only.
        """
        published = json.loads(self.fetch(self.discovery()["jwks_uri"]))["keys"]
        keys = [jwk for jwk in published if jwk.get("kty") != "RSA"]
        for jwk in keys:
            demand(set(jwk) == JWK_MEMBERS, "kid", f"a key has the members {sorted(jwk)}")
            kind = (jwk["kty"], jwk["use"], jwk["crv"])
            demand(kind == ("EC", "sig", "P-256"), "kid", f"a key is {kind}")
            demand(str(uuid.UUID(jwk["kid"])) == jwk["kid"], "kid", f"kid {jwk['kid']!r} is not a UUID")
        by_kid = {jwk["kid"]: jwk for jwk in keys}
        demand(len(by_kid) == len(keys), "kid", "two keys have the same kid")
        return by_kid

    def root(self) -> bytes:
        """The trusted root certificate, DER."""
        return self.trusted_root or self.fetch(f"{self.base_url}/trust/root.der")

    def _issued(self, jwt: Jwt, now: float) -> None:
        issuer = self.discovery()["issuer"]
        demand(jwt.payload.get("iss") == issuer, "iss", f"{jwt.payload.get('iss')!r}, not {issuer!r}")
        demand(type_of(jwt) == "dc+sd-jwt", "typ", f"{jwt.header.get('typ')!r}")
        demand(jwt.header.get("alg") == "ES256", "alg", f"{jwt.header.get('alg')!r}")
        self._signed_by_issuer(jwt, now)
        vct = f"{issuer}/credential-types/identity/v1"
        demand(jwt.payload.get("vct") == vct, "vct", f"{jwt.payload.get('vct')!r}")
        verify_dates(jwt.payload, now=now)

    def _signed_by_issuer(self, jwt: Jwt, now: float) -> None:
        jwk = self.keys().get(str(jwt.header.get("kid")))
        if jwk is None:
            raise RejectedError("kid", f"{jwt.header.get('kid')!r} is not in the key set")
        verify_signature(jwt, jwk, "issuer-signature")
        verify_certificates(jwt, jwk, self.root(), now=now)

    def _still_good(self, payload: Mapping[str, Any], now: float) -> None:
        """Checks that the issuer's list says that the credential is valid (Token Status List §8.3)."""
        idx, uri = status_reference(payload)
        demand(uri.startswith(f"{self.base_url}/"), "status", f"the list at {uri} is not the issuer's")
        jwt = read_jwt(self.fetch(uri).decode())
        try:
            self._signed_by_issuer(jwt, now)
        except RejectedError as error:
            raise RejectedError("status", f"the list: {error}") from error
        said = status_in(jwt, uri, idx, now=now)
        demand(said == 0, "status", f"the credential is {STATUS.get(said, said)}")

    def _as_asked(self, claims: Mapping[str, Any]) -> None:
        """Checks that exactly the requested claims are disclosed (OpenID4VP 1.0 §8.6)."""
        found = set(leaves(claims)) - {()}  # the path of an empty object
        for path in self.claims:
            there = any(leaf[: len(path)] == path for leaf in found)
            needed = path not in self.optional
            demand(there or not needed, "claims", f"{'.'.join(path)} was asked for and is not disclosed")
        for leaf in found:
            asked = any(leaf[: len(path)] == path for path in self.claims)
            demand(asked, "claims", f"{'.'.join(leaf)} is disclosed and was not asked for")


# --- Verification, from the text of the standards ---------------------------------------------------------


def take_apart(token: str) -> tuple[Jwt, tuple[Disclosure, ...], Jwt, str]:
    """An SD-JWT with key binding (RFC 9901 §4): JWT, disclosures, KB-JWT, and what `sd_hash` is over."""
    parts = token.split("~")
    demand(len(parts) > 1, "structure", "there is no ~ in it")
    demand(parts[-1], "structure", "there is no Key Binding JWT")
    disclosures = tuple(read_disclosure(encoded) for encoded in parts[1:-1])
    bound = token[: token.rindex("~") + 1]
    return read_jwt(parts[0]), disclosures, read_jwt(parts[-1]), bound


def read_jwt(compact: str) -> Jwt:
    """A compact JWS (RFC 7515 §7.1) with JSON objects inside; nothing is verified."""
    parts = compact.split(".")
    demand(len(parts) == 3, "structure", f"a JWT has {len(parts)} parts")
    header, payload = read_json(parts[0]), read_json(parts[1])
    demand(
        isinstance(header, dict) and isinstance(payload, dict), "structure", "a JWT is not made of objects"
    )
    return Jwt(header, payload, f"{parts[0]}.{parts[1]}".encode(), decode(parts[2]))


def read_disclosure(encoded: str) -> Disclosure:
    """A disclosure and its digest, which is over the text as sent (RFC 9901 §4.2.3)."""
    content = read_json(encoded)
    demand(isinstance(content, list), "structure", f"the disclosure {encoded[:20]}… is not an array")
    return Disclosure(encoded, digest(encoded), content)


def disclosed_claims(jwt: Jwt, disclosures: Sequence[Disclosure]) -> dict[str, Any]:
    """The processed payload without the token's own claims (RFC 9901 §7.1 steps 2d to 5)."""
    algorithm = jwt.payload.get("_sd_alg", "sha-256")
    demand(algorithm == "sha-256", "sd-alg", f"{algorithm!r}")
    result = Unfolded()
    by_digest = {disclosure.digest: disclosure for disclosure in disclosures}
    claims = _unfold_object(jwt.payload, by_digest, result, top=True)
    for disclosure in disclosures:
        if not (disclosure.content and isinstance(disclosure.content[0], str)):
            result.malformed.append(f"{disclosure.encoded[:20]}… has no salt")
    if len(by_digest) < len(disclosures):
        result.repeated.append("a disclosure was sent twice")
    demand(not result.malformed, "disclosures-form", "; ".join(result.malformed))
    demand(not result.repeated, "digests-once", "; ".join(result.repeated))
    salts = {disclosure.content[0] for disclosure in disclosures}
    demand(len(salts) == len(disclosures), "disclosures-form", "two disclosures have the same salt")
    orphans = [d.encoded[:20] for d in disclosures if d.digest not in result.used]
    demand(not orphans, "disclosures-referenced", f"no signed digest for {orphans}")
    return {name: value for name, value in claims.items() if name not in OF_THE_TOKEN}


def _unfold_object(
    node: Mapping[str, Any], by_digest: Mapping[str, Disclosure], result: Unfolded, *, top: bool = False
) -> dict[str, Any]:
    known = {"_sd", "_sd_alg"} if top else {"_sd"}
    claims = {k: _unfold(value, by_digest, result) for k, value in node.items() if k not in known}
    if {"_sd_alg", "..."} & set(claims):
        result.malformed.append("_sd_alg or ... where it may not be")
    digests = node.get("_sd", [])
    if not isinstance(digests, list):
        result.malformed.append("_sd is not an array")
        return claims
    forbidden = {"_sd", "..."} | (OF_THE_TOKEN if top else set())
    for content in _found(digests, by_digest, result):
        if len(content) != 3 or not isinstance(content[1], str) or content[1] in forbidden | set(claims):
            result.malformed.append(f"a property's disclosure says {content[1:2]}")
        else:
            claims[content[1]] = _unfold(content[2], by_digest, result)
    return claims


def _unfold(node: Any, by_digest: Mapping[str, Disclosure], result: Unfolded) -> Any:
    if isinstance(node, dict):
        return _unfold_object(node, by_digest, result)
    if not isinstance(node, list):
        return node
    elements = []
    for element in node:
        if not (isinstance(element, dict) and set(element) == {"..."}):
            elements.append(_unfold(element, by_digest, result))
            continue
        for content in _found([element["..."]], by_digest, result):
            if len(content) != 2:
                result.malformed.append("an array element's disclosure does not have two parts")
            else:
                elements.append(_unfold(content[1], by_digest, result))
    return elements


def _found(
    digests: Sequence[Any], by_digest: Mapping[str, Disclosure], result: Unfolded
) -> Iterator[list[Any]]:
    """The contents disclosed for these digests. A digest without a disclosure may be a decoy."""
    for value in digests:
        if not isinstance(value, str):
            result.malformed.append("a digest is not a string")
        elif value in result.digests:
            result.repeated.append(f"the digest {value} is there twice")
        elif value in by_digest:
            result.used.add(value)
        if isinstance(value, str) and value not in result.digests:
            result.digests.add(value)
            if value in by_digest:
                yield by_digest[value].content


def type_of(jwt: Jwt) -> str | None:
    """The media type in `typ`, without `application/` and in lower case (RFC 7515 §4.1.9, RFC 2045 §5.1)."""
    typ = jwt.header.get("typ")
    if not isinstance(typ, str) or not typ.isascii():
        return None
    return typ.lower().removeprefix("application/")


def verify_key_binding(jwt: Jwt, binding: Jwt, bound: str, *, audience: str, nonce: str, now: float) -> None:
    """RFC 9901 §7.3 step 5: type, signature by `cnf`, time, audience, nonce, and hash of this SD-JWT."""
    kind = (type_of(binding), binding.header.get("alg"))
    demand(kind == ("kb+jwt", "ES256"), "kb-typ", f"typ and alg are {kind}")
    demand(set(binding.header) == {"typ", "alg"}, "kb-typ", f"the header has {sorted(binding.header)}")
    cnf = jwt.payload.get("cnf", {})
    holder = cnf.get("jwk")
    demand(holder, "kb-signature", "the issuer named no holder key")
    demand(set(cnf) == {"jwk"}, "kb-signature", f"cnf has {sorted(cnf)}")
    demand(set(holder) <= HOLDER_KEY_MEMBERS, "kb-signature", f"cnf.jwk has {sorted(holder)}")
    verify_signature(binding, holder, "kb-signature")
    said = binding.payload
    iat = said.get("iat")
    fresh = isinstance(iat, int) and not isinstance(iat, bool) and abs(now - iat) <= FRESH
    demand(fresh, "kb-iat", f"made at {iat!r}, now is {now:.0f}")
    demand(said.get("aud") == audience, "kb-aud", f"{said.get('aud')!r}, not {audience!r}")
    demand(said.get("nonce") == nonce, "kb-nonce", f"{said.get('nonce')!r}, not {nonce!r}")
    demand(said.get("sd_hash") == digest(bound), "kb-sd-hash", f"{said.get('sd_hash')!r}")


def verify_transaction_data(binding: Jwt, sent: str) -> None:
    """OpenID4VP 1.0 B.3.3: a hash of each value exactly as it was sent, in the same order."""
    values = json.loads(sent) if sent.startswith("[") else sent.split()
    hashes = binding.payload.get("transaction_data_hashes")
    algorithm = binding.payload.get("transaction_data_hashes_alg")
    if not values:
        unbound = hashes is None and algorithm is None
        demand(unbound, "transaction-data", "none was sent, and the token is bound to one")
        return
    demand(algorithm in (None, "sha-256"), "transaction-data", f"hashed with {algorithm!r}")
    wanted = [digest(value) for value in values]
    demand(hashes == wanted, "transaction-data", f"the hashes are {hashes}, expected were {wanted}")


def verify_signature(jwt: Jwt, jwk: Mapping[str, Any], check: str) -> None:
    """ES256 (RFC 7518 §3.4) by a P-256 key."""
    demand((jwk.get("kty"), jwk.get("crv")) == ("EC", "P-256"), check, "the key is not a P-256 key")
    demand(len(jwt.signature) == 64, check, f"the signature has {len(jwt.signature)} bytes")
    x, y = (int.from_bytes(decode(jwk[name]), "big") for name in ("x", "y"))
    r, s = (int.from_bytes(half, "big") for half in (jwt.signature[:32], jwt.signature[32:]))
    key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    try:
        key.verify(utils.encode_dss_signature(r, s), jwt.signing_input, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise RejectedError(check, "the signature does not fit") from None


def verify_certificates(jwt: Jwt, jwk: Mapping[str, Any], root_der: bytes, *, now: float) -> None:
    """Verifies the signing key's published chain, without the root, up to the trusted root (RFC 5280 §6)."""
    sent, published = jwt.header.get("x5c") or [], jwk["x5c"]
    part = sent and len(sent) < len(published) and sent == published[: len(sent)]
    demand(part, "x5c", f"{len(sent)} certificates, not the published {len(published)} without the root")
    chain = [x509.load_der_x509_certificate(base64.b64decode(each, validate=True)) for each in sent]
    inside = chain[0].public_key()
    assert isinstance(inside, ec.EllipticCurvePublicKey)
    numbers = inside.public_numbers()
    same = all(
        decode(jwk[name]) == number.to_bytes(32, "big")
        for name, number in (("x", numbers.x), ("y", numbers.y))
    )
    demand(same, "certificate-key", "the leaf certificate is about another key")
    _verify_path([*chain, x509.load_der_x509_certificate(root_der)], datetime.fromtimestamp(now, UTC))


def _verify_path(path: Sequence[x509.Certificate], moment: datetime) -> None:
    check = "certificate-chain"
    for certificate in path:
        in_date = certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc
        demand(in_date, check, f"{certificate.subject.rfc4514_string()} is out of date")
    for below, (certificate, issuer) in enumerate(zip(path, path[1:], strict=False)):
        try:
            certificate.verify_directly_issued_by(issuer)
        except (InvalidSignature, ValueError, TypeError):
            name = issuer.subject.rfc4514_string()
            raise RejectedError(check, f"certificate {below} was not issued by {name}") from None
        limits = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        depth = limits.path_length
        demand(
            limits.ca and (depth is None or depth >= below), check, f"certificate {below + 1} may not issue"
        )


def verify_dates(payload: Mapping[str, Any], *, now: float) -> None:
    """`exp` is present and in the future; `nbf`, if present, is in the past (RFC 7519 §4.1.4, §4.1.5)."""
    exp, nbf = payload.get("exp"), payload.get("nbf", 0)
    demand(isinstance(exp, int) and not isinstance(exp, bool), "exp", f"exp is {exp!r}")
    demand(now < exp + CLOCK_SKEW, "exp", f"it ended at {exp}, now is {now:.0f}")
    demand(nbf <= now + CLOCK_SKEW, "exp", f"it begins at {nbf}, now is {now:.0f}")


# --- Status, from the text of Token Status List -------------------------------------------------------------


def status_reference(payload: Mapping[str, Any]) -> tuple[int, str]:
    """Index and address in a credential (§6.2)."""
    status = payload.get("status")
    said = status.get("status_list") if isinstance(status, dict) else None
    demand(isinstance(said, dict), "status", f"status is {status!r}")
    idx, uri = said.get("idx"), said.get("uri")  # type: ignore[union-attr]
    demand(isinstance(idx, int) and not isinstance(idx, bool) and idx >= 0, "status", f"idx is {idx!r}")
    demand(isinstance(uri, str), "status", f"uri is {uri!r}")
    return idx, uri  # type: ignore[return-value]


def status_in(jwt: Jwt, uri: str, idx: int, *, now: float) -> int:
    """The status of an index in a list's token with a verified signature (§5.1, §8.3 steps 3 to 8)."""
    kind = (type_of(jwt), jwt.header.get("alg"))
    demand(kind == ("statuslist+jwt", "ES256"), "status", f"typ and alg are {kind}")
    said = jwt.payload
    demand(said.get("sub") == uri, "status", f"the list at {uri} says that it is {said.get('sub')!r}")
    for name in ("iat", "exp"):
        demand(type(said.get(name)) is int, "status", f"{name} is {said.get(name)!r}")
    demand(said["iat"] <= now + CLOCK_SKEW, "status", "the list was made in the future")
    demand(now < said["exp"], "status", f"the list ended at {said['exp']}, now is {now:.0f}")
    ttl = said.get("ttl", 1)
    demand(type(ttl) is int and ttl > 0, "status", f"ttl is {ttl!r}")
    content = said.get("status_list")
    demand(isinstance(content, dict), "status", f"status_list is {content!r}")
    return status_at(content.get("lst"), content.get("bits"), idx)


def status_at(lst: Any, bits: Any, idx: int) -> int:
    """The entry at an index (§4): ZLIB, then `bits` each, the lowest of a byte first."""
    demand(type(bits) is int and bits in (1, 2, 4, 8), "status", f"bits is {bits!r}")
    demand(isinstance(lst, str), "status", f"lst is {lst!r}")
    inflating = zlib.decompressobj()
    try:
        packed = inflating.decompress(decode(lst), LONGEST_STATUS_LIST)
    except zlib.error as error:
        raise RejectedError("status", f"lst: {error}") from None
    demand(inflating.eof and not inflating.unused_data, "status", "lst is cut off, or longer than any list")
    demand(0 <= idx < len(packed) * 8 // bits, "status", f"the list has no entry {idx}")
    return packed[idx * bits // 8] >> (idx * bits % 8) & (2**bits - 1)


# --- Encodings --------------------------------------------------------------------------------------------


def decode(text: str) -> bytes:
    """base64url without padding, canonical (RFC 7515 §2)."""
    demand(re.fullmatch(r"[A-Za-z0-9_-]*", text), "structure", f"{text[:20]!r} is not base64url")
    try:
        octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise RejectedError("structure", f"{text[:20]!r} is not base64url") from None
    demand(encode(octets) == text, "structure", f"{text[:20]!r} is not canonical base64url")
    return octets


def encode(octets: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def encode_object(value: Mapping[str, Any]) -> str:
    """A transaction data object as the contract sends it."""
    return encode(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def read_json(text: str) -> Any:
    """The JSON inside base64url; names must not repeat."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        demand(len(dict(pairs)) == len(pairs), "structure", "a name is there twice")
        return dict(pairs)

    try:
        return json.loads(decode(text).decode(), object_pairs_hook=once)
    except ValueError:
        raise RejectedError("structure", f"{text[:20]!r} is not JSON") from None


def digest(text: str) -> str:
    """base64url(SHA-256(ASCII(text)))."""
    return encode(hashlib.sha256(text.encode()).digest())


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every value in a tree of claims; an array counts as one value."""
    if not isinstance(node, Mapping) or not node:
        yield path
        return
    for name, value in node.items():
        yield from leaves(value, (*path, name))
