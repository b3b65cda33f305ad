"""Whatever strangers send to the provider “another wallet” is refused in the expected way, or is true."""

import base64
import json
import zlib
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infra import base64url
from infra.outbound.calls import Outbound
from tests.wallet.providers.pids import (
    LIST_SIGNER,
    NORA_AS_IN_HER_PID,
    OF_SERVERS,
    PID_ISSUER,
    Authority,
    OtherPersonsWallet,
    encrypted,
    status_server,
    world,
)
from tests.wallet.providers.wallet_responses import NOW, REQUEST, TRANSACTION, read
from wallet.credential.claims import Identity, IdentityError
from wallet.credential.evidence import Assurance, EvidenceError
from wallet.providers.other_wallet import identities, responses, statuses
from wallet.providers.other_wallet.responses import AnswerError
from wallet.providers.other_wallet.statuses import StatusUnknownError
from wallet.providers.other_wallet.transactions import Transaction
from wallet.providers.other_wallet.trust_anchors import AnchorError, TrustAnchors, UnknownIssuerError
from wallet.sd_jwt.issuance import SdJwtError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_a_good_answer_is_read() -> None:
    vp_token = {"pid": [OtherPersonsWallet().presentation(REQUEST)]}
    person = read(encrypted(REQUEST, {"vp_token": vp_token}))
    assert person == {name: NORA_AS_IN_HER_PID[name] for name in responses.KEPT if name in NORA_AS_IN_HER_PID}


@given(st.text() | st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode() + "...."))
def test_no_text_is_an_answer(response: str) -> None:
    assert read(response) is None


@given(JSON)
def test_nothing_that_is_encrypted_to_us_is_an_answer_unless_it_holds_a_pid(content: Any) -> None:
    assert read(encrypted(REQUEST, json.dumps(content).encode())) is None
    assert read(encrypted(REQUEST, {"vp_token": content})) is None
    assert read(encrypted(REQUEST, {"vp_token": {"pid": [content]}})) is None


@given(st.binary())
def test_no_bytes_that_are_encrypted_to_us_are_an_answer(content: bytes) -> None:
    assert read(encrypted(REQUEST, content)) is None


@given(
    st.dictionaries(
        st.sampled_from(["alg", "enc", "kid", "epk", "zip", "crit", "apu", "p2c", "x"]), JSON, min_size=1
    )
)
def test_no_other_header_is_taken(changed: dict[str, Any]) -> None:
    head, *rest = encrypted(REQUEST, {"vp_token": {}}).split(".")
    header = json.loads(base64url.decode(head)) | changed
    assert read(".".join([base64url.encode(json.dumps(header).encode()), *rest])) is None


PRESENTATION = OtherPersonsWallet().presentation(REQUEST)


@given(st.integers(0, len(PRESENTATION) - 1), st.sampled_from("aA0-_.~=é"))
def test_a_changed_presentation_gives_no_other_claims(place: int, character: str) -> None:
    changed = PRESENTATION[:place] + character + PRESENTATION[place + 1 :]
    person = read(encrypted(REQUEST, {"vp_token": {"pid": [changed]}}))
    assert person is None or changed == PRESENTATION


@pytest.mark.parametrize("body", [b"a=1&a=2", b"a=1&a=1", b"&".join(b"%d=" % n for n in range(11)), b"a=%ff"])
def test_a_form_has_each_field_once_and_not_too_many(body: bytes) -> None:
    with pytest.raises(AnswerError):
        responses.fields(body, responses.FORM)


@given(
    st.binary() | st.text().map(str.encode),
    st.sampled_from([responses.FORM, responses.FORM + "; charset=utf-8", ""]),
)
def test_every_body_is_a_form_or_refused(body: bytes, content_type: str) -> None:
    try:
        found = responses.fields(body, content_type)
    except AnswerError:
        return
    assert all(isinstance(value, str) for value in found.values())


LEAF = base64.b64decode(Authority.make("Leaf").x5c[0])


