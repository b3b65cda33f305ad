"""The world in which people have PIDs: authorities, issuers, wallets, and lists that say what is revoked.

The SD-JWTs are made by this project's own hand, because these tests are about everything around them; the
independent wallet is in tests/node/wallet.mjs.
"""

import json
import secrets
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from jwcrypto.jwe import JWE
from jwcrypto.jwk import JWK

from keys.jwk import public_jwk
from keys.jws import encode_segment, take_apart
from keys.private_keys.signer import SoftwareSigner
from tests.day_inputs import typed_day
from tests.keys.compact_jws import sign_compact
from tests.wallet.providers.plays import Call
from wallet.sd_jwt import issuance
from wallet.status_lists import token

PID_ISSUER, LIST_SIGNER, OF_SERVERS = "1.3.6.1.4.1.99999.1", "1.3.6.1.4.1.99999.2", "1.3.6.1.5.5.7.3.1"
FORM = {"content-type": "application/x-www-form-urlencoded"}
NORA_AS_IN_HER_PID: dict[str, Any] = {
    "given_name": "Nora Ärla",
    "family_name": "O’Neill",
    "birthdate": "1990-02-01",
    "nationalities": ["DE", "FR"],
    "issuing_country": "DE",
    "date_of_expiry": "2035-01-01",
}
NORA_TYPES = {"given_name": "nora", "family_name": "O'Neill", **typed_day("birth_date", "1990-02-01")}


@dataclass
class Authority:
    """Certifies keys; a PID provider's, or one that certifies who may ask for PIDs."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def make(cls, name: str, country: str = "DE", *, is_authority: bool = True) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, country), _name(name, country), key, days=900)
        builder = builder.add_extension(
            x509.BasicConstraints(is_authority, 0 if is_authority else None), True
        )
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        builder = builder.add_extension(_usage(sign=False, certify=True), True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    def certifies(
        self, name: str, *, dns: str = "", days: int = 300, signs: bool = True, **purpose: str
    ) -> "Authority":
        """A key that is no authority. purpose: `usage` or `policy`; by default PID_ISSUER as a usage."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, "DE"), self.certificate.subject, key, days=days)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(own, False).add_extension(_usage(sign=signs, certify=False), True)
        builder = builder.add_extension(x509.BasicConstraints(False, None), True)
        for kind, value in (purpose or {"usage": PID_ISSUER}).items():
            found = x509.ObjectIdentifier(value)
            policies = x509.CertificatePolicies([x509.PolicyInformation(found, None)])
            builder = builder.add_extension(
                x509.ExtendedKeyUsage([found]) if kind == "usage" else policies, False
            )
        if dns:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), False)
        return Authority(key, builder.sign(self.key, hashes.SHA256()))

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def x5c(self) -> list[str]:
        return [b64encode(self.certificate.public_bytes(Encoding.DER)).decode()]

    def signs(self, typ: str, payload: dict[str, Any]) -> str:
        header = {"alg": "ES256", "typ": typ, "x5c": self.x5c}
        return sign_compact(header, payload, SoftwareSigner(self.key))


def _name(text: str, country: str) -> x509.Name:
    parts = [(NameOID.COUNTRY_NAME, country), (NameOID.COMMON_NAME, text)]
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in parts if value])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=2)).not_valid_after(now + timedelta(days=days))


def _usage(*, sign: bool, certify: bool) -> x509.KeyUsage:
    return x509.KeyUsage(sign, False, False, False, False, certify, certify, False, False)


