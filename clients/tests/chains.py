"""The list of chains on which the service and both client libraries must agree.

The certificates are written byte by byte, because no library makes those that ours must refuse.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.forgery import NOW, new_key, usage

HOST, ISSUER = "wallet.example", "https://wallet.example"
AT = datetime.fromtimestamp(NOW, UTC)
DAY = timedelta(days=1)
ECDSA_SHA256, ECDSA_SHA384 = (
    bytes.fromhex("300a06082a8648ce3d040302"),
    bytes.fromhex("300a06082a8648ce3d040303"),
)
ECDSA_SHA1, ED25519 = bytes.fromhex("300906072a8648ce3d0401"), bytes.fromhex("300506032b6570")
RSA_SHA256 = bytes.fromhex("300d06092a864886f70d01010b0500")
UNKNOWN = "1.2.3.4.5"


def tlv(tag: int, *parts: bytes) -> bytes:
    """One element in DER (X.690 §8.1)."""
    content = b"".join(parts)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def name(common: str) -> bytes:
    if not common:
        return tlv(0x30)
    return tlv(0x30, tlv(0x31, tlv(0x30, bytes.fromhex("0603550403"), tlv(0x0C, common.encode()))))


def utc(moment: datetime) -> bytes:
    return tlv(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())


def generalized(moment: datetime) -> bytes:
    return tlv(0x18, moment.strftime("%Y%m%d%H%M%SZ").encode())


def extension(value: x509.ExtensionType | bytes, *, oid: str = "", critical: bool = False) -> bytes:
    octets = value if isinstance(value, bytes) else value.public_bytes()
    dotted = oid or value.oid.dotted_string  # type: ignore[union-attr]
    first, second, *others = map(int, dotted.split("."))
    identifier = bytes([first * 40 + second]) + b"".join(map(_base128, others))
    return tlv(0x30, tlv(6, identifier), tlv(1, b"\xff") if critical else b"", tlv(4, octets))


def _base128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.insert(0, 0x80 | number & 0x7F)
    return bytes(digits)


def authority(path_length: int | None = None, **changes: Any) -> list[bytes]:
    return [constraints(True, path_length), key_usage(certify=True, **changes)]


def constraints(ca: bool, path_length: int | None = None, *, critical: bool = True) -> bytes:
    return extension(x509.BasicConstraints(ca, path_length), critical=critical)


def key_usage(*, sign: bool = False, certify: bool = False, critical: bool = True) -> bytes:
    return extension(usage(sign=sign, certify=certify), critical=critical)


def for_hosts(*hosts: str) -> bytes:
    return extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]))


def signs(*others: bytes) -> list[bytes]:
    return [key_usage(sign=True), for_hosts(HOST), *others]


def purposes(*oids: x509.ObjectIdentifier) -> bytes:
    return extension(x509.ExtendedKeyUsage(oids))


def only(
    permitted: Sequence[x509.GeneralName] | None = None, excluded: Any = None, critical: bool = True
) -> bytes:
    return extension(x509.NameConstraints(permitted, excluded), critical=critical)


@dataclass
class Written:
    """What stands in a certificate, so that a case can change one thing."""

    subject: str
    issuer: str
    key: Any
    signer: Any
    extensions: list[bytes]
    version: bytes = bytes.fromhex("a003020102")
    serial: bytes = bytes.fromhex("02030a0b0c")
    validity: bytes = tlv(0x30, utc(AT - 10 * DAY), utc(AT + 3650 * DAY))
    algorithm: bytes = ECDSA_SHA256
    outer_algorithm: bytes | None = None
    hash: hashes.HashAlgorithm = field(default_factory=hashes.SHA256)
    others: bytes = b""  # before the extensions
    edited: Callable[[bytes], bytes] = lambda to_be_signed: to_be_signed
    finished: Callable[[bytes], bytes] = lambda der: der

    def der(self) -> bytes:
        spki = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        extended = tlv(0xA3, tlv(0x30, *self.extensions)) if self.extensions else b""
        names = name(self.issuer), self.validity, name(self.subject)
        fields = (self.version, self.serial, self.algorithm, *names, spki, self.others, extended)
        to_be_signed = self.edited(tlv(0x30, *fields))
        signature = tlv(3, b"\0", self._signature(to_be_signed))
        return self.finished(tlv(0x30, to_be_signed, self.outer_algorithm or self.algorithm, signature))

    def _signature(self, octets: bytes) -> bytes:
        if isinstance(self.signer, rsa.RSAPrivateKey):
            return self.signer.sign(octets, padding.PKCS1v15(), self.hash)
        if isinstance(self.signer, ed25519.Ed25519PrivateKey):
            return self.signer.sign(octets)
        signature: bytes = self.signer.sign(octets, ec.ECDSA(self.hash))
        return signature


@dataclass
class Case:
    """Certificates as they are sent, the roots that somebody trusts, whether the key is believed."""

    x5c: list[Any]
    roots: list[str]  # PEM
    good: bool
    key: Any  # of the leaf
    issuer: str = ISSUER


def text(der: bytes) -> str:
    return base64.b64encode(der).decode()


def pem(der: bytes) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{text(der)}\n-----END CERTIFICATE-----\n"


ROOT_KEY, ISSUING_KEY, LEAF_KEY, LOWER_KEY, OTHER_KEY = (new_key() for _ in range(5))
P384_KEY, P521_KEY, K256_KEY, P224_KEY = (
    ec.generate_private_key(curve()) for curve in (ec.SECP384R1, ec.SECP521R1, ec.SECP256K1, ec.SECP224R1)
)


def links(**changes: dict[str, Any]) -> dict[str, Written]:
    """Leaf, issuing authority and root, each with what a case changes."""
    plain = {
        "root": {
            "subject": "Root",
            "issuer": "Root",
            "key": ROOT_KEY,
            "signer": ROOT_KEY,
            "extensions": authority(),
        },
        "issuing": {
            "subject": "Issuing",
            "issuer": "Root",
            "key": ISSUING_KEY,
            "signer": ROOT_KEY,
            "extensions": authority(0),
        },
        "leaf": {
            "subject": "Signer",
            "issuer": "Issuing",
            "key": LEAF_KEY,
            "signer": ISSUING_KEY,
            "extensions": signs(),
        },
    }
    return {part: Written(**facts | changes.get(part, {})) for part, facts in plain.items()}


def made(good: bool, /, issuer: str = ISSUER, **changes: dict[str, Any]) -> Case:
    """Leaf and issuing authority are sent, and the root is trusted."""
    written = links(**changes)
    sent = [text(written[part].der()) for part in ("leaf", "issuing")]
    return Case(sent, [pem(written["root"].der())], good, written["leaf"].key, issuer)


def sent(good: bool, choose: Callable[[dict[str, bytes]], list[bytes]], **changes: dict[str, Any]) -> Case:
    """Other certificates than usual are sent."""
    written = links(**changes)
    all_of_them = {part: each.der() for part, each in written.items()}
    chosen = choose(all_of_them)
    return Case(list(map(text, chosen)), [pem(all_of_them["root"])], good, LEAF_KEY)


def between(number: int, *, path_length: int | None = None, root_length: int | None = None) -> Case:
    """A chain with this number of authorities below the root."""
    keys = [ROOT_KEY, *(new_key() for _ in range(number))]
    names = ["Root", *(f"Authority {place}" for place in range(number))]
    root = Written("Root", "Root", ROOT_KEY, ROOT_KEY, authority(root_length)).der()
    above = [
        Written(names[place], names[place - 1], keys[place], keys[place - 1], authority(path_length)).der()
        for place in range(1, number + 1)
    ]
    leaf = Written("Signer", names[-1], LEAF_KEY, keys[-1], signs()).der()
    return Case(list(map(text, [leaf, *above[::-1]])), [pem(root)], True, LEAF_KEY)


def but(case: Case, *, good: bool) -> Case:
    case.good = good
    return case


def dns(*hosts: str) -> list[x509.GeneralName]:
    return [x509.DNSName(host) for host in hosts]


def spoilt(old: str, new: str) -> Callable[[bytes], bytes]:
    """Replaces bytes, which stand there once, and keeps the lengths around right if they are as long."""

    def edit(octets: bytes) -> bytes:
        before, after = bytes.fromhex(old), bytes.fromhex(new)
        assert octets.count(before) == 1
        return octets.replace(before, after)

    return edit


def long_form(octets: bytes) -> bytes:
    """The outermost length with a zero in front, as BER allows it and DER does not (X.690 §10.1)."""
    assert octets[1] == 0x82
    return octets[:1] + b"\x83\0" + octets[2:]


def indefinite(octets: bytes) -> bytes:
    assert octets[1] == 0x82
    return octets[:1] + b"\x80" + octets[4:] + b"\0\0"


def other_root(**facts: Any) -> str:
    """Another certificate of the root's name."""
    return pem(Written("Root", "Root", OTHER_KEY, OTHER_KEY, authority(), **facts).der())


