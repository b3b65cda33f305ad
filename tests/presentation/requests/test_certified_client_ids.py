"""Client IDs that a certificate proves: `x509_hash` and `x509_san_dns` (OpenID4VP 1.0 §5.9.3)."""

import base64
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from infra.registering import NotRegistrableError
from keys.certificates.path import MOST_IN_CHAIN, PathError
from presentation.models import CertifiedClientID, Interaction, RelyingParty
from presentation.relying_parties.metadata import certificates
from presentation.relying_parties.metadata.certificates import LONGEST_PEM
from presentation.requests.interactions import path_of
from presentation.requests.receiving import signed_requests
from tests.forgery import Key, new_key
from tests.keys.certificates import Made, issuing, pem, root
from tests.presentation.clients import with_key
from tests.presentation.far_ends import far_end, says
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.certified_client_ids import (
    DNS,
    authority,
    certificate_of,
    certified,
    hash_of,
    now,
    valid,
)
from tests.presentation.requests.signed_requests import signed
from tests.presentation.verifying import NONCE, answered, failed, verify
from tests.relying_party import take_apart

Bank = tuple[RelyingParty, Key]


@pytest.fixture
def bank(db: None, signing_key: Any) -> Bank:
    return with_key(wire_format="openid4vp-1.0")


def sends(client: Client, bank: Bank, client_id: str, leaf: Made, *above: Made, **changes: Any) -> Any:
    """The answer to a request object with these certificates, signed by the key of the first."""
    header = {"kid": None, "x5c": [each.x5c for each in (leaf, *above)], **changes.pop("header", {})}
    facts = {"header": header, "key": leaf.key, "client_id": client_id} | changes
    text = signed(bank, settings.BASE_URL, **facts)
    return client.get(PATH, {"client_id": client_id, "request": text})


def is_turned_away(answer: Any) -> bool:
    return answer.status_code == 400 and "Location" not in answer.headers


# --- What is answered -------------------------------------------------------------------------------------


def registered_leaf(bank: Bank) -> tuple[str, list[Made]]:
    leaf = certificate_of()
    return certified(bank[0], leaf.pem).client_id, [leaf]


def leaf_with_a_name(bank: Bank) -> tuple[str, list[Made]]:
    leaf = certificate_of()
    return certified(bank[0], leaf.pem, DNS).client_id, [leaf]


def leaf_below_an_anchor(bank: Bank) -> tuple[str, list[Made]]:
    top = root(**valid())
    between = issuing(top, **valid())
    return certified(bank[0], top.pem, DNS).client_id, [certificate_of(above=between), between]


def either_of_two(bank: Bank) -> tuple[str, list[Made]]:
    old, new = certificate_of(), certificate_of()
    return certified(bank[0], pem(old, new), DNS).client_id, [new]


WAYS = [registered_leaf, leaf_with_a_name, leaf_below_an_anchor, either_of_two]


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_bound_to_the_client_id_with_its_prefix(
    holder: Client, bank: Bank, way: Callable[..., tuple[str, list[Made]]]
) -> None:
    client_id, chain = way(bank)
    assert sends(holder, bank, client_id, *chain).status_code == 200
    response = holder.post(path_of(Interaction.objects.get()), {"decision": "share"})
    (tokens,) = json.loads(fragment(response.headers["Location"])["vp_token"]).values()

    assert client_id in (hash_of(chain[0]), DNS)
    assert take_apart(tokens[0])[2].payload["aud"] == client_id


def test_the_answer_can_be_verified_here_by_the_client_id_of_the_request(holder: Client, bank: Bank) -> None:
    client_id, chain = registered_leaf(bank)
    foreign = certified(with_key("Corner Shop")[0], certificate_of().pem).client_id
    sends(holder, bank, client_id, *chain, nonce=NONCE)
    location = holder.post(path_of(Interaction.objects.get()), {"decision": "share"}).headers["Location"]
    asked_for = {"vp_token": fragment(location)["vp_token"], "nonce": NONCE}

    assert answered(verify(bank[0], asked_for | {"client_id": client_id}))["valid"]
    assert failed(verify(bank[0], asked_for)) == "kb-aud"
    for wrong in (foreign, "x509_hash:unknown", 1, "x" * 267):
        assert verify(bank[0], asked_for | {"client_id": wrong}).status_code == 400


def test_a_nonce_counts_once_under_all_client_ids(holder: Client, bank: Bank) -> None:
    client_id, chain = registered_leaf(bank)
    nonce = asked(bank[0])["nonce"]
    sends(holder, bank, client_id, *chain, nonce=nonce)
    holder.post(path_of(Interaction.objects.get()), {"decision": "share"})
    again = holder.get(PATH, asked(bank[0]) | {"nonce": nonce, "state": "other"})
    assert fragment(again.headers["Location"])["error"] == "invalid_request"


# --- What is not ------------------------------------------------------------------------------------------


