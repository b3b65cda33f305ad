"""An issuer and wallet for tests of verifiers: valid presentations, and every kind of forgery.

Like `relying_party`, it imports nothing of the service. `TAMPERINGS` is the table that tests
both verifiers: the one of the tests (Python) and the playground's (JavaScript).
"""

import base64
import gzip
import json
import secrets
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import NameOID

from tests.relying_party import digest, encode, encode_object

BASE_URL = "https://wallet.example"
NOW = 1_790_000_000
NONCE = "n-0S6_WzA2Mj-0S6_WzA2Mj"
CLIENT_ID = "acme-bank"
REDIRECT_URI = "https://bank.example/callback"
IDX = 1234  # the credential's place in the status list
PAYMENT = encode_object(
    {"type": "urn:example:payment", "credential_ids": ["basic"], "payload": {"amount": 12}}
)
SESSION = encode_object(
    {"type": "urn:example:session", "credential_ids": ["basic"], "payload": {"café": True}}
)

Key = ec.EllipticCurvePrivateKey


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def public_jwk(key: Key) -> dict[str, str]:
    """The public half as a JWK (RFC 7518 §6.2.1)."""
    numbers = key.public_key().public_numbers()
    x, y = (encode(number.to_bytes(32, "big")) for number in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def sign_jwt(header: dict[str, Any], payload: dict[str, Any], key: Key) -> str:
    """A compact JWS signed with ES256, also if the header names another algorithm."""
    return sign_text(".".join(encode(json.dumps(part).encode()) for part in (header, payload)), key)


def sign_text(signed: str, key: Key) -> str:
    """A compact JWS over this header and payload, as they are."""
    r, s = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def disclosure(*content: Any) -> str:
    """A disclosure with a fresh salt: (name, value), or (value,) for an array element."""
    return encode(json.dumps([secrets.token_urlsafe(16), *content]).encode())


def usage(*, sign: bool, certify: bool) -> x509.KeyUsage:
    """What the key of a certificate may do (RFC 5280 §4.2.1.3)."""
    return x509.KeyUsage(sign, False, False, False, False, certify, certify, False, False)


def certificate(
    name: str,
    key: Key,
    issuer: tuple[str, Key],
    *,
    authority: bool,
    days: int = 3650,
    path_length: int | None = None,
    host: str = "wallet.example",
) -> x509.Certificate:
    """A certificate around NOW, issued by `issuer`; one that is no authority is for the host."""
    as_name = lambda common: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])  # noqa: E731
    begin = datetime.fromtimestamp(NOW, UTC) - timedelta(days=10)
    builder = (
        x509.CertificateBuilder()
        .subject_name(as_name(name))
        .issuer_name(as_name(issuer[0]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=path_length), critical=True)
        .add_extension(usage(sign=not authority, certify=authority), critical=True)
    )
    if not authority:
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer[1], hashes.SHA256())


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


