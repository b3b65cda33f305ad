"""More chains on which the service and both client libraries must agree, with one special extension each.

A row has whether a leaf, an issuing authority and a root with it are believed (`+`) or refused (`-`).
"""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from clients.tests.chains import (
    HOST,
    RSA_SHA256,
    UNKNOWN,
    Case,
    authority,
    constraints,
    dns,
    extension,
    for_hosts,
    key_usage,
    made,
    signs,
    tlv,
)

PARTS = ("leaf", "issuing", "root")
NONE, ALL, AUTHORITIES = "---", "+++", "-++"
NAMED = x509.Name.from_rfc4514_string("CN=Signer")
URL = x509.UniformResourceIdentifier("http://x.example")
ACCESS = x509.AuthorityInformationAccess([x509.AccessDescription(AuthorityInformationAccessOID.OCSP, URL)])
POINTS = [x509.DistributionPoint([URL], None, None, None)]
NAMES, KEY_USAGE, BASIC, CONSTRAINTS = "2.5.29.17", "2.5.29.15", "2.5.29.19", "2.5.29.30"
BY_DNS = bytes.fromhex("820e") + HOST.encode()

Row = tuple[
    x509.ExtensionType | tuple[str, str], str, str
]  # the extension, worth where it is not critical, and where


def constrained(permitted: Any = None, excluded: Any = None) -> x509.NameConstraints:
    return x509.NameConstraints(permitted, excluded)


# Beside what the certificate has otherwise.
ADDED: dict[str, Row] = {
    "policies": (
        x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.2.3"), None)]),
        *(ALL, NONE),
    ),
    "policy constraints": (x509.PolicyConstraints(0, None), ALL, NONE),
    "policy mappings": (("2.5.29.33", "300c300a06032a030406032a0305"), ALL, NONE),
    "no policy but those named": (x509.InhibitAnyPolicy(0), ALL, NONE),
    "a place of revocation lists": (x509.CRLDistributionPoints(POINTS), ALL, NONE),
    "a broken place of revocation lists": (("2.5.29.31", "0101ff"), NONE, NONE),
    "names of the issuer": (x509.IssuerAlternativeName(dns("x.example")), ALL, NONE),
    "broken names of the issuer": (("2.5.29.18", "3003870101"), NONE, NONE),
    "an address of the issuer": (ACCESS, ALL, ALL),
    "a broken address of the issuer": (("1.3.6.1.5.5.7.1.1", "0101ff"), NONE, NONE),
    "a mark for a log": (x509.PrecertPoison(), ALL, NONE),
    "an unknown one": ((UNKNOWN, "0500"), ALL, NONE),
    "the purpose of servers": (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), "+--", "+--"),
    "the purpose of clients": (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), ALL, ALL),
    "no purpose": (("2.5.29.37", "3000"), NONE, NONE),
    "an own key": (x509.SubjectKeyIdentifier(b"9" * 20), ALL, ALL),
    "an own key without octets": (x509.SubjectKeyIdentifier(b""), ALL, ALL),
    "an own key that is no text": (("2.5.29.14", "0101ff"), NONE, NONE),
    "a key of the issuer that is no sequence": (("2.5.29.35", "0101ff"), NONE, NONE),
    "constraints to the host": (constrained(dns(HOST)), AUTHORITIES, AUTHORITIES),
    "constraints to all but another host": (constrained(None, dns("x.example")), AUTHORITIES, AUTHORITIES),
    "constraints on nothing": ((CONSTRAINTS, "3000"), NONE, NONE),
    "constraints to nothing": ((CONSTRAINTS, "3002a000"), NONE, NONE),
    "constraints on e-mail": (constrained([x509.RFC822Name("x.example")]), AUTHORITIES, AUTHORITIES),
    "constraints on addresses": (constrained([URL]), AUTHORITIES, AUTHORITIES),
    "constraints on subjects": (constrained([x509.DirectoryName(NAMED)]), NONE, NONE),
    "constraints to other subjects": (constrained(None, [x509.DirectoryName(NAMED)]), NONE, NONE),
    "constraints to an empty host": (constrained(dns("")), NONE, NONE),
    "constraints to a host with a dot": (constrained(dns(".example")), NONE, NONE),
    "constraints to a wildcard": ((CONSTRAINTS, "300fa00d300b82092a2e6578616d706c65"), NONE, NONE),
    "constraints to no network": (
        constrained(None, [x509.IPAddress(ip_network("0.0.0.0/0"))]),
        *(AUTHORITIES, AUTHORITIES),
    ),
}
# In the place of its basic constraints: DER, and its worth.
BASICS = {
    "empty": ("3000", "+--"),
    "with a default that is written": ("3003010100", NONE),
    "with a length and no authority": ("3003020100", NONE),
    "with a large length": ("30080101ff0203010000", AUTHORITIES),
    "with a length of nine octets": ("300e0101ff0209010000000000000000", NONE),
    "with a length with a zero in front": ("30070101ff02020001", NONE),
}
# In the place of its key usage.
USAGES = {
    "without bits": ("030100", NONE),
    "of no bit that is set": ("03020700", NONE),
    "to sign": ("03020780", "+--"),
    "to sign, written longer": ("03020080", "+--"),
    "to sign and commit": ("030206c0", "+--"),
    "to commit alone": ("03020640", NONE),
    "to certify": ("03020204", AUTHORITIES),
    "to certify and revoke": ("03020106", AUTHORITIES),
    "to sign and certify": ("03020284", AUTHORITIES),
    "to sign and to encipher without agreeing": ("0303078080", NONE),
    "of bits beyond its end": ("030207ff", NONE),
    "in parts": ("230403020780", NONE),
}
# Beside the host in the names of a leaf.
ALTERNATIVES = {
    "another text": ("8203612e2e", True),
    "an empty host": ("8200", True),
    "a host that is not ASCII": ("8203e9e9e9", False),
    "an e-mail address": ("8103614062", True),
    "an e-mail address that is not ASCII": ("8101e9", False),
    "an address that is not ASCII": ("8601e9", False),
    "an IP address": ("870401020304", True),
    "an IP address of three octets": ("8703010203", False),
    "a directory name": ("a40f300d310b300906035504030c026162", True),
    "a directory name that is none": ("a4020500", False),
    "another name": ("a00906032a0304a0020500", True),
    "another name that is none": ("a0020500", False),
    "a number": ("88032a0304", True),
    "a number that does not end": ("880180", False),
    "a name of X.400": ("a303020100", False),
    "a kind that nobody knows": ("8901aa", False),
    "a host in parts": ("a2030c0178", False),
}


