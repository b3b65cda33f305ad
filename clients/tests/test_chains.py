"""The service and both client libraries believe the same certificates and signatures."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from clients.tests.chains import AT, ISSUER, LEAF_KEY, Case, chains, made
from clients.tests.extensions import chains_with_extensions
from clients.tests.packages import LANGUAGES, Installed
from clients.tests.vectors import case as vector
from credential_presentation.jose import decode, encode
from keys import statements
from keys.certificates.chain import BrokenChainError, CertificateChain
from keys.certificates.path import PathError, anchors_in
from keys.jwk import public_key_of
from keys.jws import JwsError, take_apart
from keys.statements import StatementError
from tests.forgery import Forger, Tampering, new_key

pytestmark = [pytest.mark.node, pytest.mark.slow]
REFUSED = {"x5c", "certificate-chain", "certificate-key", "root"}
CHANGES = 200


def presented(case: Case) -> dict[str, Any]:
    """An application that trusts the roots of the case, and a presentation with its chain."""
    key = (
        case.key
        if getattr(case.key, "key_size", 0) == 256 and case.key.curve.name == "secp256r1"
        else LEAF_KEY
    )
    forger = Forger(base_url=case.issuer, signing_key=key)

    def issue(header: dict[str, Any], *_others: Any) -> None:
        header["x5c"] = case.x5c

    def listed(header: dict[str, Any], _payload: Any) -> None:
        header["x5c"] = case.x5c

    made = vector(forger, Tampering([], issue=issue, listed=listed), [])
    made["wallet"] |= {"root": case.roots, "base_url": case.issuer}
    made["pending"] |= {"issuer": case.issuer}
    return made


def decided(
    installed: Installed, file: Path, vectors: dict[str, dict[str, Any]]
) -> dict[str, dict[str, str]]:
    """For each library, the check that each case fails; "" if it is accepted."""
    file.write_text(json.dumps(vectors))
    found = {}
    for language in LANGUAGES:
        with (library := installed.starts(language)).process:
            found[language] = library("vectors", file=str(file))
    return found


def believed_by_the_service(case: Case, header: dict[str, Any]) -> bool:
    try:
        roots = anchors_in("".join(case.roots).encode())
        key = statements.vouched_for(header, case.issuer, roots=roots, at=AT)
    except (PathError, StatementError):
        return False
    return key.curve.name == "secp256r1"


def test_service_and_libraries_believe_the_same_chains(installed: Installed, tmp_path: Path) -> None:
    cases = chains() | chains_with_extensions()
    libraries = decided(
        installed, tmp_path / "chains.json", {name: presented(each) for name, each in cases.items()}
    )
    wrong = {}
    for name, each in cases.items():
        service = believed_by_the_service(each, {"x5c": each.x5c})
        checks = {language: refused[name] for language, refused in libraries.items()}
        as_expected = all(check in ({""} if each.good else REFUSED) for check in checks.values())
        if service != each.good or not as_expected:
            wrong[name] = {"good": each.good, "service": service, **checks}
    assert wrong == {}
    assert len(cases) > 400


# What the service refuses as the chain of its own key though everybody would believe the key: the chain must
# be whole, last for more than a moment, and have one self-signed root.
OF_ITS_OWN_KEY = {
    "directly below the root",
    "ends now",
    "one of two roots",
    "beside a root that has ended",
    "an authority that is trusted itself",
    "a cross certificate with 1 roots",
    "a cross certificate with 2 roots",
}


def test_what_the_service_refuses_for_its_own_key_all_refuse() -> None:
    """`CertificateChain` has rules of its own, and none may be missing where others believe the key."""
    stricter = {
        name.partition(", ")[0]
        for name, case in (chains() | chains_with_extensions()).items()
        if case.good and not fit_for_an_own_key(case)
    }
    assert stricter == OF_ITS_OWN_KEY


def fit_for_an_own_key(case: Case) -> bool:
    root = base64.b64decode("".join(case.roots[0].split("\n")[1:-2]))
    ders = [base64.b64decode(each) for each in case.x5c]
    try:
        certificates = [x509.load_der_x509_certificate(der) for der in dict.fromkeys([*ders, root])]
        key = certificates[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        CertificateChain(tuple(certificates), key, AT)
    except BrokenChainError:
        return False
    return True


def changed_somewhere(drawn: random.Random) -> Case:
    """A chain with an octet of one certificate changed, removed or added, or a byte of its text."""
    case = made(True)
    place = drawn.randrange(len(case.x5c))
    octets = bytearray(base64.b64decode(case.x5c[place]))
    at = drawn.randrange(len(octets))
    octets[at : at + drawn.choice([0, 1, 1, 1])] = drawn.choice(
        [b"", bytes([octets[at] ^ 1 << drawn.randrange(8)]), drawn.randbytes(1)]
    )
    x5c = [*case.x5c]
    x5c[place] = base64.b64encode(octets).decode()
    return replace(case, x5c=x5c)


def test_service_and_libraries_agree_whatever_octet_of_a_certificate_is_changed(
    installed: Installed, tmp_path: Path
) -> None:
    drawn = random.Random(CHANGES)
    cases = {str(number): changed_somewhere(drawn) for number in range(CHANGES)}
    libraries = decided(
        installed, tmp_path / "changed.json", {name: presented(each) for name, each in cases.items()}
    )
    for name, case in cases.items():
        good = believed_by_the_service(case, {"x5c": case.x5c})
        checks = [refused[name] for refused in libraries.values()]
        assert [check in REFUSED for check in checks] == [not good, not good], (case.x5c, good, checks)


# --- Signatures -------------------------------------------------------------------------------------------

N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # the order of P-256 (FIPS 186-4)


def numbers(octets: bytes) -> tuple[int, int]:
    return int.from_bytes(octets[:32], "big"), int.from_bytes(octets[32:], "big")


def joined(r: int, s: int, width: int = 32) -> bytes:
    return r.to_bytes(width, "big") + s.to_bytes(width, "big")


# What somebody makes of a signature, and whether it is still one. With every r and s, n - s is one too.
SIGNATURES: dict[str, tuple[Callable[[bytes], bytes], bool]] = {
    "as it is": (lambda octets: octets, True),
    "the other s": (lambda octets: joined(numbers(octets)[0], N - numbers(octets)[1]), True),
    "none": (lambda octets: b"", False),
    "63 bytes": (lambda octets: octets[:63], False),
    "65 bytes": (lambda octets: octets + b"\0", False),
    "65 bytes with a zero in front": (lambda octets: b"\0" + octets, False),
    "65 bytes with a zero before s": (lambda octets: octets[:32] + b"\0" + octets[32:], False),
    "96 bytes with zeros before s": (lambda octets: octets[:32] + bytes(32) + octets[32:], False),
    "66 bytes with zeros in front": (lambda octets: joined(*numbers(octets), 33), False),
    "96 bytes": (lambda octets: joined(*numbers(octets), 48), False),
    "96 bytes with zeros behind": (lambda octets: octets + bytes(32), False),
    "twice": (lambda octets: octets * 2, False),
    "in DER": (lambda octets: encode_dss_signature(*numbers(octets)), False),
    "r of 0": (lambda octets: joined(0, numbers(octets)[1]), False),
    "s of 0": (lambda octets: joined(numbers(octets)[0], 0), False),
    "zeros": (lambda octets: bytes(64), False),
    "r of n": (lambda octets: joined(N, numbers(octets)[1]), False),
    "s of n": (lambda octets: joined(numbers(octets)[0], N), False),
    "r and s of n": (lambda octets: joined(N, N), False),
    "ones": (lambda octets: b"\xff" * 64, False),
    "r and s the other way round": (lambda octets: octets[32:] + octets[:32], False),
    "another bit": (lambda octets: octets[:-1] + bytes([octets[-1] ^ 1]), False),
}


def signed_otherwise(change: Callable[[bytes], bytes], part: int) -> dict[str, Any]:
    """A presentation with another signature of the issuer (0), or of the holder (-1)."""

    def send(token: str) -> str:
        parts = token.split("~")
        head, body, signature = parts[part].split(".")
        parts[part] = f"{head}.{body}.{encode(change(decode(signature)))}"
        return "~".join(parts)

    return vector(Forger(), Tampering([], send=send), [])


@pytest.mark.parametrize("part", [0, -1], ids=["the issuer's", "the holder's"])
def test_service_and_libraries_believe_the_same_signatures(
    installed: Installed, tmp_path: Path, part: int
) -> None:
    cases = {name: signed_otherwise(change, part) for name, (change, _good) in SIGNATURES.items()}
    libraries = decided(installed, tmp_path / "signatures.json", cases)
    # The binding is to the issuer's signature as it was.
    accepted = {"kb-sd-hash", ""} if part == 0 else {""}
    wrong = {}
    for name, (_change, good) in SIGNATURES.items():
        expected = accepted if good else {"issuer-signature" if part == 0 else "kb-signature"}
        checks = {language: refused[name] for language, refused in libraries.items()}
        service = verified_by_the_service(cases[name], part)
        if service != good or not set(checks.values()) <= expected:
            wrong[name] = {"good": good, "service": service, **checks}
    assert wrong == {}


def verified_by_the_service(case: dict[str, Any], part: int) -> bool:
    token = case["fields"]["vp_token"].split("~")
    if part == 0:
        (jwk,) = json.loads(case["wallet"]["documents"][f"{ISSUER}/openid-connect/jwks"])["keys"]
    else:
        jwk = json.loads(decode(token[0].split(".")[1]))["cnf"]["jwk"]
    jws = take_apart(token[part])
    try:
        jws.verified(
            public_key_of({name: jwk[name] for name in ("kty", "crv", "x", "y")}), typ=jws.header["typ"]
        )
    except JwsError:
        return False
    return True


# --- A new root -------------------------------------------------------------------------------------------


def under(common_name: str) -> Case:
    """A chain below a root of its own."""
    key = new_key()
    root = {"subject": common_name, "issuer": common_name, "key": key, "signer": key}
    return made(True, root=root, issuing={"issuer": common_name, "signer": key})


def test_the_runbook_of_a_new_root_leaves_no_moment_without_an_answer(
    installed: Installed, tmp_path: Path
) -> None:
    """docs/keys.md, “An issuing CA or root expires”: first the file with both roots, then the key."""
    before, after = under("Old root"), under("New root")
    old, new = before.roots[0], after.roots[0]
    files = {"the old file": [old], "both in one file": [old + new], "two files": [new, old]}
    signed = {"before": before, "after": after}
    cases = {
        f"{when}, {name}": replace(case, roots=roots)
        for when, case in signed.items()
        for name, roots in (files | {"the new file": [new]}).items()
    }
    refused = {"after, the old file", "before, the new file"}
    decisions = decided(
        installed, tmp_path / "roots.json", {name: presented(each) for name, each in cases.items()}
    )
    for language, checks in decisions.items():
        assert {name for name, check in checks.items() if check} == refused, language
        assert {checks[name] for name in refused} == {"certificate-chain"}, language
    believed = {name: believed_by_the_service(case, {"x5c": case.x5c}) for name, case in cases.items()}
    assert {name for name, good in believed.items() if not good} == refused