@dataclass
class Forger:
    """An issuer with keys, chain and published documents, and a wallet with a holder key."""

    root_key: Key = field(default_factory=new_key)
    issuing_key: Key = field(default_factory=new_key)
    signing_key: Key = field(default_factory=new_key)
    holder_key: Key = field(default_factory=new_key)
    unrelated_key: Key = field(default_factory=new_key)
    kid: str = field(default_factory=lambda: str(uuid.uuid4()))
    base_url: str = BASE_URL
    status_list: str = ""  # that of the last presentation

    def __post_init__(self) -> None:
        root, issuing = ("Root", self.root_key), ("Issuing CA", self.issuing_key)
        self.root = certificate("Root", self.root_key, root, authority=True)
        self.issuing = certificate("Issuing CA", self.issuing_key, root, authority=True)
        self.leaf = certificate("Credential signer", self.signing_key, issuing, authority=False)
        self.publish([self.leaf, self.issuing, self.root])

    def publish(self, chain: list[x509.Certificate]) -> None:
        """Publishes these certificates, leaf first and root last, as the chain."""
        self.chain = [base64.b64encode(der(each)).decode() for each in chain]

    def documents(self) -> dict[str, Any]:
        """The published documents by path."""
        jwk = {"kid": self.kid, "use": "sig", "x5c": self.chain, **public_jwk(self.signing_key)}
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.base_url,
                "token_endpoint": f"{self.base_url}/oauth/v2/token",
                "jwks_uri": f"{self.base_url}/openid-connect/jwks",
            },
            "/openid-connect/jwks": {"keys": [jwk]},
            **({"/status-lists/7": self.status_list} if self.status_list else {}),
        }

    def expectations(self) -> dict[str, Any]:
        """The expectations that the playground's verifier receives."""
        documents = self.documents()
        return {
            "issuer": self.base_url,
            "discovery": documents["/.well-known/openid-configuration"],
            "jwks": documents["/openid-connect/jwks"],
            "trustedRoot": base64.b64encode(der(self.root)).decode(),
            "vct": f"{self.base_url}/credential-types/identity/v1",
            "claims": [["given_name"], ["family_name"], ["age_equal_or_over", "18"]],
            "clientId": CLIENT_ID,
            "nonce": NONCE,
            "transactionData": [],
            "now": NOW,
            "maxAge": 300,
            "statusLists": {f"{self.base_url}/status-lists/7": self.status_list} if self.status_list else {},
        }

    def present(self, tampering: "Tampering") -> str:
        """A presentation of Alice's name and age, forged as `tampering` says."""
        adult = disclosure("18", True)
        age = disclosure("age_equal_or_over", {"_sd": [digest(adult), digest("decoy")]})
        shown = [disclosure("given_name", "Alice"), disclosure("family_name", "Müller"), age, adult]
        payload: dict[str, Any] = {
            "iss": self.base_url,
            "vct": f"{self.base_url}/credential-types/identity/v1",
            "iat": NOW - 100,
            "exp": NOW + 86400,
            "cnf": {"jwk": public_jwk(self.holder_key)},
            "status": {"status_list": {"idx": IDX, "uri": f"{self.base_url}/status-lists/7"}},
            "_sd_alg": "sha-256",
            "_sd": [
                *map(digest, shown[:3]),
                digest("another decoy"),
                digest(disclosure("birth_date", "1990")),
            ],
        }
        header = {"alg": "ES256", "typ": "dc+sd-jwt", "kid": self.kid, "x5c": self.chain[:-1]}
        tampering.issue(header, payload, shown)
        self._list(tampering)
        issuer_key = self.unrelated_key if tampering.wrong_issuer_key else self.signing_key
        issued = sign_jwt(_without_none(header), _without_none(payload), issuer_key)
        return tampering.send(f"{self._bind(issued, shown, tampering)}")

    def _list(self, tampering: "Tampering") -> None:
        header = {"alg": "ES256", "typ": "statuslist+jwt", "kid": self.kid, "x5c": self.chain[:-1]}
        payload = {
            "sub": f"{self.base_url}/status-lists/7",
            "iat": NOW - 100,
            "exp": NOW + 3600,
            "ttl": 300,
            "status_list": {"bits": 2, "lst": packed(0)},
        }
        tampering.listed(header, payload)
        list_key = self.unrelated_key if tampering.wrong_list_key else self.signing_key
        self.status_list = sign_jwt(_without_none(header), _without_none(payload), list_key)

    def _bind(self, issued: str, shown: list[str], tampering: "Tampering") -> str:
        bound = "~".join([issued, *shown, ""])
        kb_header = {"alg": "ES256", "typ": "kb+jwt"}
        kb_payload = {"iat": NOW, "aud": CLIENT_ID, "nonce": NONCE, "sd_hash": digest(bound)}
        tampering.bind(kb_header, kb_payload)
        holder_key = self.unrelated_key if tampering.wrong_holder_key else self.holder_key
        return bound + sign_jwt(_without_none(kb_header), _without_none(kb_payload), holder_key)


def packed(status: int, *, around: int = 0b01) -> str:
    """A list of 2 bits each that says `status` of IDX and `around` of all others, as `lst`."""
    entries = [status if idx == IDX else around for idx in range(4096)]
    octets = bytes(sum(entries[at + i] << 2 * i for i in range(4)) for at in range(0, 4096, 4))
    return encode(zlib.compress(octets))


def _without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _nothing(*parts: Any) -> None:
    return None


def _unchanged(token: str) -> str:
    return token