class World:
    """An operator's files, the authority whose PIDs it trusts, and one that it does not know."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pid-")
        self.folder = Path(self._folder.name)
        self.access_authority = Authority.make("Access authority")
        self.access = self.access_authority.certifies("This service", dns="localhost")
        self.authority = Authority.make("PID authority of Germany")
        self.issuer = self.authority.certifies("PID provider")
        self.stranger = Authority.make("Somebody's authority").certifies("Somebody")
        self.anchors = self.folder / "anchors"
        self.anchors.mkdir()
        (self.anchors / "germany.pem").write_bytes(self.authority.pem)
        (self.anchors / "germany.purposes").write_text(f"{PID_ISSUER}\nstatus:{LIST_SIGNER}\n")
        self.write("access.pem", self.access.pem + self.access_authority.pem)
        self.write("request.key", self.access.key_pem)

    def write(self, name: str, data: bytes) -> str:
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "type": "other_wallet",
            "request_key": str(self.folder / "request.key"),
            "access_certificate": str(self.folder / "access.pem"),
            "trust_anchors": str(self.anchors),
            "qr": "on",
        }


@cache
def world() -> World:
    """One for all tests: keys and certificates take a while."""
    return World()


def fetched(client: Any, link: str, **form: str) -> dict[str, Any]:
    """The request behind a link, as a wallet fetches and verifies it."""
    parameters = {name: value for name, [value] in parse_qs(urlsplit(link).query).items()}
    path = urlsplit(parameters["request_uri"]).path
    if form:
        response = client.post(path, urlencode(form), content_type=FORM["content-type"])
    else:
        response = client.get(path, headers=FORM)  # there are wallets that say so with a GET too
    assert (response.status_code, response["Content-Type"]) == (200, "application/oauth-authz-req+jwt"), (
        response
    )
    unverified = take_apart(response.content.decode())
    assert unverified.header["x5c"] == world().access.x5c
    request = unverified.verified(world().access.key.public_key(), typ="oauth-authz-req+jwt")
    assert request["client_id"] == parameters["client_id"]
    return request


@dataclass
class OtherPersonsWallet:
    """Holds a PID and shows it. What is wrong with it is said by `changes`."""

    issuer: Authority = field(default_factory=lambda: world().issuer)
    claims: dict[str, Any] = field(default_factory=lambda: dict(NORA_AS_IN_HER_PID))
    plain: dict[str, Any] = field(default_factory=dict)
    key: SoftwareSigner = field(default_factory=SoftwareSigner.generate)

    def presentation(self, request: dict[str, Any], *, without: tuple[str, ...] = (), **changes: Any) -> str:
        now = datetime.now(UTC)
        moment = int(now.timestamp())
        payload = {"vct": "urn:eudi:pid:1", "iat": moment - 60, "exp": moment + 86_400} | self.plain
        header = {"alg": "ES256", "typ": "dc+sd-jwt", "x5c": self.issuer.x5c}
        sd_jwt = issuance.issue(
            payload | issuance.all_withheld(self.claims),
            header=encode_segment(header),
            signer=SoftwareSigner(self.issuer.key),
            random_bytes=secrets.token_bytes,
            holder_jwk=public_jwk(self.key.public_key),
        )
        shown = issuance.select(sd_jwt, [path for path in sd_jwt.disclosures if path[0] not in without])
        facts = {"audience": request["client_id"], "nonce": request["nonce"], "holder": self.key, "now": now}
        return issuance.bind(shown, **(facts | changes))

    def answer(self, request: dict[str, Any], **changes: Any) -> Call:
        """The POST with which this wallet answers."""
        content = {"state": request["state"], "vp_token": {"pid": [self.presentation(request, **changes)]}}
        return posted(request, response=encrypted(request, content))


def encrypted(request: dict[str, Any], content: Any, *, key: Any = None, **header: Any) -> str:
    """`content` as a JWE to the key of the request, or to another one."""
    [public] = request["client_metadata"]["jwks"]["keys"]
    protected = {"alg": "ECDH-ES", "enc": "A128GCM", "kid": public["kid"]} | header
    plain = content if isinstance(content, bytes) else json.dumps(content).encode()
    jwe = JWE(plain, protected=json.dumps(protected), recipient=key or JWK(**public))
    return jwe.serialize(compact=True)


def posted(request: dict[str, Any], **fields: str) -> Call:
    path = urlsplit(request["response_uri"]).path
    return Call(path, "POST", urlencode(fields).encode(), FORM)


def status_list(uri: str, *, revoked: dict[int, int] | None = None, **changes: Any) -> str:
    """A status list of the trusted issuer, all valid but those."""
    moment = int(datetime.now(UTC).timestamp())
    packed = token.pack(revoked or {}, size=1024, bits=2)
    payload = {"sub": uri, "iat": moment, "status_list": {"bits": 2, "lst": token.compress(packed)}}
    return world().issuer.signs("statuslist+jwt", payload | changes)


@dataclass
class StatusServer:
    """Publishes status lists. `body` is what it says now, `asked` how often it was asked."""

    uri: str
    body: bytes = b""
    media_type: str = "application/statuslist+jwt"
    status: int = 200
    pause: threading.Event | None = None  # waited for before it answers
    asked: int = 0

    def publish(self, **facts: Any) -> None:
        self.body = status_list(self.uri, **facts).encode()


@contextmanager
def status_server() -> Iterator[StatusServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said.asked += 1
            if said.pause is not None:
                said.pause.wait(20)
            self.send_response(said.status)
            self.send_header("Content-Type", said.media_type)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    said = StatusServer(f"http://127.0.0.1:{server.server_port}/status/1")
    said.publish()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield said
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
