"""Claims: their values for an identity on a day, and their texts for people."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import translation
from django.utils.functional import Promise
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.people import DETAILS, evidence_of
from wallet.credential import claims, details
from wallet.credential.claims import CLAIMS, Identity, IdentityError
from wallet.credential.evidence import Assurance

ADA = Identity("Ada", "Lovelace", date(1990, 11, 21), ("GB", "FR"))
VERIFIED = replace(ADA, verification=evidence_of(assurance=Assurance("eidas", "substantial")).verification())
WHOLE = replace(VERIFIED, email="ada@example.org", details=DETAILS)
TODAY = date(2026, 11, 20)
AGE_18 = ("age_equal_or_over", "18")

names = st.text(st.characters(categories=["L", "M", "Zs"]), max_size=claims.MAX_NAME).map(str.strip)
identities = st.builds(
    Identity,
    given_name=names,
    family_name=names.filter(bool),
    birth_date=st.dates(date(1900, 1, 1), date(2026, 1, 1)),
    nationalities=st.lists(st.text("ABCXYZ", min_size=2, max_size=2), max_size=4, unique=True).map(tuple),
    details=st.fixed_dictionaries(
        {}, optional={group: st.text(max_size=20).map(lambda text: {"region": text}) for group in DETAILS}
    ).map(details.read),
)


def test_the_claims_are_those_of_the_published_type():
    assert [".".join(path) for path in CLAIMS] == [
        "given_name",
        "family_name",
        "birth_date",
        "age_equal_or_over.18",
        "age_equal_or_over.21",
        "age_equal_or_over.65",
        "nationalities",
        "email",
        *(f"address.{name}" for name in details.MEMBERS["address"]),
        "place_of_birth",
        *(f"document.{name}" for name in details.MEMBERS["document"]),
        "verification.trust_framework",
        "verification.assurance_level",
        "verification.time",
        "verification.evidence",
        "pairwise_subject",
    ]


def test_how_an_identity_was_verified_is_told_in_the_terms_of_identity_assurance():
    assert claims.values(VERIFIED, today=TODAY)["verification"] == {
        "trust_framework": "eidas",
        "assurance_level": "substantial",
        "time": "2026-01-01T00:00Z",
        "evidence": [{"type": "document", "check_details": [{"check_method": "vpip"}]}],
    }


def test_an_identity_verified_by_an_earlier_release_has_no_such_claims():
    lacking = ("verification", "email", *DETAILS)
    assert claims.held(ADA) == [path for path in CLAIMS if path[0] not in lacking]
    assert claims.held(WHOLE) == list(CLAIMS)


def test_an_identity_lacks_each_detail_that_was_not_verified():
    some = replace(WHOLE, details={"address": {"locality": "London"}})
    assert claims.held_details(some) == [("address", "locality")]
    assert set(claims.held(WHOLE)) - set(claims.held(some)) == {
        path for path in CLAIMS if path[0] in DETAILS and path != ("address", "locality")
    }
    assert claims.values(some, today=TODAY)["address"] == {"locality": "London"}
    assert claims.held_details(ADA) == []
    assert claims.values(WHOLE, today=TODAY).items() >= DETAILS.items()


def test_what_is_no_array_or_object_is_text_true_or_false_so_no_path_leads_into_it():
    kinds = {path: type(claim.value(WHOLE, TODAY)) for path, claim in CLAIMS.items()}
    assert kinds.pop(claims.SUBJECT) is type(None)  # it belongs to a wallet and a requester, and is text
    assert {path for path, kind in kinds.items() if kind is list} == set(claims.ARRAYS)
    assert {path for path, kind in kinds.items() if kind is dict} == set(claims.OBJECTS)
    assert set(kinds.values()) == {list, dict, str, bool}


def test_a_framework_without_levels_has_no_level_to_disclose():
    bare = replace(ADA, verification=evidence_of(assurance=Assurance("de_aml")).verification())
    assert claims.values(bare, today=TODAY)["verification"].keys() == {"trust_framework", "time", "evidence"}
    assert ("verification", "assurance_level") not in claims.held(bare)


def test_the_verification_is_sealed_with_the_identity_and_told_again():
    assert Identity.from_json(VERIFIED.to_json()).verification == VERIFIED.verification


def test_values_are_nested_as_on_the_wire():
    assert claims.values(ADA, today=TODAY) == {
        "given_name": "Ada",
        "family_name": "Lovelace",
        "birth_date": "1990-11-21",
        "age_equal_or_over": {"18": True, "21": True, "65": False},
        "nationalities": ["GB", "FR"],
    }


@pytest.mark.parametrize(
    ("born", "today", "years"),
    [
        (date(2008, 11, 20), TODAY, 18),
        (date(2008, 11, 21), TODAY, 17),
        (date(2008, 11, 19), TODAY, 18),
        (date(2026, 11, 20), TODAY, 0),
        (date(2008, 2, 29), date(2026, 2, 28), 17),
        (date(2008, 2, 29), date(2026, 3, 1), 18),
        (date(2008, 2, 29), date(2028, 2, 28), 19),
        (date(2008, 2, 29), date(2028, 2, 29), 20),
        (date(2007, 12, 31), date(2026, 1, 1), 18),
    ],
)
def test_age_is_counted_in_full_years(born: date, today: date, years: int):
    assert claims.age(born, today) == years


def test_a_person_who_turns_eighteen_tomorrow_is_not_over_eighteen_today():
    child = Identity("Tom", "Morrow", date(2008, 11, 21))
    assert claims.values(child, today=TODAY)["age_equal_or_over"]["18"] is False
    assert claims.values(child, today=TODAY + timedelta(days=1))["age_equal_or_over"]["18"] is True


@given(st.dates(date(1900, 1, 1)), st.dates(date(1900, 1, 1)))
def test_nobody_grows_younger_and_a_birthday_adds_one(born: date, today: date):
    assume(born <= today < date.max)
    assert claims.age(born, today + timedelta(days=1)) - claims.age(born, today) in (0, 1)
    assert today.year - born.year - 1 <= claims.age(born, today) <= today.year - born.year


@given(identities)
def test_an_identity_survives_being_stored(identity: Identity):
    assert Identity.from_json(identity.to_json()) == identity


GOOD = '{"given_name":"A","family_name":"B","birth_date":"1990-01-02","nationalities":["GB"]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{" * 100_000,
        b"\xff",
        GOOD.replace('"given_name":"A",', ""),
        GOOD.replace("{", '{"email":"a@example.org",'),
        GOOD.replace('"A"', "1"),
        GOOD.replace('"A"', '" A"'),
        GOOD.replace('"A"', '"A\\u202eB"'),
        GOOD.replace('"A"', '"A\\nB"'),
        GOOD.replace('"A"', '"\\ud800"'),
        GOOD.replace('"A"', '"' + "A" * 151 + '"'),
        GOOD.replace('"A"', '""').replace('"B"', '""'),
        GOOD.replace('"1990-01-02"', "19900102"),
        GOOD.replace("1990-01-02", "1990-02-30"),
        GOOD.replace("1990-01-02", "19900102"),
        GOOD.replace("1990-01-02", "1990-W01-2"),
        GOOD.replace("1990-01-02", "1801-01-02"),
        GOOD.replace("1990-01-02", "1990-01-02T00:00"),
        GOOD.replace('["GB"]', '"GB"'),
        GOOD.replace('["GB"]', '["gb"]'),
        GOOD.replace('["GB"]', '["GBR"]'),
        GOOD.replace('["GB"]', '["GB","GB"]'),
        GOOD.replace("}", ',"details":null}'),
        GOOD.replace("}", ',"details":{"address":{"locality":" London"}}}'),
        GOOD.replace('["GB"]', "[7]"),
        GOOD.replace('["GB"]', "[" + ",".join(f'"A{letter}"' for letter in "ABCDEFGHIJK") + "]"),
    ],
)
def test_what_is_no_identity_is_refused(text: str | bytes):
    assert Identity.from_json(GOOD)
    with pytest.raises(IdentityError):
        Identity.from_json(text)


def test_an_identity_without_details_is_written_as_earlier_releases_read_it():
    assert b"details" not in VERIFIED.to_json()
    assert Identity.from_json(WHOLE.to_json()).details == DETAILS


@given(st.text() | st.binary())
def test_reading_an_identity_raises_nothing_but_its_own_error(text: str | bytes):
    with pytest.raises(IdentityError):
        Identity.from_json(text)


@pytest.mark.parametrize("name", ["Nguyễn Thị Ánh", "علی‌رضا", "王小明", "D’Arcy-O’Neill", "क्‍ष", "M. 3rd"])
def test_names_of_all_scripts_are_names(name: str):
    assert Identity(name, "", date(2000, 1, 1)).given_name == name


def test_the_address_is_no_part_of_what_is_sealed_and_compared():
    somebody = replace(ADA, email="ada@example.org")
    assert somebody == ADA
    assert somebody.to_json() == ADA.to_json()
    assert Identity.from_json(ADA.to_json(), email="new@example.org").email == "new@example.org"


def test_an_identity_does_not_show_in_logs():
    assert "Ada" not in f"{ADA!r} {ADA}"
    with pytest.raises(IdentityError) as caught:
        Identity("Ada\n", "Lovelace", date(1990, 1, 1))
    assert "Ada" not in str(caught.value)


def test_people_read_words_not_codes():
    shown = {".".join(path): str(claims.display(path, WHOLE, today=TODAY)) for path in CLAIMS}
    assert shown == {
        "given_name": "Ada",
        "family_name": "Lovelace",
        "birth_date": "21 November 1990",
        "age_equal_or_over.18": "Yes",
        "age_equal_or_over.21": "Yes",
        "age_equal_or_over.65": "No",
        "nationalities": "United Kingdom and France",
        "email": "ada@example.org",
        "address.formatted": "1 Main Street, Flat 2, N1 1AA London, England, United Kingdom",
        "address.street_address": "1 Main Street, Flat 2",
        "address.locality": "London",
        "address.postal_code": "N1 1AA",
        "address.region": "England",
        "address.country": "United Kingdom",
        "place_of_birth": "Leeds, Yorkshire, United Kingdom",
        "document.type": "passport",
        "document.number": "P1234567",
        "document.issuing_country": "Ireland",
        "document.expiry_date": "31 January 2035",
        "verification.trust_framework": "eIDAS, the European Union’s rules for electronic identity",
        "verification.assurance_level": "substantial",
        "verification.time": "1 January 2026",
        "verification.evidence": "Document shown in person",
        "pairwise_subject": "A number that nobody else gets",
    }


def test_a_country_is_called_what_the_language_of_the_page_calls_it():
    german = Identity("Ada", "Lovelace", date(1990, 1, 1), ("DE", "AT"))
    with translation.override("de"):
        assert claims.display(("nationalities",), german, today=TODAY) == "Deutschland und Österreich"
    with translation.override(None):
        assert claims.display(("nationalities",), german, today=TODAY) == "Germany and Austria"
    with translation.override("tlh"):  # a language without names of countries
        assert claims.display(("nationalities",), german, today=TODAY) == "Germany and Austria"


def test_a_code_that_is_no_country_is_shown_as_it_is():
    unknown = Identity("Ada", "Lovelace", date(1990, 1, 1), ("QQ", "IE"))
    assert claims.display(("nationalities",), unknown, today=TODAY) == "QQ and Ireland"


def test_several_nationalities_are_called_so():
    one = Identity("Ada", "Lovelace", date(1990, 1, 1), ("GB",))
    paths = [("nationalities",), ("given_name",)]
    labels = {
        identity: [str(shown.label) for shown in claims.preview(identity, paths, today=TODAY)]
        for identity in (ADA, one)
    }
    assert labels == {ADA: ["Nationalities", "Given name"], one: ["Nationality", "Given name"]}


def test_what_a_person_does_not_have_is_said():
    single = Identity("", "Suharto", date(1990, 1, 1))
    assert str(claims.display(("given_name",), single, today=TODAY)) == "(none)"
    assert str(claims.display(("nationalities",), single, today=TODAY)) == "(none)"
    assert claims.values(single, today=TODAY)["given_name"] == ""


def test_labels_come_in_the_order_asked_and_are_translated_late():
    labels = claims.labels([AGE_18, ("given_name",)])
    assert [str(label) for label in labels] == ["Aged 18 or over", "Given name"]
    assert all(isinstance(label, Promise) for label in labels)


@pytest.mark.parametrize(
    ("paths", "kept"),
    [
        ([], ["Given name", "Family name", "Date of birth", "Nationality"]),
        ([("given_name",), ("family_name",), AGE_18], ["Date of birth", "Nationality"]),
        (list(CLAIMS), []),
    ],
)
def test_what_stays_in_the_wallet_is_listed(paths: Any, kept: list[str]):
    assert [str(label) for label in claims.not_shared(paths)] == kept