@dataclass
class Tampering:
    """One kind of forgery: what it changes, and the checks that must fail, in order.

    `issue` may change header, payload and disclosures before the issuer signs; `bind` the Key Binding JWT
    before the holder signs; `send` the finished token; `listed` the status list before it is signed. `expect`
    changes what the verifier expects.
    """

    failing: list[str]
    issue: Callable[[dict[str, Any], dict[str, Any], list[str]], Any] = _nothing
    bind: Callable[[dict[str, Any], dict[str, Any]], Any] = _nothing
    send: Callable[[str], str] = _unchanged
    expect: dict[str, Any] = field(default_factory=dict)
    listed: Callable[[dict[str, Any], dict[str, Any]], Any] = _nothing
    wrong_issuer_key: bool = False
    wrong_list_key: bool = False
    wrong_holder_key: bool = False


def _header(header: dict[str, Any], _payload: Any, _shown: Any, **members: Any) -> None:
    header.update(members)


def _payload(_header: Any, payload: dict[str, Any], _shown: Any, **members: Any) -> None:
    payload.update(members)


def _kb_header(header: dict[str, Any], _payload: Any, **members: Any) -> None:
    header.update(members)


def _kb_payload(_header: Any, payload: dict[str, Any], **members: Any) -> None:
    payload.update(members)


def _place(_header: Any, payload: dict[str, Any], _shown: Any, **members: Any) -> None:
    payload["status"]["status_list"].update(members)


def _content(_header: Any, payload: dict[str, Any], **members: Any) -> None:
    """Changes the content of the status list."""
    payload["status_list"].update(members)


def _add(_header: Any, payload: dict[str, Any], shown: list[str], *content: Any, signed: bool = True) -> None:
    """Another disclosure; `signed` puts its digest into the payload."""
    shown.append(disclosure(*content))
    if signed:
        payload["_sd"].append(digest(shown[-1]))


def _replace(_header: Any, payload: dict[str, Any], shown: list[str], encoded: str) -> None:
    """Another text as the family name's disclosure, properly signed."""
    payload["_sd"][1] = digest(encoded)
    shown[1] = encoded


def _swap_part(token: str, part: int, change: Callable[[str], str]) -> str:
    parts = token.split("~")
    parts[part] = change(parts[part])
    return "~".join(parts)


def _edit_payload(jwt: str) -> str:
    """A JWT whose payload was changed after signing."""
    head, _body, signature = jwt.split(".")
    payload = json.loads(base64.urlsafe_b64decode(_body + "==")) | {"extra": 1}
    return f"{head}.{encode(json.dumps(payload).encode())}.{signature}"


def _repeat(_header: Any, payload: dict[str, Any], _shown: Any) -> None:
    payload["_sd"].append(payload["_sd"][0])