def chains_with_extensions() -> dict[str, Case]:
    """All cases by what is special about them."""
    return {**dict(_added()), **dict(_replaced()), **_keys()}


def _added() -> Iterator[tuple[str, Case]]:
    present = {"leaf": signs(), "issuing": authority(0), "root": authority()}
    for what, (value, plain, critical) in ADDED.items():
        for how, worth in (("", plain), (" that is critical", critical)):
            for part, sign in zip(PARTS, worth, strict=True):
                more = _written(value, critical=bool(how))
                yield (
                    f"{part} with {what}{how}",
                    made(sign == "+", **{part: {"extensions": [*present[part], more]}}),
                )
    for what, (name, good) in ALTERNATIVES.items():
        names = _written((NAMES, tlv(0x30, BY_DNS, bytes.fromhex(name)).hex()))
        yield f"leaf also named by {what}", made(good, leaf={"extensions": [key_usage(sign=True), names]})


def _replaced() -> Iterator[tuple[str, Case]]:
    ends = {
        "leaf": (key_usage(sign=True), for_hosts(HOST)),
        "issuing": (key_usage(certify=True),),
        "root": (key_usage(certify=True),),
    }
    for what, (octets, worth) in BASICS.items():
        for part, sign in zip(PARTS, worth, strict=True):
            extensions = [_written((BASIC, octets), critical=True), *ends[part]]
            yield (
                f"{part} with basic constraints {what}",
                made(sign == "+", **{part: {"extensions": extensions}}),
            )
    for what, (octets, worth) in USAGES.items():
        for part, sign in zip(PARTS, worth, strict=True):
            other = for_hosts(HOST) if part == "leaf" else constraints(True, 0 if part == "issuing" else None)
            extensions = [_written((KEY_USAGE, octets), critical=True), other]
            yield f"{part} with a key usage {what}", made(sign == "+", **{part: {"extensions": extensions}})


def _keys() -> dict[str, Case]:
    """Identifiers and sizes of keys."""
    own, other = (x509.SubjectKeyIdentifier(octet * 20) for octet in (b"1", b"2"))
    above = [*authority(0), extension(own)]

    def issued(good: bool, **identifier: Any) -> Case:
        facts = {"key_identifier": None, "authority_cert_issuer": None, "authority_cert_serial_number": None}
        named = x509.AuthorityKeyIdentifier(**facts | identifier)
        return made(good, issuing={"extensions": above}, leaf={"extensions": signs(extension(named))})

    by_root = x509.AuthorityKeyIdentifier(other.digest, None, None)
    short, long = (rsa.generate_private_key(65537, size) for size in (2047, 2048))

    def below(key: rsa.RSAPrivateKey) -> dict[str, Any]:
        return {"signer": key, "algorithm": RSA_SHA256}

    return {
        "issued by the key of that identifier": issued(True, key_identifier=own.digest),
        "issued by the key of another identifier": issued(False, key_identifier=other.digest),
        "issued by a key that is named by the number of its certificate": issued(
            True, authority_cert_issuer=dns("x.example"), authority_cert_serial_number=5
        ),
        "issued by a root whose key has another identifier": made(
            False,
            root={"extensions": [*authority(), extension(own)]},
            issuing={"extensions": [*authority(0), extension(by_root)]},
        ),
        "an authority with an RSA key of 2047 bits": made(False, issuing={"key": short}, leaf=below(short)),
        "a root with an RSA key of 2047 bits": made(
            False, root={"key": short, **below(short)}, issuing=below(short)
        ),
        "a root with an RSA key of 2048 bits": made(
            True, root={"key": long, **below(long)}, issuing=below(long)
        ),
    }


def _written(value: x509.ExtensionType | tuple[str, str], *, critical: bool = False) -> bytes:
    if isinstance(value, tuple):
        oid, octets = value
        return extension(bytes.fromhex(octets), oid=oid, critical=critical)
    return extension(value, critical=critical)
