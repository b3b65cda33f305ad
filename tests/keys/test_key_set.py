"""The key set and the sandbox's root, as relying parties fetch them."""

import json
import re
from base64 import b64decode
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from cryptography import x509
from django.test import RequestFactory
from jwcrypto.jwk import JWKSet

from infra import base64url
from keys import endpoints
from keys.certificates.authority import certify
from keys.issuer_key import signer_of
from keys.jwk import public_der
from keys.models import Authority, SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, in_state

pytestmark = pytest.mark.django_db
requests = RequestFactory()


def fetch() -> Any:
    endpoints.jwks.refresh()
    return endpoints.jwks(requests.get("/openid-connect/jwks"))


def kids() -> list[str]:
    return [key["kid"] for key in json.loads(fetch().content)["keys"]]


@pytest.fixture
def three_keys(now: datetime) -> dict[str, str]:
    """A retired, an active and a staged key."""
    due_steps.rotate(now=now)
    transitions.activate(transitions.stage(now=now).pk, now=now + timedelta(hours=2))
    transitions.stage(now=now + timedelta(hours=3))
    return {key.state: str(key) for key in SigningKey.objects.all()}


def test_a_key_has_exactly_the_members_of_the_contract(three_keys: dict[str, str]) -> None:
    for key in json.loads(fetch().content)["keys"]:
        assert list(key) == ["kty", "kid", "use", "x5c", "crv", "x", "y"]
        assert (key["kty"], key["use"], key["crv"]) == ("EC", "sig", "P-256")
        assert str(UUID(key["kid"])) == key["kid"]
        assert len(key["x"]) == len(key["y"]) == 43


def test_x5c_is_leaf_issuing_ca_root_in_padded_base64_and_certifies_the_key(
    three_keys: dict[str, str],
) -> None:
    published_root = x509.load_pem_x509_certificate(Authority.objects.get().root_pem.encode())
    points = {key["kid"]: key.get_op_key("verify") for key in JWKSet.from_json(fetch().content)["keys"]}
    for entry in json.loads(fetch().content)["keys"]:
        leaf, issuing, root = (
            x509.load_der_x509_certificate(b64decode(der, validate=True)) for der in entry["x5c"]
        )
        leaf.verify_directly_issued_by(issuing)
        issuing.verify_directly_issued_by(root)
        assert root == published_root
        assert leaf.public_key() == points[entry["kid"]]


def test_staged_active_and_retired_keys_are_published_the_signing_one_first(
    three_keys: dict[str, str],
) -> None:
    assert kids() == [three_keys["active"], three_keys["staged"], three_keys["retired"]]


def test_a_withdrawn_key_is_published_no_longer(three_keys: dict[str, str], now: datetime) -> None:
    transitions.withdraw(three_keys["retired"], reason="compromised", now=now)
    assert three_keys["retired"] not in kids()


def test_a_key_without_certificate_is_not_published_yet(now: datetime, settings: Any) -> None:
    due_steps.rotate(now=now)
    settings.SELF_CERTIFYING_AUTHORITY = False
    staged = transitions.stage(now=now)
    assert str(staged) not in kids()


def test_a_retired_key_stays_published_when_its_certificate_ends(three_keys: dict[str, str]) -> None:
    long_ago = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
    retired = SigningKey.objects.get(state=State.RETIRED)
    Authority.objects.all().delete()
    SigningKey.objects.filter(pk=retired.pk).update(
        chain_pem=certify(retired.public_key, now=long_ago), certified_at=long_ago
    )
    assert str(retired) in kids()


def test_no_private_member_ever_appears(three_keys: dict[str, str]) -> None:
    content = fetch().content
    assert not re.search(rb'"(d|p|q|dp|dq|qi|oth|k)"\s*:', content)
    assert b"PRIVATE" not in content
    for key in SigningKey.objects.exclude(state=State.RETIRED):
        numbers = signer_of(key).private_key.private_numbers()
        secret = numbers.private_value.to_bytes(32, "big")
        assert base64url.encode(secret).encode() not in content
        assert secret.hex().encode() not in content
        assert public_der(signer_of(key).public_key) == bytes(key.public_key)
    for key in JWKSet.from_json(content)["keys"]:
        assert not key.has_private


def test_before_the_first_key_the_answer_is_503_and_not_cached(now: datetime) -> None:
    response = fetch()
    assert response.status_code == 503
    assert response["Cache-Control"] == "no-store"


def test_after_every_key_was_withdrawn_the_set_is_empty(now: datetime, settings: Any) -> None:
    due_steps.rotate(now=now)
    settings.SELF_CERTIFYING_AUTHORITY = False  # so that no other key is made in its place
    active = in_state(State.ACTIVE)
    assert active
    transitions.withdraw(active.pk, reason="compromised", now=now)
    assert json.loads(fetch().content) == {"keys": []}


def test_prepared_bytes_cost_no_query(three_keys: dict[str, str], statements: Any) -> None:
    etag = fetch()["ETag"]
    with statements() as seen:
        assert endpoints.jwks(requests.get("/")).status_code == 200
        assert endpoints.jwks(requests.get("/", headers={"If-None-Match": etag})).status_code == 304
        assert endpoints.jwks(requests.head("/")).status_code == 200
    assert seen.texts == []


def test_the_same_keys_give_the_same_bytes(three_keys: dict[str, str]) -> None:
    assert fetch()["ETag"] == fetch()["ETag"]
    assert fetch()["Cache-Control"] == "public, max-age=3600"


def test_the_root_is_published_as_pem_and_der(three_keys: dict[str, str]) -> None:
    pem = endpoints.root_pem(requests.get("/trust/root.pem"))
    der = endpoints.root_der(requests.get("/trust/root.der"))
    assert pem["Content-Type"] == "application/x-pem-file"
    assert der["Content-Type"] == "application/pkix-cert"
    root = x509.load_pem_x509_certificate(pem.content)
    assert root == x509.load_der_x509_certificate(der.content)
    assert "SANDBOX" in root.subject.rfc4514_string()


def test_where_certificates_come_from_elsewhere_there_is_no_root_to_download(now: datetime) -> None:
    for document in (endpoints.root_pem, endpoints.root_der):
        assert document(requests.get("/trust/root")).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_server_that_was_asked_nothing_else_yet_answers_ahead_of_django(now: datetime) -> None:
    due_steps.rotate(now=now)
    endpoints.jwks.refresh()
    started: list[Any] = []
    body = endpoints.jwks.wsgi(requests.get("/").META, lambda *words: started.extend(words))
    assert started[0] == "200 OK"
    assert [key["kid"] for key in json.loads(body[0])["keys"]] == [str(in_state(State.ACTIVE))]