TAMPERINGS: dict[str, Tampering] = {
    # structure
    "no tilde at all": Tampering(["structure"], send=lambda t: t.split("~")[0]),
    "no key binding": Tampering(["structure"], send=lambda t: t[: t.rindex("~") + 1]),
    "not a JWT": Tampering(["structure"], send=lambda t: _swap_part(t, 0, lambda _: "only.two")),
    "a JWT that is an array": Tampering(["structure"], send=lambda t: _swap_part(t, 0, lambda _: "W10.W10.")),
    "a header that is an array": Tampering(
        ["structure"], send=lambda t: _swap_part(t, 0, lambda _: "W10.W10.AA")
    ),
    "a padded disclosure": Tampering(["structure"], send=lambda t: _swap_part(t, 1, lambda d: f"{d}=")),
    "a disclosure that is an object": Tampering(
        ["structure"], send=lambda t: _swap_part(t, 1, lambda _: "e30")
    ),
    "a disclosure that is not UTF-8": Tampering(
        ["structure"], send=lambda t: _swap_part(t, 1, lambda _: "_w")
    ),
    "an empty disclosure": Tampering(["structure"], send=lambda t: _swap_part(t, 1, lambda _: "")),
    # who issued it
    "another issuer in the token": Tampering(["iss"], issue=partial(_payload, iss="https://evil.example")),
    "no issuer in the token": Tampering(["iss"], issue=partial(_payload, iss=None)),
    "another type": Tampering(["typ"], issue=partial(_header, typ="vc+sd-jwt")),
    "no type": Tampering(["typ"], issue=partial(_header, typ=None)),
    "a type that is no application": Tampering(["typ"], issue=partial(_header, typ="text/dc+sd-jwt")),
    "a type that is an array": Tampering(["typ"], issue=partial(_header, typ=["dc+sd-jwt"])),
    "alg none": Tampering(["alg"], issue=partial(_header, alg="none")),
    "alg ES384": Tampering(["alg"], issue=partial(_header, alg="ES384")),
    "an unknown key id": Tampering(
        ["kid", "issuer-signature", "x5c", "certificate-key"], issue=partial(_header, kid=str(uuid.uuid4()))
    ),
    "no key id": Tampering(
        ["kid", "issuer-signature", "x5c", "certificate-key"], issue=partial(_header, kid=None)
    ),
    "signed by another key": Tampering(["issuer-signature"], wrong_issuer_key=True),
    "a payload changed after signing": Tampering(
        ["issuer-signature", "claims", "kb-sd-hash"], send=lambda t: _swap_part(t, 0, _edit_payload)
    ),
    "no chain": Tampering(["x5c", "certificate-key", "certificate-chain"], issue=partial(_header, x5c=None)),
    "the chain in another order": Tampering(
        ["x5c", "certificate-key", "certificate-chain"],
        issue=lambda header, *_: header.update(x5c=header["x5c"][::-1]),
    ),
    # what it is
    "another credential type": Tampering(
        ["vct"], issue=partial(_payload, vct="https://wallet.example/other")
    ),
    "no credential type": Tampering(["vct"], issue=partial(_payload, vct=None)),
    "an ended token": Tampering(["exp"], issue=partial(_payload, exp=NOW - 3600)),
    "a token without an end": Tampering(["exp"], issue=partial(_payload, exp=None)),
    "a token whose end is a text": Tampering(["exp"], issue=partial(_payload, exp="never")),
    "a token of tomorrow": Tampering(["exp"], issue=partial(_payload, nbf=NOW + 3600)),
    # disclosures
    "another hash": Tampering(["sd-alg"], issue=partial(_payload, _sd_alg="sha-512")),
    "a property with two parts": Tampering(
        ["disclosures-form", "claims"], issue=partial(_replace, encoded=disclosure("Müller"))
    ),
    "a name that is a number": Tampering(
        ["disclosures-form", "claims"], issue=partial(_replace, encoded=disclosure(7, "Müller"))
    ),
    "a salt that is a number": Tampering(
        ["disclosures-form"], issue=partial(_replace, encoded=encode(b'[1,"family_name","M"]'))
    ),
    "a claim named _sd": Tampering(
        ["disclosures-form", "claims"], issue=partial(_replace, encoded=disclosure("_sd", []))
    ),
    "a claim that is there already": Tampering(
        ["disclosures-form"], issue=lambda *parts: _add(*parts, "given_name", "Mallory")
    ),
    "a disclosed expiry": Tampering(["disclosures-form"], issue=lambda *parts: _add(*parts, "nbf", 0)),
    "a digest that is a number": Tampering(
        ["disclosures-form"], issue=lambda _h, payload, _s: payload["_sd"].append(7)
    ),
    "_sd that is an object": Tampering(
        ["disclosures-form", "claims"],
        issue=lambda _h, payload, _s: payload.update(address={"_sd": {"a": "b"}}),
    ),
    "_sd_alg below the top": Tampering(
        ["disclosures-form", "claims"],
        issue=lambda _h, payload, _s: payload.update(address={"_sd_alg": "sha-256"}),
    ),
    "a digest twice": Tampering(["digests-once"], issue=_repeat),
    "a disclosure twice": Tampering(["digests-once"], issue=lambda _h, _p, shown: shown.append(shown[0])),
    "a disclosure nobody signed": Tampering(
        ["disclosures-referenced"], issue=lambda *parts: _add(*parts, "admin", True, signed=False)
    ),
    "a changed value": Tampering(
        ["disclosures-referenced", "claims", "kb-sd-hash"],
        send=lambda t: _swap_part(t, 1, lambda _: disclosure("given_name", "Mallory")),
    ),
    "a child without its parent": Tampering(
        ["disclosures-referenced", "claims"], issue=lambda _h, _p, shown: shown.pop(2)
    ),
    "a claim withheld": Tampering(["claims"], issue=lambda _h, _p, shown: shown.pop(0)),
    "a claim too many": Tampering(["claims"], issue=lambda *parts: _add(*parts, "birth_date", "1990-04-01")),
    # key binding
    "an issuer JWT in the place of the binding": Tampering(
        ["kb-typ"], bind=partial(_kb_header, typ="dc+sd-jwt")
    ),
    "a type whose letter only becomes a k in lower case": Tampering(
        ["kb-typ"], bind=partial(_kb_header, typ="\u212ab+jwt")
    ),
    "a binding with alg none": Tampering(["kb-typ"], bind=partial(_kb_header, alg="none")),
    "bound by another key": Tampering(["kb-signature"], wrong_holder_key=True),
    "no holder key": Tampering(["kb-signature"], issue=partial(_payload, cnf=None)),
    "an old binding": Tampering(["kb-iat"], bind=partial(_kb_payload, iat=NOW - 3600)),
    "a binding from the future": Tampering(["kb-iat"], bind=partial(_kb_payload, iat=NOW + 3600)),
    "a binding without a time": Tampering(["kb-iat"], bind=partial(_kb_payload, iat=None)),
    "for another application": Tampering(["kb-aud"], bind=partial(_kb_payload, aud="corner-shop")),
    "for several applications": Tampering(["kb-aud"], bind=partial(_kb_payload, aud=[CLIENT_ID])),
    "an old nonce": Tampering(["kb-nonce"], bind=partial(_kb_payload, nonce="n" * 24)),
    "no nonce": Tampering(["kb-nonce"], bind=partial(_kb_payload, nonce=None)),
    "bound to other disclosures": Tampering(
        ["kb-sd-hash"], bind=partial(_kb_payload, sd_hash=digest("other"))
    ),
    "a disclosure taken away on the way": Tampering(
        ["claims", "kb-sd-hash"],
        send=lambda t: "~".join(part for i, part in enumerate(t.split("~")) if i != 1),
    ),
    # transaction data
    "a transaction nobody sent": Tampering(
        ["transaction-data"], bind=partial(_kb_payload, transaction_data_hashes=[digest(PAYMENT)])
    ),
    "a transaction left out": Tampering(["transaction-data"], expect={"transactionData": [PAYMENT]}),
    "another transaction": Tampering(
        ["transaction-data"],
        bind=partial(_kb_payload, transaction_data_hashes=[digest(SESSION)]),
        expect={"transactionData": [PAYMENT]},
    ),
    "one of two transactions": Tampering(
        ["transaction-data"],
        bind=partial(_kb_payload, transaction_data_hashes=[digest(PAYMENT)]),
        expect={"transactionData": [PAYMENT, SESSION]},
    ),
    "transactions in another order": Tampering(
        ["transaction-data"],
        bind=partial(_kb_payload, transaction_data_hashes=[digest(SESSION), digest(PAYMENT)]),
        expect={"transactionData": [PAYMENT, SESSION]},
    ),
    "a transaction hashed with another algorithm": Tampering(
        ["transaction-data"],
        bind=partial(
            _kb_payload, transaction_data_hashes=[digest(PAYMENT)], transaction_data_hashes_alg="sha-512"
        ),
        expect={"transactionData": [PAYMENT]},
    ),
    # status
    "no status": Tampering(["status"], issue=partial(_payload, status=None)),
    "a status without a list": Tampering(["status"], issue=partial(_payload, status={})),
    "a status that is a text": Tampering(["status"], issue=partial(_payload, status="valid")),
    "an index below zero": Tampering(["status"], issue=partial(_place, idx=-1)),
    "an index that is a text": Tampering(["status"], issue=partial(_place, idx="1234")),
    "an index that is true": Tampering(["status"], issue=partial(_place, idx=True)),
    "an index behind the end": Tampering(["status"], issue=partial(_place, idx=4096)),
    "a list that is not there": Tampering(
        ["status"], issue=partial(_place, uri=f"{BASE_URL}/status-lists/8")
    ),
    "another issuer's list": Tampering(["status"], issue=partial(_place, uri="https://evil.example/7")),
    "a list whose address only begins like ours": Tampering(
        ["status"], issue=partial(_place, uri=f"{BASE_URL}.evil.example/status-lists/7")
    ),
    "taken back": Tampering(["status"], listed=partial(_content, lst=packed(1, around=0))),
    "suspended": Tampering(["status"], listed=partial(_content, lst=packed(2, around=0))),
    "a status that nobody knows": Tampering(["status"], listed=partial(_content, lst=packed(3, around=0))),
    "a list of another kind": Tampering(["status"], listed=partial(_kb_header, typ="JWT")),
    "a list with alg none": Tampering(["status"], listed=partial(_kb_header, alg="none")),
    "a list without a chain": Tampering(["status"], listed=partial(_kb_header, x5c=None)),
    "a list by an unknown key": Tampering(["status"], listed=partial(_kb_header, kid=str(uuid.uuid4()))),
    "a list signed by another key": Tampering(["status"], wrong_list_key=True),
    "another list in its place": Tampering(
        ["status"], listed=partial(_kb_payload, sub=f"{BASE_URL}/status-lists/8")
    ),
    "a list without a name": Tampering(["status"], listed=partial(_kb_payload, sub=None)),
    "a list that has ended": Tampering(["status"], listed=partial(_kb_payload, exp=NOW - 3600)),
    "a list without an end": Tampering(["status"], listed=partial(_kb_payload, exp=None)),
    "a list of tomorrow": Tampering(["status"], listed=partial(_kb_payload, iat=NOW + 3600)),
    "a list without a time": Tampering(["status"], listed=partial(_kb_payload, iat=None)),
    "a list without content": Tampering(["status"], listed=partial(_kb_payload, status_list=None)),
    "three bits": Tampering(["status"], listed=partial(_content, bits=3)),
    "no bits": Tampering(["status"], listed=partial(_content, bits=None)),
    "an empty list": Tampering(["status"], listed=partial(_content, lst="")),
    "a list that is no text": Tampering(["status"], listed=partial(_content, lst=7)),
    "a list that is cut off": Tampering(["status"], listed=partial(_content, lst=packed(0)[:-8])),
    "a list in gzip": Tampering(["status"], listed=partial(_content, lst=encode(gzip.compress(bytes(1024))))),
    "a list that inflates without end": Tampering(
        ["status"], listed=partial(_content, lst=encode(zlib.compress(bytes(2**26), level=9)))
    ),
}

