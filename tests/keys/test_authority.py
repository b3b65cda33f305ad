"""The sandbox's authority, verified by independent tools."""

import json
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from keys.certificates.authority import authority, certificate_request, certify, names_this_issuer
from keys.certificates.chain import CertificateChain
from keys.jwk import public_der
from keys.models import Authority
from keys.private_keys.signer import SoftwareSigner
from tests.keys.openssl import openssl

pytestmark = pytest.mark.django_db


def certified(now: datetime) -> CertificateChain:
    key = public_der(SoftwareSigner.generate().public_key)
    return CertificateChain.from_pem(certify(key, now=now), public_key=key, now=now)


def certified_pem(now: datetime) -> str:
    return certify(public_der(SoftwareSigner.generate().public_key), now=now)


def test_openssl_verifies_the_chain_strictly(now: datetime, tmp_path: Path) -> None:
    leaf, issuing, root = (tmp_path / name for name in ("leaf.pem", "issuing.pem", "root.pem"))
    blocks = certified_pem(now).split("-----BEGIN")[1:]
    for path, block in zip((leaf, issuing, root), blocks, strict=True):
        path.write_text("-----BEGIN" + block)
    arguments = ["verify", "-x509_strict", "-CAfile", root, "-untrusted", issuing]
    assert "OK" in openssl(*arguments, "-verify_hostname", "localhost", leaf)


def test_the_verifier_of_cryptography_accepts_the_chain(now: datetime) -> None:
    chain = certified(now)
    policy = PolicyBuilder().store(Store([chain.root])).time(now)
    verifier = policy.build_server_verifier(x509.DNSName("localhost"))
    assert len(verifier.verify(chain.leaf, [chain.certificates[1]])) == 3


@pytest.mark.node
def test_nodes_x509certificate_accepts_the_chain(now: datetime) -> None:
    """Verifies that each certificate is signed by the next, and that the leaf is for the host."""
    program = """
        const { X509Certificate } = require("node:crypto");
        const pems = require("node:fs").readFileSync(0, "utf8").match(/-----BEGIN[^]*?-----END [A-Z]+-----/g);
        const chain = pems.map((pem) => new X509Certificate(pem));
        const above = (at) => chain[Math.min(at + 1, chain.length - 1)];
        console.log(JSON.stringify({
          issued: chain.map((c, at) => c.checkIssued(above(at)) && c.verify(above(at).publicKey)),
          ca: chain.map((c) => c.ca),
          host: chain[0].checkHost("localhost"),
          stranger: chain[0].verify(chain[2].publicKey),
        }));
    """
    run = subprocess.run(
        ["node", "--eval", program], input=certified_pem(now), capture_output=True, text=True, timeout=20
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "issued": [True, True, True],
        "ca": [False, True, True],
        "host": "localhost",
        "stranger": False,
    }


def test_every_subject_says_sandbox(now: datetime) -> None:
    for certificate in certified(now).certificates:
        assert "SANDBOX" in certificate.subject.rfc4514_string()