@given(
    JSON
    | st.lists(st.binary().map(lambda data: base64.b64encode(data).decode()))
    | st.tuples(st.integers(0, len(LEAF) - 1), st.integers(0, 255)).map(
        lambda change: [
            base64.b64encode(LEAF[: change[0]] + bytes([change[1]]) + LEAF[change[0] + 1 :]).decode()
        ]
    )
)
def test_no_chain_but_one_to_an_anchor_is_believed(x5c: Any) -> None:
    anchors = TrustAnchors([(world().authority.certificate, [PID_ISSUER])])
    with pytest.raises(SdJwtError):
        anchors.issuer({"x5c": x5c}, NOW)


@pytest.mark.parametrize(
    ("named", "purpose", "signs_pids", "signs_lists"),
    [
        ([PID_ISSUER], {"usage": PID_ISSUER}, True, True),
        ([PID_ISSUER], {"policy": PID_ISSUER}, True, True),
        ([LIST_SIGNER, PID_ISSUER], {"policy": PID_ISSUER, "usage": OF_SERVERS}, True, True),
        ([PID_ISSUER], {"usage": OF_SERVERS}, False, False),
        ([PID_ISSUER], {"usage": "2.5.29.37.0"}, False, False),
        ([PID_ISSUER, f"status:{LIST_SIGNER}"], {"usage": LIST_SIGNER}, False, True),
        ([f"status:{LIST_SIGNER}"], {"policy": LIST_SIGNER}, False, True),
        (["any"], {"usage": OF_SERVERS}, True, True),
    ],
)
def test_a_certificate_counts_only_for_the_purposes_that_its_anchor_names(
    named: list[str], purpose: dict[str, str], signs_pids: bool, signs_lists: bool
) -> None:
    anchors = TrustAnchors([(world().authority.certificate, named)])
    leaf = world().authority.certifies("One of them", **purpose)
    for lists, counts in ((False, signs_pids), (True, signs_lists)):
        with nullcontext() if counts else pytest.raises(UnknownIssuerError):
            anchors.issuer({"x5c": leaf.x5c}, datetime.now(UTC), lists=lists)


@given(st.lists(st.text()))
@example([])
@example(["1.3.6.1", "status:any"])
@example(["3.1"])
@example(["1.03"])
def test_an_anchor_names_purposes_or_is_refused(named: list[str]) -> None:
    with pytest.raises(AnchorError):
        TrustAnchors([(world().authority.certificate, named)])


def test_a_list_counts_only_for_pids_of_the_same_country() -> None:
    france = Authority.make("PID authority of France", "FR")
    anchors = TrustAnchors([(each.certificate, ["any"]) for each in (world().authority, france)])
    facts: dict[str, Any] = {
        "outbound": Outbound(loopback=True),
        "anchors": anchors,
        "now": datetime.now(UTC),
    }
    with status_server() as server:
        payload = json.loads(base64url.decode(server.body.decode().split(".")[1]))
        server.body = france.certifies("Status of France").signs("statuslist+jwt", payload).encode()
        place = {"uri": server.uri, "idx": 0}
        assert statuses.look_up(place, country="FR", **facts) == statuses.VALID
        with pytest.raises(StatusUnknownError):
            statuses.look_up(place, country="DE", **facts)


@given(JSON)
def test_every_status_claim_is_a_place_or_not_understood(status: Any) -> None:
    place = statuses.place_in({"status": status})
    assert place == {"unknown": True} or place.keys() == {"uri", "idx"}


@given(
    JSON
    | st.fixed_dictionaries(
        {
            "bits": st.sampled_from([1, 2, 4, 8]) | JSON,
            "lst": st.binary(max_size=50).map(lambda data: base64url.encode(zlib.compress(data))) | st.text(),
        }
    ),
    st.integers(),
)
def test_every_list_has_a_status_or_is_not_understood(status_list: Any, idx: int) -> None:
    with suppress(StatusUnknownError):
        assert 0 <= statuses._entry(status_list, idx) <= 255


ADDRESS = {"street_address": "Domstraße", "house_number": "7", "locality": "Köln", "country": "DE"}