# Valid presentations, which both verifiers must accept.
HONEST: dict[str, Tampering] = {
    "as asked": Tampering([]),
    "with a holder key that says what it is for": Tampering(
        [],
        issue=lambda _h, payload, _s: payload["cnf"]["jwk"].update(alg="ES256", use="sig", kid="holder-1"),
    ),
    "with all types in full and in other letters": Tampering(
        [],
        issue=partial(_header, typ="application/dc+sd-jwt"),
        bind=partial(_kb_header, typ="Application/KB+JWT"),
        listed=partial(_kb_header, typ="StatusList+jwt"),
    ),
    "without _sd_alg": Tampering([], issue=partial(_payload, _sd_alg=None)),
    "with two transactions": Tampering(
        [],
        bind=partial(
            _kb_payload,
            transaction_data_hashes=[digest(PAYMENT), digest(SESSION)],
            transaction_data_hashes_alg="sha-256",
        ),
        expect={"transactionData": [PAYMENT, SESSION]},
    ),
}


def _leaf(key: Key, issuer_key: Key, *, days: int = 3650) -> x509.Certificate:
    return certificate("Signer", key, ("Issuing CA", issuer_key), authority=False, days=days)


def _issuing(forger: Forger, root_key: Key, *, authority: bool = True) -> x509.Certificate:
    return certificate("Issuing CA", forger.issuing_key, ("Root", root_key), authority=authority)


# Wrong published chains by description, with the check that must fail.
Chain = Callable[[Forger], list[x509.Certificate]]
WRONG_CHAINS: dict[str, tuple[Chain, str]] = {
    "about another key": (
        lambda f: [_leaf(f.unrelated_key, f.issuing_key), f.issuing, f.root],
        "certificate-key",
    ),
    "a leaf that the authority did not sign": (
        lambda f: [_leaf(f.signing_key, f.unrelated_key), f.issuing, f.root],
        "certificate-chain",
    ),
    "a leaf that has ended": (
        lambda f: [_leaf(f.signing_key, f.issuing_key, days=9), f.issuing, f.root],
        "certificate-chain",
    ),
    "an issuer that is no authority": (
        lambda f: [f.leaf, _issuing(f, f.root_key, authority=False), f.root],
        "certificate-chain",
    ),
    "under another root": (lambda f: [f.leaf, _issuing(f, f.unrelated_key), f.root], "certificate-chain"),
    "a link left out": (lambda f: [f.leaf, f.root], "certificate-chain"),
}