def with_other_x5c(client: Client, bank: Bank, x5c: Any) -> Any:
    client_id, (leaf,) = registered_leaf(bank)
    return sends(client, bank, client_id, leaf, header={"x5c": x5c})


def of_another_party(client: Client, bank: Bank) -> Any:
    client_id, _chain = registered_leaf(bank)
    _other, (leaf,) = registered_leaf(with_key("Corner Shop", wire_format="openid4vp-1.0"))
    return sends(client, bank, client_id, leaf)


def of_another_party_with_the_same_name(client: Client, bank: Bank) -> Any:
    client_id, _chain = leaf_with_a_name(bank)
    return sends(client, bank, client_id, certificate_of())


def of_another_party_below_the_same_anchor(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    return sends(client, bank, DNS, certificate_of("bank.example", above))


def of_a_subdomain(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    return sends(client, bank, DNS, certificate_of("*.example", above))


def without_the_name(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    return sends(client, bank, DNS, certificate_of("", above))


def below_another_anchor_of_that_name(client: Client, bank: Bank) -> Any:
    certified(bank[0], authority().pem, DNS)
    other = authority()
    return sends(client, bank, DNS, certificate_of(above=other), other)


def signed_by_a_certificate_of_its_own(client: Client, bank: Bank) -> Any:
    """Whoever has a certificate is no authority."""
    _client_id, (leaf,) = leaf_with_a_name(bank)
    return sends(client, bank, DNS, certificate_of(above=leaf))


def signed_by_a_certificate_that_does_not_say_what_it_is(client: Client, bank: Bank) -> Any:
    leaf = certificate_of(ca=None, uses={"digital_signature", "key_cert_sign"})
    certified(bank[0], leaf.pem, DNS)
    return sends(client, bank, DNS, certificate_of(above=leaf))


def expired(client: Client, bank: Bank) -> Any:
    leaf = certificate_of(ends=now() - timedelta(minutes=1))
    return sends(client, bank, certified(bank[0], leaf.pem).client_id, leaf)


def not_valid_yet(client: Client, bank: Bank) -> Any:
    leaf = certificate_of(begins=now() + timedelta(minutes=1))
    return sends(client, bank, certified(bank[0], leaf.pem).client_id, leaf)


def expired_below_an_anchor(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    return sends(client, bank, DNS, certificate_of(above=above, ends=now() - timedelta(minutes=1)))


def for_no_signatures(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    return sends(client, bank, DNS, certificate_of(above=above, uses={"key_agreement"}))


def signed_by_somebody_else(client: Client, bank: Bank) -> Any:
    client_id, (leaf,) = registered_leaf(bank)
    return sends(client, bank, client_id, leaf, key=new_key())


def signed_by_its_registered_key(client: Client, bank: Bank) -> Any:
    """The keys of `client_id` do not count for a client ID with a prefix."""
    client_id, (leaf,) = registered_leaf(bank)
    return sends(client, bank, client_id, leaf, key=bank[1], header={"kid": "one", "x5c": None})


def certified_for_the_client_id_without_a_prefix(client: Client, bank: Bank) -> Any:
    _client_id, (leaf,) = registered_leaf(bank)
    return sends(client, bank, bank[0].client_id, leaf)


def with_a_key_on_another_curve(client: Client, bank: Bank) -> Any:
    above = authority()
    certified(bank[0], above.pem, DNS)
    leaf = certificate_of(above=above, key=ec.generate_private_key(ec.SECP384R1()))
    return sends(client, bank, DNS, leaf, key=new_key())


def unsigned(client: Client, bank: Bank) -> Any:
    client_id, _chain = registered_leaf(bank)
    return client.get(PATH, asked(bank[0]) | {"client_id": client_id})


def of_a_suspended_party(client: Client, bank: Bank) -> Any:
    client_id, chain = registered_leaf(bank)
    RelyingParty.objects.update(state="suspended", suspension_reason="x")
    return sends(client, bank, client_id, *chain)


def of_openid_connect(client: Client, bank: Bank) -> Any:
    client_id, chain = registered_leaf(bank)
    RelyingParty.objects.update(wire_format="openid")
    return sends(client, bank, client_id, *chain)


def removed(client: Client, bank: Bank) -> Any:
    client_id, chain = registered_leaf(bank)
    CertifiedClientID.objects.all().delete()
    return sends(client, bank, client_id, *chain)


@pytest.mark.parametrize(
    "attack",
    [
        *(of_another_party, of_another_party_with_the_same_name, of_another_party_below_the_same_anchor),
        *(of_a_subdomain, without_the_name, below_another_anchor_of_that_name),
        *(signed_by_a_certificate_of_its_own, signed_by_a_certificate_that_does_not_say_what_it_is),
        *(expired, not_valid_yet, expired_below_an_anchor, for_no_signatures),
        *(signed_by_somebody_else, signed_by_its_registered_key, with_a_key_on_another_curve),
        *(certified_for_the_client_id_without_a_prefix, unsigned),
        *(of_a_suspended_party, of_openid_connect, removed),
    ],
)
def test_only_the_holder_of_a_registered_certificate_asks(
    client: Client, bank: Bank, attack: Callable[[Client, Bank], Any]
) -> None:
    assert is_turned_away(attack(client, bank))
    assert not Interaction.objects.exists()


def test_nothing_of_a_suspended_party_is_fetched(
    client: Client, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_id, _chain = registered_leaf(bank)
    with far_end(says(b"")) as far:
        monkeypatch.setattr(signed_requests, "outbound", far.outbound())
        facts = {"client_id": client_id, "request_uri": far.url("/requests/1")}
        RelyingParty.objects.update(request_uri_prefix=far.url("/requests/"))
        client.get(PATH, facts)
        assert far.connections == 1
        RelyingParty.objects.update(state="suspended", suspension_reason="x")
        assert is_turned_away(client.get(PATH, facts))
        assert far.connections == 1


NO_CERTIFICATES = [None, [], "x", [1], ["!"], ["AAAA"], ["AAAA"] * (MOST_IN_CHAIN + 1), {"a": 1}]


@pytest.mark.parametrize("x5c", NO_CERTIFICATES)
def test_without_certificates_nobody_asks(client: Client, bank: Bank, x5c: Any) -> None:
    assert is_turned_away(with_other_x5c(client, bank, x5c))


ENCODED = st.binary().map(lambda value: base64.b64encode(value).decode())


@given(st.recursive(st.none() | st.text() | st.integers() | ENCODED, st.lists))
def test_any_other_header_is_refused(x5c: Any) -> None:
    leaf = certificate_of()
    with pytest.raises(PathError):
        certificates.key_of(x5c, client_id=hash_of(leaf), registered=leaf.pem, now=now())


# --- Registration -----------------------------------------------------------------------------------------


def other_curve() -> str:
    return certificate_of(key=ec.generate_private_key(ec.SECP384R1())).pem


REFUSED: dict[str, tuple[str, Callable[[], str]]] = {
    "no certificate": ("", lambda: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
    "a private key": ("", lambda: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
    "too many": (DNS, lambda: certificate_of().pem * 6),
    "too long": (DNS, lambda: certificate_of().pem + "#" * LONGEST_PEM),
    "another hash": (f"x509_hash:{'A' * 43}", lambda: certificate_of().pem),
    "another name": ("x509_san_dns:other.example", lambda: certificate_of().pem),
    "one of another name": (DNS, lambda: pem(certificate_of(), certificate_of("other.example"))),
    "capitals": ("x509_san_dns:Shop.example", lambda: certificate_of().pem),
    "another prefix": ("redirect_uri:https://shop.example/", lambda: certificate_of().pem),
    "no prefix": ("shop", lambda: certificate_of().pem),
    "another curve": ("", other_curve),
}


@pytest.mark.parametrize("case", REFUSED)
def test_certificates_must_fit_the_client_id(bank: Bank, case: str) -> None:
    client_id, make_pem = REFUSED[case]
    with pytest.raises(ValidationError):
        certified(bank[0], make_pem(), client_id)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_other_text_is_refused_for_the_operator(client_id: str, text: str) -> None:
    with pytest.raises(NotRegistrableError):
        certificates.fitting(client_id, text)


def test_openid_connect_knows_no_such_client_ids(bank: Bank) -> None:
    bank[0].wire_format = "openid"
    with pytest.raises(ValidationError):
        registered_leaf(bank)


def test_a_certificate_belongs_to_one_relying_party(bank: Bank) -> None:
    leaf = certificate_of()
    certified(bank[0], leaf.pem)
    other, _key = with_key("Corner Shop", wire_format="openid4vp-1.0")
    with pytest.raises(ValidationError, match="already exists"):
        certified(other, leaf.pem)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_parties_that_are_registered_at_once_one_gets_the_certificate() -> None:
    leaf, begin = certificate_of(), threading.Barrier(4)
    parties = [with_key(f"Shop {number}", wire_format="openid4vp-1.0")[0] for number in range(4)]
    refused: list[RelyingParty] = []

    def register(party: RelyingParty) -> None:
        row = CertifiedClientID(relying_party=party, certificates=leaf.pem)
        row.full_clean()  # nobody has it yet
        begin.wait()
        try:
            row.save()
        except IntegrityError:
            refused.append(party)
        finally:
            connection.close()

    threads = [threading.Thread(target=register, args=[party]) for party in parties]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 3
    assert CertifiedClientID.objects.get().relying_party not in refused


def test_only_signed_requests_need_a_key_or_a_certificate(bank: Bank) -> None:
    party = bank[0]
    party.jwks, party.requires_signed_requests = None, True
    with pytest.raises(ValidationError, match="public keys"):
        party.clean()
    registered_leaf(bank)
    party.clean()
