"""The files of a certificate authority are put in order, or refused with a reason that helps."""

import itertools
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs7
from hypothesis import given
from hypothesis import strategies as st

from keys.certificates.bundle import chain_pem
from keys.certificates.chain import MAX_PEM, BrokenChainError, CertificateChain
from tests.keys.certificates import CA_USAGE, NOW, Made, chain, issuing, leaf, make, pem, root

LEAF, ISSUING, ROOT = CHAIN = chain()
ORDERS = list(itertools.permutations(CHAIN))


def der(made: Made) -> bytes:
    return made.certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_and_any_form_gives_leaf_issuing_ca_and_root(order: tuple[Made, ...]) -> None:
    certificates = [made.certificate for made in order]
    forms = {
        "PEM": [pem(*order).encode()],
        "PEM with text around": [("Bag Attributes\n\n" + "\nissuer=x\n".join(m.pem for m in order)).encode()],
        "PEM with Windows line ends": [pem(*order).replace("\n", "\r\n").encode()],
        "DER in files": [der(made) for made in order],
        "PEM in files": [made.pem.encode() for made in order],
        "mixed": [der(order[0]), pem(order[1]).encode(), der(order[2])],
        "PKCS#7 DER": [pkcs7.serialize_certificates(certificates, Encoding.DER)],
        "PKCS#7 PEM": [pkcs7.serialize_certificates(certificates, Encoding.PEM)],
        "one twice": [pem(*order, order[0]).encode()],
    }
    for name, files in forms.items():
        assert chain_pem(*files, public_key=LEAF.spki) == pem(*CHAIN), name


def test_what_is_put_in_order_makes_a_chain_with_several_cas_between() -> None:
    middle = issuing(ROOT, path_length=1)
    lower = make("Lower CA", middle, ca=True, path_length=0, uses=CA_USAGE)
    low = leaf(lower)
    ordered = chain_pem(pem(ROOT, low, middle, lower).encode(), public_key=low.spki)
    assert ordered == pem(low, lower, middle, ROOT)
    assert CertificateChain.from_pem(ordered, public_key=low.spki, now=NOW)


def test_of_a_root_that_is_also_cross_signed_the_root_ends_the_chain() -> None:
    other = root()
    crossed = make("Root", make("Elder", ca=True, uses=CA_USAGE), key=ROOT.key, ca=True, uses=CA_USAGE)
    with pytest.raises(BrokenChainError, match="leave out: “CN=Root”"):
        chain_pem(pem(crossed, *CHAIN).encode(), public_key=LEAF.spki)
    with pytest.raises(BrokenChainError, match="leave out: “CN=Root”"):
        chain_pem(pem(other, *CHAIN).encode(), public_key=LEAF.spki)


def _wrong() -> dict[str, tuple[list[bytes], str]]:
    other_root = root()
    other_issuing = issuing(other_root)
    twin = leaf(ISSUING, key=LEAF.key, ends=NOW + timedelta(days=7))
    private = LEAF.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    request = x509.CertificateSigningRequestBuilder(LEAF.certificate.subject).sign(
        LEAF.key, LEAF.certificate.signature_hash_algorithm
    )
    return {
        "nothing": ([], "No certificate here is for this signing key"),
        "no leaf": ([pem(ISSUING, ROOT).encode()], "another key: “CN=Issuing CA”, “CN=Root”"),
        "two leaves": ([pem(*CHAIN, twin).encode()], "2 leaf certificates for this signing key"),
        "no root": (
            [pem(LEAF, ISSUING).encode()],
            "is missing: “CN=Issuing CA” was issued by “CN=Root”, which is not here",
        ),
        "no issuing CA": (
            [pem(ROOT, LEAF).encode()],
            "is missing: “CN=wallet.example” was issued by “CN=Issuing CA”",
        ),
        "another issuing CA of that name": (
            [pem(LEAF, other_issuing, other_root).encode()],
            "“CN=wallet.example” names “CN=Issuing CA” as its issuer, but another key signed it",
        ),
        "another root of that name": ([pem(LEAF, ISSUING, other_root).encode()], "another key signed it"),
        "a stranger": ([pem(*CHAIN, make("Stranger")).encode()], "leave out: “CN=Stranger”"),
        "too many": (
            [pem(*CHAIN, *(make(f"CA {n}") for n in range(4))).encode()],
            "6 certificates at most, not 7",
        ),
        "a private key": ([pem(*CHAIN).encode() + private], "holds a private key"),
        "the request": ([request.public_bytes(Encoding.PEM)], "is a certificate request"),
        "something else": ([b"-----BEGIN X9-----\nAAAA\n-----END X9-----"], "“X9”, which is no certificate"),
        "text": ([b"hello"], "not a chain of PEM certificates, nor of DER ones"),
        "an empty file": ([b""], "not a chain of PEM certificates, nor of DER ones"),
        "PEM cut off": ([pem(*CHAIN).encode()[:-40]], "not a chain of PEM certificates"),
        "DER cut off": ([der(LEAF)[:-1]], "cut off, or something else"),
        "several certificates in a DER file": ([der(LEAF) + der(ISSUING)], "cut off, or something else"),
        "another structure": ([b"\x30\x03\x02\x01\x05"], "neither a DER certificate nor PKCS#7"),
        "too long": ([b"-" * MAX_PEM, b"-"], f"longer than {MAX_PEM} bytes"),
    }


WRONG = _wrong()


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_put_in_order_is_refused_for_its_reason(case: str) -> None:
    files, reason = WRONG[case]
    with pytest.raises(BrokenChainError, match=reason):
        chain_pem(*files, public_key=LEAF.spki)


def test_a_leaf_of_another_key_is_no_leaf() -> None:
    key = Made(LEAF.certificate, ec.generate_private_key(ec.SECP256R1())).spki
    with pytest.raises(BrokenChainError, match="No certificate here is for this signing key"):
        chain_pem(pem(*CHAIN).encode(), public_key=key)


@given(
    st.binary(max_size=300), st.sampled_from([b"", b"\x30", b"\x30\x82", b"-----BEGIN CERTIFICATE-----\n"])
)
def test_arbitrary_bytes_are_refused(junk: bytes, beginning: bytes) -> None:
    with pytest.raises(BrokenChainError):
        chain_pem(beginning + junk, public_key=LEAF.spki)


# The parser warns of what it tolerates (odd name lengths, odd serial numbers).
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@given(st.data())
def test_damaged_der_is_put_in_order_or_refused(data: st.DataObject) -> None:
    files = [bytearray(der(made)) for made in CHAIN]
    damaged = data.draw(st.sampled_from(files))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        ordered = chain_pem(*map(bytes, files), public_key=LEAF.spki)
    except BrokenChainError:
        return
    assert ordered.count("BEGIN") == 3
