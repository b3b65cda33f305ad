"""A certificate chain is valid in every respect, or the constructor refuses it."""

from base64 import b64decode
from datetime import timedelta
from ssl import DER_cert_to_PEM_cert

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given, settings
from hypothesis import strategies as st

from keys.certificates.chain import MAX_PEM, BrokenChainError, CertificateChain
from tests.keys.certificates import CA_USAGE, NOW, Made, chain, issuing, leaf, make, pem, root

LEAF, ISSUING, ROOT = chain()


def parsed(*certificates: Made) -> CertificateChain:
    return CertificateChain.from_pem(pem(*certificates), public_key=certificates[0].spki, now=NOW)


def test_a_chain_that_fits_exists_and_gives_what_headers_and_key_sets_need() -> None:
    fitting = parsed(LEAF, ISSUING, ROOT)
    ders = [made.certificate.public_bytes(Encoding.DER) for made in (LEAF, ISSUING, ROOT)]
    assert [b64decode(entry, validate=True) for entry in fitting.x5c_with_root] == ders
    assert fitting.x5c == fitting.x5c_with_root[:2]
    assert fitting.leaf == LEAF.certificate
    assert fitting.root == ROOT.certificate


def test_a_chain_may_have_more_than_one_ca_between() -> None:
    middle = issuing(ROOT, path_length=1)
    lower = make("Lower CA", middle, ca=True, path_length=0, uses=CA_USAGE)
    assert len(parsed(leaf(lower), lower, middle, ROOT).x5c) == 3


def test_authorities_may_have_rsa_keys() -> None:
    top = root(key=rsa.generate_private_key(65537, 2048))
    middle = issuing(top)
    assert parsed(leaf(middle), middle, top)


def test_the_chain_ends_with_the_first_of_its_certificates() -> None:
    middle = issuing(ROOT, ends=NOW + timedelta(days=3))
    assert parsed(leaf(middle), middle, ROOT).not_after == NOW + timedelta(days=3)


@pytest.mark.parametrize(
    ("which", "moment", "fits"),
    [
        ("first second", NOW - timedelta(days=1), True),
        ("a second early", NOW - timedelta(days=1, seconds=1), False),
        ("last second", NOW + timedelta(days=100) - timedelta(seconds=1), True),
        ("the very end", NOW + timedelta(days=100), False),
    ],
)
def test_dates_are_held_to_the_second(which: str, moment, fits: bool) -> None:
    def attempt() -> CertificateChain:
        return CertificateChain.from_pem(pem(LEAF, ISSUING, ROOT), public_key=LEAF.spki, now=moment)

    if fits:
        assert attempt()
    else:
        with pytest.raises(BrokenChainError, match="ended on|valid only from"):
            attempt()


def _wrong_chains():
    other_root = root()
    other_issuing = issuing(other_root)
    ended = issuing(ROOT, ends=NOW - timedelta(seconds=1))
    future = leaf(ISSUING, begins=NOW + timedelta(days=1))
    no_ca = make("Issuing CA", ROOT, ca=False, uses=CA_USAGE)
    unsaid_ca = make("Issuing CA", ROOT, uses=CA_USAGE)
    cannot_sign = issuing(ROOT, uses={"digital_signature"})
    no_usage = issuing(ROOT, uses=None)
    long_way = issuing(ROOT)  # path length 0
    lower = make("Lower CA", long_way, ca=True, uses=CA_USAGE)
    p384_leaf = leaf(ISSUING, key=ec.generate_private_key(ec.SECP384R1()))
    small = root(key=rsa.generate_private_key(65537, 1024))
    small_issuing = issuing(small)
    odd_curve = root(key=ec.generate_private_key(ec.SECP256K1()))
    odd_issuing = issuing(odd_curve)
    same_name = issuing(ROOT)  # another key under the same name
    with_id = leaf(
        ISSUING,
        authority_key_id=x509.SubjectKeyIdentifier.from_public_key(same_name.key.public_key()).digest,
    )
    strange = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
    weak = leaf(ISSUING, hash_=hashes.SHA224())
    return {
        "root missing": ((LEAF, ISSUING), "leaf, issuing CA, root; this has 2"),
        "only a leaf": ((LEAF,), "this has 1"),
        "too many": ((LEAF, *[ISSUING] * 6), "this has 7"),
        "issuing CA missing": ((LEAF, ROOT, ROOT), "order or a gap between the leaf “CN=wallet.example” and"),
        "wrong order": ((LEAF, ROOT, ISSUING), "order or a gap"),
        "upside down": ((ROOT, ISSUING, LEAF), "root|leaf"),
        "root not self-signed": (
            (leaf(lower), lower, issuing(ROOT, path_length=1)),
            "order or a gap|self-signed|was not signed by",
        ),
        "another root of the same name": (
            (LEAF, ISSUING, other_root),
            "The issuing CA “CN=Issuing CA” was not signed by the root “CN=Root”",
        ),
        "another issuing CA of the same name": (
            (LEAF, other_issuing, other_root),
            "leaf “CN=wallet.example” was not signed by the issuing CA",
        ),
        "key id of another issuer": (
            (with_id, ISSUING, ROOT),
            "leaf .* was issued by another key with the name of the issuing CA",
        ),
        "issuing CA ended": (
            (leaf(ended), ended, ROOT),
            "issuing CA “CN=Issuing CA” ended on 20 Nov 2026",
        ),
        "leaf not yet valid": ((future, ISSUING, ROOT), "leaf “CN=wallet.example” is valid only from"),
        "issuer is no CA": (
            (leaf(no_ca), no_ca, ROOT),
            "issuing CA “CN=Issuing CA” is not a certificate auth",
        ),
        "issuer does not say": ((leaf(unsaid_ca), unsaid_ca, ROOT), "is not a certificate authority"),
        "issuer may not sign": ((leaf(cannot_sign), cannot_sign, ROOT), "lacks keyCertSign"),
        "issuer without usage": ((leaf(no_usage), no_usage, ROOT), "lacks keyCertSign"),
        "path too long": ((leaf(lower), lower, long_way, ROOT), "path length of the issuing CA"),
        "leaf is a CA": ((leaf(ISSUING, ca=True), ISSUING, ROOT), "is a certificate authority"),
        "leaf without usage": ((leaf(ISSUING, uses=None), ISSUING, ROOT), "must be digitalSignature"),
        "leaf for agreement": (
            (leaf(ISSUING, uses={"key_agreement"}), ISSUING, ROOT),
            "must be digitalSignature",
        ),
        "leaf signs too much": (
            (leaf(ISSUING, uses={"digital_signature", "key_cert_sign"}), ISSUING, ROOT),
            "not keyCertSign",
        ),
        "leaf on another curve": ((p384_leaf, ISSUING, ROOT), "neither on the curve P-256 nor RSA"),
        "weak root": ((leaf(small_issuing), small_issuing, small), "key of the root .* is neither"),
        "root on an odd curve": (
            (leaf(odd_issuing), odd_issuing, odd_curve),
            "key of the root .* is neither",
        ),
        "critical unknown": ((leaf(ISSUING, extra=strange), ISSUING, ROOT), "not understood: 1.2.3.4"),
        "weak hash": ((weak, ISSUING, ROOT), "SHA-256 or better"),
    }