def test_the_details_of_a_pid_are_read_and_a_house_number_is_put_after_the_street() -> None:
    born = {"locality": "Bonn", "region": "", "country": "DE"}
    person = {**NORA_AS_IN_HER_PID, "address": ADDRESS, "place_of_birth": born, "document_number": "T22"}
    identity = identities.identity_of(person)
    assert identity.details["address"] == {
        "formatted": "Domstraße 7\nKöln\nGermany",
        "street_address": "Domstraße 7",
        "locality": "Köln",
        "country": "DE",
    }
    assert identity.details["place_of_birth"] == {"locality": "Bonn", "country": "DE"}
    for number, kept in (("T22", "T22"), (7, ""), ("T\n", ""), ("T" * 201, ""), (None, "")):
        proof = {"country": "DE", "issuer": "x"}
        evidence = identities.evidence_of(
            {**person, "document_number": number}, proof, assurance=Assurance("eidas"), at=NOW
        )
        assert evidence.document_number == kept


@given(
    st.dictionaries(
        st.sampled_from(responses.KEPT),
        JSON | st.dictionaries(st.sampled_from(sorted(ADDRESS)), JSON),
    )
)
def test_every_person_is_an_identity_or_refused(person: dict[str, Any]) -> None:
    with suppress(IdentityError):
        assert isinstance(identities.identity_of(person), Identity)
    with suppress(EvidenceError):
        identities.evidence_of(person, {"country": "DE", "issuer": "x"}, assurance=Assurance("eidas"), at=NOW)


@given(JSON.filter(lambda value: isinstance(value, dict)))
def test_every_memory_is_a_transaction_or_none(memory: dict[str, Any]) -> None:
    assert Transaction.kept_in("handle", memory) is None


def test_a_transaction_is_kept_whole() -> None:
    kept = json.loads(json.dumps(TRANSACTION.memory()))
    assert Transaction.kept_in(TRANSACTION.handle, kept) == TRANSACTION
    answered = TRANSACTION.answered(
        "presented", person={"given_name": "Nora"}, now=NOW + timedelta(seconds=5)
    )
    assert Transaction.kept_in(TRANSACTION.handle, answered.memory()) == answered
    assert not {"key", "nonce", "state"} & answered.memory().keys()


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ({"given_name": "lukasz", "family_name": "oersted"}, False),
        ({"given_name": "lukasz", "family_name": "orsted"}, True),
        ({"given_name": "Łukasz Jan", "family_name": "Ørsted"}, True),
        ({"given_name": "", "family_name": "Ørsted"}, False),
        ({"given_name": "Łukasz", "family_name": ""}, False),
    ],
)
def test_typed_names_are_compared_as_people_write_them(typed: dict[str, str], same: bool) -> None:
    identity = Identity("Łukasz Jan", "Ørsted", datetime(1990, 2, 1).date())
    assert identities.fits({**typed, "birth_date": "1990-02-01"}, identity) == same


@pytest.mark.parametrize(
    ("written", "typed", "may_be"),
    [
        ("1990", "1990", True),
        ("1990-00-00", "1990", True),
        ("1990-02", "1990-02", True),
        ("1990", "1990-02", True),
        ("1990-02-XX", "1990-02-01", True),
        ("1990-<<-<<", "1991-02-01", False),
        ("1990-02", "1990-03-01", False),
        ("1990-02", "1990", False),
        ("1990-02-01", "1990-02", False),
        ("1990", "", False),
    ],
)
def test_what_was_typed_is_the_birth_date_of_a_pid_as_far_as_the_pid_has_it(
    written: str, typed: str, may_be: bool
) -> None:
    person = {"given_name": "Nora", "family_name": "New", "birthdate": written, "nationalities": ["IE"]}
    names = {"given_name": "Nora", "family_name": "New"}
    assert identities.fits({**names, "birth_date": typed}, identities.identity_of(person)) == may_be


def test_a_vowel_of_another_script_is_not_left_out() -> None:
    identity = Identity("किरण", "", datetime(1990, 2, 1).date())
    typed = {"birth_date": "1990-02-01", "family_name": ""}
    assert identities.fits({**typed, "given_name": "किरण"}, identity)
    assert not identities.fits({**typed, "given_name": "करण"}, identity)
