"""RSA keys for ID tokens live like the keys for credentials, in the same key set, and sign nothing else."""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from django.core.management import call_command
from django.utils import timezone
from jwcrypto.jwk import JWK

from keys import endpoints, key_set
from keys.certificates.authority import certificate_request
from keys.issuer_key import NoSigningKeyError, active_issuer_key, id_token_key, signs_with_rs256
from keys.jwk import any_public_key_from_der
from keys.jws import is_signed_by
from keys.models import Authority, IdTokenKey, SigningKey
from keys.private_keys.backup import export, restore
from keys.private_keys.backup_file import BackupError
from keys.private_keys.key_stores import Store, signer_of
from keys.private_keys.signer import RsaSoftwareSigner, SoftwareSigner, private_key_of
from keys.rotation import due_steps, transitions
from keys.rotation.plan import in_use, outlook, to_rotate
from keys.rotation.states import PUBLISHED_AFTER_SIGNING, PUBLISHED_BEFORE_SIGNING, State
from keys.rotation.withdrawal import cost_of_withdrawal, stops_signing
from tests import softhsm

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
CONTRACT = {"kty", "kid", "use", "x5c", "crv", "x", "y"}


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def active(now: datetime) -> IdTokenKey:
    """The RSA key that signs, beside the key for credentials."""
    due_steps.rotate(now=now - DAY)
    due_steps.rotate(now=now - DAY, kind=IdTokenKey)
    return IdTokenKey.objects.get(state=State.ACTIVE)


def published() -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = json.loads(endpoints.key_set())["keys"]
    return keys


def test_none_is_made_before_an_operator_stages_the_first(now: datetime) -> None:
    call_command("rotate_signing_keys", stdout=StringIO())
    assert not IdTokenKey.objects.exists()
    assert IdTokenKey not in to_rotate()
    assert IdTokenKey not in in_use()
    assert not signs_with_rs256()
    with pytest.raises(NoSigningKeyError):
        id_token_key(now=now)

    call_command("stage_signing_key", "--for", "id-tokens", "--reason", "RS256", stdout=StringIO())
    call_command("rotate_signing_keys", stdout=StringIO())
    assert signs_with_rs256()


def test_the_key_set_has_it_after_the_keys_of_the_contract(active: IdTokenKey) -> None:
    first, second = published()
    assert first.keys() == CONTRACT
    assert second.keys() == {"kty", "kid", "use", "alg", "x5c", "n", "e"}
    assert (second["kty"], second["alg"], second["kid"]) == ("RSA", "RS256", str(active))
    public_key = JWK(**second).export_to_pem()
    assert public_key == JWK(**JWK.from_pem(public_key).export_public(as_dict=True)).export_to_pem()
    leaf = x509.load_pem_x509_certificates(active.chain_pem.encode())[0].public_key()
    assert isinstance(leaf, rsa.RSAPublicKey)
    assert leaf.key_size == 3072


def test_it_signs_with_rs256_and_is_no_key_of_an_issuer(active: IdTokenKey, now: datetime) -> None:
    key = id_token_key(now=now)
    assert (key.kid, key.algorithm) == (str(active), "RS256")
    signature = key.signer.sign(b"message")
    key.signer.public_key.verify(signature, b"message", PKCS1v15(), SHA256())  # type: ignore[union-attr, call-arg, arg-type]
    assert not is_signed_by(key.signer.public_key, signature, b"another")
    assert active_issuer_key(now=now).kid != str(active)
    assert key_set.find(str(active)) is None, "no token of ours is verified with it"


def test_it_rotates_like_the_others(active: IdTokenKey, now: datetime) -> None:
    successor = transitions.stage(now=now, kind=IdTokenKey)
    assert str(successor) in {key["kid"] for key in published()}
    with pytest.raises(transitions.RotationRefusedError):
        transitions.activate(successor.pk, now=now)
    later = now + PUBLISHED_BEFORE_SIGNING
    transitions.activate(successor.pk, now=later)
    assert id_token_key(now=later).kid == str(successor)
    assert str(active) in {key["kid"] for key in published()}

    due_steps.rotate(now=later + PUBLISHED_AFTER_SIGNING, kind=IdTokenKey)
    assert str(active) not in {key["kid"] for key in published()}
    active.refresh_from_db()
    assert (active.state, bytes(active.sealed_private_key)) == (State.WITHDRAWN, b"")


def test_its_lack_is_a_problem_only_once_there_was_one(active: IdTokenKey, now: datetime) -> None:
    assert not outlook(now=now, kind=IdTokenKey).problems
    assert not stops_signing(active, now=now)
    assert "RS256" in cost_of_withdrawal(active, now=now)
    transitions.withdraw(active.pk, reason="a drill", now=now)
    IdTokenKey.objects.exclude(state=State.WITHDRAWN).delete()
    assert IdTokenKey in in_use()
    assert "RS256" in " ".join(entry.text for entry in outlook(now=now, kind=IdTokenKey).problems)


def test_a_certificate_request_for_it_verifies(active: IdTokenKey) -> None:
    request = x509.load_pem_x509_csr(certificate_request(signer_of(active)).encode())
    assert request.is_signature_valid
    assert isinstance(request.public_key(), rsa.RSAPublicKey)
    with pytest.raises(ValueError, match="PKCS1"):
        private_key_of(signer_of(active)).sign(b"data", None, None)  # type: ignore[call-arg, arg-type]


def test_a_backup_has_it_and_an_earlier_one_has_none(
    active: IdTokenKey, now: datetime, settings: Any
) -> None:
    before = endpoints.key_set()
    facts = json.loads(export(actor="tests", reason="tests", now=now))
    assert [key["id"] for key in facts["id_token_keys"]] == [str(active)]
    for model in (IdTokenKey, SigningKey, Authority):
        model.objects.all().delete()
    settings.KEY_SEALING_KEYS = ["the sealing keys were lost with the database"]

    mixed = {**facts, "id_token_keys": facts["keys"]}
    with pytest.raises(BackupError):
        restore(json.dumps(mixed).encode(), actor="tests", reason="tests", now=now)
    assert restore(json.dumps(facts).encode(), actor="tests", reason="tests", now=now) == 2
    assert endpoints.key_set() == before
    assert id_token_key(now=now).signer.sign(b"message")

    for model in (IdTokenKey, SigningKey, Authority):
        model.objects.all().delete()
    del facts["id_token_keys"]
    assert restore(json.dumps(facts).encode(), actor="tests", reason="tests", now=now) == 1


@pytest.mark.parametrize("bits", [2048])
def test_a_short_key_is_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="3072 bits"):
        RsaSoftwareSigner(rsa.generate_private_key(public_exponent=65537, key_size=bits))


def test_a_key_of_the_other_kind_does_not_open() -> None:
    with pytest.raises(ValueError, match="RSA"):
        RsaSoftwareSigner.from_der(SoftwareSigner.generate().to_der())


@pytest.mark.skipif(not softhsm.INSTALLED, reason="SoftHSM is not installed")
@pytest.mark.usefixtures("server")
def test_a_hardware_module_makes_it_and_signs_with_it(now: datetime, settings: Any) -> None:
    settings.SIGNING_KEY_STORE = Store.PKCS11
    key = transitions.stage(now=now, kind=IdTokenKey)
    assert bytes(key.sealed_private_key) == b""
    public_key = any_public_key_from_der(key.public_key)
    assert isinstance(public_key, rsa.RSAPublicKey)
    assert is_signed_by(public_key, signer_of(key).sign(b"message"), b"message")
    assert x509.load_pem_x509_csr(certificate_request(signer_of(key)).encode()).is_signature_valid