WRONG = _wrong_chains()


@pytest.mark.parametrize("case", WRONG)
def test_a_chain_that_does_not_fit_does_not_exist_and_the_reason_names_the_certificates(case: str) -> None:
    certificates, reason = WRONG[case]
    with pytest.raises(BrokenChainError, match=reason):
        parsed(*certificates)


def test_a_root_that_only_claims_to_have_signed_itself_is_refused() -> None:
    impostor = make("Root", make("Elsewhere"), ca=True, uses=CA_USAGE, issuer_name="Root")
    middle = issuing(impostor)
    with pytest.raises(BrokenChainError, match="The root “CN=Root” was not signed by the root"):
        parsed(leaf(middle), middle, impostor)


def test_a_chain_that_ends_below_the_root_is_refused() -> None:
    middle = issuing(ROOT, path_length=1)
    lower = make("Lower CA", middle, ca=True, path_length=0, uses=CA_USAGE)
    with pytest.raises(BrokenChainError, match="must be a self-signed root"):
        parsed(leaf(lower), lower, middle)


def test_the_leaf_must_be_for_this_signing_key() -> None:
    with pytest.raises(BrokenChainError, match="certifies another key"):
        CertificateChain.from_pem(pem(LEAF, ISSUING, ROOT), public_key=ISSUING.spki, now=NOW)


def test_a_chain_cannot_be_made_around_the_checks() -> None:
    with pytest.raises(BrokenChainError):
        CertificateChain((LEAF.certificate, ROOT.certificate, ROOT.certificate), LEAF.spki, NOW)


@pytest.mark.parametrize(
    "text", ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "é"]
)
def test_what_is_no_pem_is_refused(text: str) -> None:
    with pytest.raises(BrokenChainError, match="not a chain of PEM"):
        CertificateChain.from_pem(text, public_key=LEAF.spki, now=NOW)


def test_an_endless_chain_is_refused_unread() -> None:
    with pytest.raises(BrokenChainError, match="longer than"):
        CertificateChain.from_pem("A" * (MAX_PEM + 1), public_key=LEAF.spki, now=NOW)


# The parser warns of what it tolerates (odd name lengths, odd serial numbers); the signature refuses it.
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@settings(max_examples=3 * settings.default.max_examples)
@given(st.data())
def test_damaged_bytes_are_refused_or_leave_everything_certified_as_it_was(data: st.DataObject) -> None:
    ders = [made.certificate.public_bytes(Encoding.DER) for made in (LEAF, ISSUING, ROOT)]
    which = data.draw(st.integers(0, 2))
    damaged = bytearray(ders[which])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    ders[which] = bytes(damaged)
    text = "".join(DER_cert_to_PEM_cert(der) for der in ders)
    try:
        tolerated = CertificateChain.from_pem(text, public_key=LEAF.spki, now=NOW)
    except BrokenChainError:
        return
    # The count of unused bits around a signature is not covered by the signature.
    originals = (LEAF, ISSUING, ROOT)
    assert [c.tbs_certificate_bytes for c in tolerated.certificates] == [
        made.certificate.tbs_certificate_bytes for made in originals
    ]


@given(st.text(max_size=300))
def test_arbitrary_text_is_refused(text: str) -> None:
    with pytest.raises(BrokenChainError):
        CertificateChain.from_pem(text, public_key=LEAF.spki, now=NOW)