def test_the_extensions_are_as_the_profile_has_them(now: datetime, settings: Any) -> None:
    settings.BASE_URL = "https://wallet.example:8443"
    leaf, issuing, root = certified(now).certificates

    def extension(certificate: x509.Certificate, kind: Any) -> Any:
        return certificate.extensions.get_extension_for_class(kind)

    assert extension(root, x509.BasicConstraints).value == x509.BasicConstraints(True, 1)
    assert extension(issuing, x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert extension(leaf, x509.BasicConstraints).value == x509.BasicConstraints(False, None)
    for certificate in (leaf, issuing, root):
        assert extension(certificate, x509.BasicConstraints).critical
        assert extension(certificate, x509.KeyUsage).critical
    assert extension(leaf, x509.KeyUsage).value.digital_signature
    assert not extension(leaf, x509.KeyUsage).value.key_cert_sign
    for certificate in (issuing, root):
        assert extension(certificate, x509.KeyUsage).value.key_cert_sign
        assert not extension(certificate, x509.KeyUsage).value.digital_signature
    for child, parent in ((leaf, issuing), (issuing, root), (root, root)):
        child_names = extension(child, x509.AuthorityKeyIdentifier).value.key_identifier
        assert child_names == extension(parent, x509.SubjectKeyIdentifier).value.digest
    names = extension(leaf, x509.SubjectAlternativeName).value
    assert list(names) == [
        x509.DNSName("wallet.example"),
        x509.UniformResourceIdentifier("https://wallet.example:8443"),
    ]


def test_a_base_address_with_an_ip_address_is_certified_as_one(now: datetime, settings: Any) -> None:
    settings.BASE_URL = "http://127.0.0.1:8000"
    names = certified(now).leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_very_long_host_is_certified(now: datetime, settings: Any) -> None:
    settings.BASE_URL = f"https://{'a' * 60}.{'b' * 60}.example"
    assert certified(now)


def test_a_certificate_names_the_base_address_it_was_issued_for(now: datetime, settings: Any) -> None:
    settings.BASE_URL = "https://wallet.example:8443"
    pem = certified_pem(now)
    assert names_this_issuer(pem)
    for another in ("https://another.example", "https://wallet.example:9443", "http://wallet.example:8443"):
        settings.BASE_URL = another
        assert not names_this_issuer(pem)


def test_the_leaf_outlives_a_rotation_and_not_its_issuer(now: datetime) -> None:
    leaf, issuing, root = certified(now).certificates
    assert leaf.not_valid_before_utc <= now - timedelta(hours=1)  # `iat` is rounded down to the hour
    assert leaf.not_valid_after_utc - now > timedelta(days=90 + 30 + 2)
    assert leaf.not_valid_after_utc < issuing.not_valid_after_utc < root.not_valid_after_utc


def test_there_is_one_authority_and_it_is_kept(now: datetime) -> None:
    first = authority(now=now)
    assert authority(now=now + timedelta(days=30)) == first
    assert Authority.objects.count() == 1


def test_no_private_key_of_the_authority_lies_open(now: datetime) -> None:
    row = authority(now=now)
    for sealed in (row.sealed_root_key, row.sealed_issuing_key):
        with pytest.raises(ValueError):
            SoftwareSigner.from_der(bytes(sealed))


def test_openssl_reads_the_request_for_a_real_authority(settings: Any) -> None:
    settings.BASE_URL = "https://wallet.example"
    request = certificate_request(SoftwareSigner.generate())
    text = openssl("req", "-verify", "-noout", "-text", stdin=request)
    assert "CN = wallet.example" in text
    assert "DNS:wallet.example\n" in text
    assert "Digital Signature" in text
    assert "SANDBOX" not in text


def test_the_subject_of_a_request_is_as_settings_have_it(settings: Any) -> None:
    settings.BASE_URL = "https://wallet.example"
    settings.CERTIFICATE_SUBJECT = "CN=Wallet of Example,O=Example Ltd,C=GB"
    text = openssl(
        "req", "-verify", "-noout", "-subject", stdin=certificate_request(SoftwareSigner.generate())
    )
    assert "C = GB, O = Example Ltd, CN = Wallet of Example" in text
    settings.CERTIFICATE_SUBJECT = "O=Example Ltd,C=GB"
    text = openssl(
        "req", "-verify", "-noout", "-subject", stdin=certificate_request(SoftwareSigner.generate())
    )
    assert "C = GB, O = Example Ltd, CN = wallet.example" in text


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_instances_at_once_make_one_authority(now: datetime, at_once: Any) -> None:
    for _round in range(5):
        Authority.objects.all().delete()
        made = at_once(*[lambda: authority(now=now)] * 8)
        assert len({row.root_pem for row in made}) == 1
        assert Authority.objects.count() == 1