def with_roots(good: bool, *roots: str) -> Case:
    case = made(good)
    return Case(case.x5c, [each or case.roots[0] for each in roots], good, case.key)


def _position(part: str) -> dict[str, Case]:
    """What may be wrong with a certificate wherever it stands."""
    old, tomorrow = utc(AT - 10 * DAY), utc(AT + DAY)
    cases = {
        "has ended": {"validity": tlv(0x30, old, utc(AT - DAY))},
        "ended a second ago": {"validity": tlv(0x30, old, utc(AT - timedelta(seconds=1)))},
        "is not valid yet": {"validity": tlv(0x30, tomorrow, utc(AT + 9 * DAY))},
        "has an unknown critical extension": {"more": extension(b"\5\0", oid=UNKNOWN, critical=True)},
        "has an extension twice": {"more": extension(b"\5\0", oid=UNKNOWN) * 2},
        "is of version 1": {"version": b"", "extensions": []},
        "is of version 1 with extensions": {"version": b""},
        "is of version 2": {"version": bytes.fromhex("a003020101")},
        "is of version 4": {"version": bytes.fromhex("a003020103")},
        "has a negative serial number": {"serial": bytes.fromhex("0203fa0b0c")},
        "has a serial number of 40 bytes": {"serial": tlv(2, b"\1" * 40)},
        "has no serial number": {"serial": bytes.fromhex("0200")},
        "has a serial number with a zero in front": {"serial": bytes.fromhex("0204000a0b0c")},
        "has a validity without seconds": {"validity": tlv(0x30, tlv(0x17, b"2601010000Z"), utc(AT + DAY))},
        "has a validity with an offset": {
            "validity": tlv(0x30, tlv(0x17, b"260101000000+0100"), utc(AT + DAY))
        },
        "writes a near date as a far one": {"validity": tlv(0x30, generalized(AT - DAY), utc(AT + DAY))},
        "is valid on no day": {"validity": tlv(0x30, tlv(0x17, b"260231000000Z"), utc(AT + DAY))},
        "has an empty list of extensions": {"extensions": [b""]},
        "has something behind it": {"finished": lambda der: der + b"\0"},
        "has a length with a zero in front": {"finished": long_form},
        "has no definite length": {"finished": indefinite},
        "is cut off": {"finished": lambda der: der[:-1]},
        "names another algorithm outside": {"outer_algorithm": ECDSA_SHA384},
    }
    found = {}
    for what, facts in cases.items():
        more = facts.pop("more", None)
        if more:
            facts["extensions"] = [*links()[part].extensions, more]
        found[f"{part} that {what}"] = made(False, **{part: facts})
    if part == "root":  # nobody can trust what is no certificate: that is refused before any chain
        broken = (
            "behind it",
            "zero in front",
            "definite",
            "cut off",
            "version",
            "serial",
            "validity",
            "empty",
            "no day",
            "near date",
        )
        found = {what: case for what, case in found.items() if not any(each in what for each in broken)}
        found.pop("root that has an extension twice")
        # Its own signature is not checked: it is trusted for itself.
        found.pop("root that names another algorithm outside")
    return found


@cache
def chains() -> dict[str, Case]:
    """All cases by what is special about them."""
    weak, strong = (rsa.generate_private_key(65537, size) for size in (1024, 2048))
    edwards = ed25519.Ed25519PrivateKey.generate()
    under_rsa = {"signer": strong, "algorithm": RSA_SHA256}
    p384 = {"key": P384_KEY}
    lower = {"signer": P384_KEY, "algorithm": ECDSA_SHA384, "hash": hashes.SHA384()}
    ip = [x509.IPAddress(ip_address("192.0.2.7"))]
    by_ip = {"extensions": [key_usage(sign=True), extension(x509.SubjectAlternativeName(ip))]}
    address = "https://192.0.2.7:8443"
    v6 = [x509.IPAddress(ip_address("2001:db8::7"))]
    by_v6 = {"extensions": [key_usage(sign=True), extension(x509.SubjectAlternativeName(v6))]}
    uri = x509.UniformResourceIdentifier(ISSUER)
    with_uri = [key_usage(sign=True), extension(x509.SubjectAlternativeName([*dns(HOST), uri]))]

    def authorities(*extensions: bytes) -> dict[str, Any]:
        return {"issuing": {"extensions": list(extensions)}}

    def constrained(good: bool, *constraints: Any, **changes: dict[str, Any]) -> Case:
        return made(good, issuing={"extensions": [*authority(0), only(*constraints)]}, **changes)

    ca, ku = authority(0)
    valid: dict[str, Case] = {
        "plain": made(True),
        "with the root": sent(True, lambda der: [der["leaf"], der["issuing"], der["root"]]),
        "directly below the root": sent(
            True, lambda der: [der["leaf"]], leaf={"issuer": "Root", "signer": ROOT_KEY}
        ),
        "with identifiers of keys": made(
            True,
            issuing={
                "extensions": [
                    *authority(0),
                    extension(x509.SubjectKeyIdentifier(b"1" * 20)),
                    extension(x509.AuthorityKeyIdentifier(b"2" * 20, [x509.DNSName("x.example")], 5)),
                ]
            },
        ),
        "basic constraints that are not critical": made(
            True, **authorities(constraints(True, 0, critical=False), ku)
        ),
        "a key usage that is not critical": made(
            True, **authorities(ca, key_usage(certify=True, critical=False))
        ),
        "unknown extensions": made(
            True,
            leaf={"extensions": signs(extension(b"x", oid=UNKNOWN))},
            **authorities(ca, ku, extension(b"x", oid=UNKNOWN)),
        ),
        "an authority for any purpose": made(
            True, **authorities(ca, ku, purposes(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE))
        ),
        "a leaf with a purpose": made(
            True, leaf={"extensions": signs(purposes(ExtendedKeyUsageOID.SERVER_AUTH))}
        ),
        "a leaf that says that it is no authority": made(
            True, leaf={"extensions": signs(constraints(False))}
        ),
        "a host in capital letters": made(
            True, leaf={"extensions": [key_usage(sign=True), for_hosts("Wallet.EXAMPLE")]}
        ),
        "a second host": made(
            True, leaf={"extensions": [key_usage(sign=True), for_hosts("a.example", HOST)]}
        ),
        "for an address": made(True, address, leaf=by_ip),
        "for an address of version 6": made(True, "https://[2001:DB8:0::7]", leaf=by_v6),
        "with a URI": made(True, leaf={"extensions": with_uri}),
        "a leaf without a subject": made(True, leaf={"subject": ""}),
        "an authority on P-384": made(True, issuing=p384, leaf=lower),
        "an authority on P-521": made(
            True,
            issuing={"key": P521_KEY},
            leaf={
                "signer": P521_KEY,
                "algorithm": bytes.fromhex("300a06082a8648ce3d040304"),
                "hash": hashes.SHA512(),
            },
        ),
        "an RSA authority": made(True, issuing={"key": strong}, leaf=under_rsa),
        "ends now": made(True, leaf={"validity": tlv(0x30, utc(AT - DAY), utc(AT))}),
        "begins now": made(True, leaf={"validity": tlv(0x30, utc(AT), utc(AT + DAY))}),
        "ends in a far century": made(
            True, leaf={"validity": tlv(0x30, utc(AT), tlv(0x18, b"99991231235959Z"))}
        ),
        "constrained to the host": constrained(True, dns(HOST)),
        "constrained to the domain": constrained(True, dns("a.example", "example")),
        "constrained without the host": constrained(True, None, dns("other.example")),
        "constrained to another address": constrained(
            True, None, [x509.IPAddress(ip_network("192.0.2.0/24"))]
        ),
        "constrained to the network": made(
            True,
            address,
            leaf=by_ip,
            issuing={"extensions": [*authority(0), only([x509.IPAddress(ip_network("192.0.2.0/24"))])]},
        ),
        "four authorities": between(4),
        "as long as the root allows": between(2, root_length=2),
        "one of two roots": with_roots(True, other_root(), ""),
        "the other of two roots": with_roots(True, "", other_root()),
        "beside a root that has ended": with_roots(
            True, other_root(validity=tlv(0x30, utc(AT - 9 * DAY), utc(AT - DAY))), ""
        ),
        "the root twice": with_roots(True, "", ""),
        "an authority that is trusted itself": Case(
            made(True).x5c, [pem(links()["issuing"].der())], True, LEAF_KEY
        ),
    }
    renewed = Written("Root", "Old Root", ROOT_KEY, OTHER_KEY, authority()).der()
    old_root = pem(Written("Old Root", "Old Root", OTHER_KEY, OTHER_KEY, authority()).der())
    crossed = [*made(True).x5c, text(renewed)]
    for roots in ([old_root], made(True).roots, [old_root, *made(True).roots], [*made(True).roots, old_root]):
        valid[f"a cross certificate with {len(roots)} roots, {len(valid)}"] = Case(
            crossed, roots, True, LEAF_KEY
        )
    wrong: dict[str, Case] = {
        "another root of that name": with_roots(False, other_root()),
        "the root with another key of its certificate": with_roots(
            False, pem(Written("Other", "Other", OTHER_KEY, OTHER_KEY, authority()).der())
        ),
        "an authority below path length 0": but(between(2, path_length=0), good=False),
        "an authority more than the root allows": but(between(2, root_length=1), good=False),
        "a path length of 0 at the root": but(between(1, root_length=0), good=False),
        "five authorities": but(between(5), good=False),
        "forty authorities": but(between(40), good=False),
        "an authority that may not certify": made(False, **authorities(ca, key_usage(sign=True))),
        "an authority without a key usage": made(False, **authorities(ca)),
        "an authority without basic constraints": made(False, **authorities(ku)),
        "an authority that says that it is none": made(False, **authorities(constraints(False), ku)),
        "an authority for servers": made(
            False, **authorities(ca, ku, purposes(ExtendedKeyUsageOID.SERVER_AUTH))
        ),
        "an authority with basic constraints twice": made(False, **authorities(ca, ku, constraints(False))),
        "an authority with a negative path length": made(
            False,
            **authorities(extension(bytes.fromhex("30060101ff0201ff"), oid="2.5.29.19", critical=True), ku),
        ),
        "an authority with truth in another form": made(
            False, **authorities(extension(bytes.fromhex("3003010101"), oid="2.5.29.19", critical=True), ku)
        ),
        "an authority with something behind its basic constraints": made(
            False, **authorities(extension(bytes.fromhex("30030101ff00"), oid="2.5.29.19", critical=True), ku)
        ),
        "a leaf that is an authority": made(False, leaf={"extensions": [*authority(), for_hosts(HOST)]}),
        "a leaf that says that it is an authority": made(
            False, leaf={"extensions": signs(constraints(True))}
        ),
        "a leaf that may certify": made(
            False, leaf={"extensions": [key_usage(sign=True, certify=True), for_hosts(HOST)]}
        ),
        "a leaf for key encipherment": made(
            False,
            leaf={
                "extensions": [
                    extension(x509.KeyUsage(False, False, True, *[False] * 6), critical=True),
                    for_hosts(HOST),
                ]
            },
        ),
        "a leaf without a key usage": made(False, leaf={"extensions": [for_hosts(HOST)]}),
        "a leaf without a host": made(False, leaf={"extensions": [key_usage(sign=True)]}),
        "a leaf for another host": made(
            False, leaf={"extensions": [key_usage(sign=True), for_hosts("other.example")]}
        ),
        "a leaf for a wildcard": made(
            False, leaf={"extensions": [key_usage(sign=True), for_hosts("*.example")]}
        ),
        "a leaf for a longer host": made(
            False, leaf={"extensions": [key_usage(sign=True), for_hosts(f"{HOST}.evil.example")]}
        ),
        "a leaf for a host and a dot": made(
            False, leaf={"extensions": [key_usage(sign=True), for_hosts(f"{HOST}.")]}
        ),
        "a leaf that names the host as a URI": made(
            False,
            leaf={
                "extensions": [
                    key_usage(sign=True),
                    extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(HOST)])),
                ]
            },
        ),
        "a leaf that has the host in its subject": made(
            False, leaf={"subject": HOST, "extensions": [key_usage(sign=True)]}
        ),
        "a leaf that names the address as a host": made(
            False, address, leaf={"extensions": [key_usage(sign=True), for_hosts("192.0.2.7")]}
        ),
        "a leaf for another address": made(False, "https://192.0.2.8", leaf=by_ip),
        "a leaf with name constraints": made(False, leaf={"extensions": signs(only(dns(HOST)))}),
        "a leaf on P-384": made(False, leaf={"key": P384_KEY}),
        "a leaf on secp256k1": made(False, leaf={"key": K256_KEY}),
        "a leaf with an RSA key": made(False, leaf={"key": strong}),
        "an authority on P-224": made(False, issuing={"key": P224_KEY}, leaf={"signer": P224_KEY}),
        "an authority on secp256k1": made(False, issuing={"key": K256_KEY}, leaf={"signer": K256_KEY}),
        "an authority with an Edwards key": made(
            False, issuing={"key": edwards}, leaf={"signer": edwards, "algorithm": ED25519}
        ),
        "a short RSA key": made(False, issuing={"key": weak}, leaf=under_rsa | {"signer": weak}),
        "SHA-1": made(False, leaf={"algorithm": ECDSA_SHA1, "hash": hashes.SHA1()}),
        "a signature over another hash than it says": made(False, leaf={"hash": hashes.SHA384()}),
        "signed by another key": made(False, leaf={"signer": OTHER_KEY}),
        "an authority signed by another key": made(False, issuing={"signer": OTHER_KEY}),
        "an issuer of another name": made(False, leaf={"issuer": "Somebody"}),
        "a self-signed leaf": sent(
            False, lambda der: [der["leaf"]], leaf={"issuer": "Signer", "signer": LEAF_KEY}
        ),
        "a self-signed leaf and a chain": made(False, leaf={"issuer": "Signer", "signer": LEAF_KEY}),
        "no leaf": sent(False, lambda der: [der["issuing"]]),
        "the root alone": sent(False, lambda der: [der["root"]]),
        "a link left out": sent(False, lambda der: [der["leaf"]]),
        "in another order": sent(False, lambda der: [der["issuing"], der["leaf"]]),
        "the root in the middle": sent(False, lambda der: [der["leaf"], der["root"], der["issuing"]]),
        "a stranger behind it": sent(
            False,
            lambda der: [
                *(der["leaf"], der["issuing"]),
                Written("Stranger", "Stranger", OTHER_KEY, OTHER_KEY, authority()).der(),
            ],
        ),
        "a stranger in the middle": sent(
            False,
            lambda der: [
                der["leaf"],
                Written("Stranger", "Stranger", OTHER_KEY, OTHER_KEY, authority()).der(),
                der["issuing"],
            ],
        ),
        "an authority twice": sent(False, lambda der: [der["leaf"], der["issuing"], der["issuing"]]),
        "the leaf twice": sent(False, lambda der: [der["leaf"], der["leaf"], der["issuing"]]),
        "constrained to another host": constrained(False, dns("other.example")),
        "constrained to a host below": constrained(False, dns(f"a.{HOST}")),
        "constrained to a host that ends alike": constrained(False, dns("let.example")),
        "constrained to all but the host": constrained(False, None, dns(HOST)),
        "constrained to all but the domain": constrained(False, None, dns("example")),
        "constrained in what is no name": constrained(False, dns("a..b")),
        "constrained to the host and not to a second one": constrained(
            False, dns(HOST), leaf={"extensions": [key_usage(sign=True), for_hosts(HOST, "other.example")]}
        ),
        "constrained to URIs": constrained(False, [uri], leaf={"extensions": with_uri}),
        "constrained to another network": made(
            False,
            address,
            leaf=by_ip,
            issuing={"extensions": [*authority(0), only([x509.IPAddress(ip_network("198.51.100.0/24"))])]},
        ),
        "constrained without being critical": made(
            False, issuing={"extensions": [*authority(0), only(dns("other.example"), None, False)]}
        ),
        "constrained by the root": made(
            False, root={"extensions": [*authority(), only(dns("other.example"))]}
        ),
        "a certificate that says that it is huge": made(
            False, leaf={"finished": lambda der: der[:1] + b"\x84\xff\xff\xff\xff" + der[4:]}
        ),
    }
    for part in ("leaf", "issuing", "root"):
        wrong |= _position(part)
    plain = made(True)
    texts: dict[str, Any] = {
        "no list": plain.x5c[0],
        "an empty list": [],
        "numbers": [1],
        "lists": [plain.x5c],
        "nothing": None,
        "text that is no base64": ["é", *plain.x5c[1:]],
        "base64 with a line break": [f"{plain.x5c[0]}\n", plain.x5c[1]],
        "base64 with spaces": [f" {plain.x5c[0]}", plain.x5c[1]],
        "base64url": [base64.urlsafe_b64encode(b"\xff\xef" * 9).decode(), plain.x5c[1]],
        "base64 without padding": [each.rstrip("=") + "" for each in _padded().x5c],
        "base64 that is not canonical": _uncanonical(_padded().x5c),
        "PEM": [plain.roots[0], *plain.x5c],
        "an empty text": ["", *plain.x5c],
        "a sequence": [text(tlv(0x30)), *plain.x5c],
        "zeros": [text(bytes(999)), *plain.x5c],
    }
    for what, sent_instead in texts.items():
        wrong[f"x5c: {what}"] = Case(sent_instead, plain.roots, False, LEAF_KEY)
    return valid | wrong


def _padded() -> Case:
    """A chain whose leaf is written with one sign of padding."""
    for size in range(3):
        case = made(True, leaf={"extensions": signs(extension(b"x" * size, oid=UNKNOWN))})
        if case.x5c[0].endswith("=") and not case.x5c[0].endswith("=="):
            return case
    return _padded()  # signatures differ in length


def _uncanonical(x5c: list[str]) -> list[str]:
    """The last character that counts with another of the bits that do not."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet[alphabet.index(x5c[0][-2]) + 1]
    return [f"{x5c[0][:-2]}{last}=", *x5c[1:]]
