"""Which codes are countries, in every place that takes one."""

import itertools
import string
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wallet.typed_identities import seen
from wallet.credential import claims, countries
from wallet.credential.claims import Identity
from wallet.credential.countries import country, country_code, is_country, nationalities
from wallet.providers.openid_connect import people
from wallet.providers.other_wallet import identities

# ISO 3166-1 as of 28 November 2026. A release of CLDR that adds or takes away a code fails here first.
_WRITTEN = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS "
    "BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE "
    "EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM "
    "HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC "
    "LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA "
    "NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW "
    "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO "
    "TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
ISO_3166_1 = frozenset(_WRITTEN.split())
# What looks like a code: of unions and organisations, withdrawn, for private use, reserved, or written in
# letters that become others in capitals.
NO_COUNTRIES = (
    *("EU", "UN", "EZ", "EUE", "UNO", "UNA", "UNK", "XOM", "XPO", "XCC", "IAO"),
    *("AN", "SU", "YU", "DD", "ZR", "CS", "BU", "TP", "FX", "SUN", "YUG", "DDR", "ZAR", "ANT", "SCG"),
    *("AA", "QM", "QZ", "XA", "XX", "ZZ", "XXX", "ZZZ", "AC", "TA", "IC", "EA", "A", "X", "DEUT", "99", ""),
    *("ß", "ﬁ", "ﬆ", "ſe", "ＤＥ", "DЕ", "GВ", "ıe", "D\u200bE", "DE\u0301", "D E", "276"),
)
TODAY = date(2026, 11, 28)


def test_the_countries_are_those_of_the_standard_and_kosovo() -> None:
    assert {code for code, _name in countries.countries()} == {*ISO_3166_1, "XK"}


def test_every_country_has_one_code_of_three_letters_beside_those_of_passports() -> None:
    every = map("".join, itertools.product(string.ascii_uppercase, repeat=3))
    read = {code: two for code in every if (two := country(code))}
    passports = {"RKS", "GBD", "GBN", "GBO", "GBP", "GBS"}
    assert passports < read.keys()
    assert sorted(read[code] for code in read.keys() - passports) == sorted([*ISO_3166_1, "XK"])


@pytest.mark.parametrize(
    ("code", "two"),
    [("UK", "GB"), ("EL", "GR"), ("D", "DE"), ("RKS", "XK"), ("XKK", "XK"), ("GBN", "GB"), ("DEU", "DE")],
)
def test_codes_in_wide_use_are_read(code: str, two: str) -> None:
    assert country(code) == country_code(code) == two


@pytest.mark.parametrize("code", NO_COUNTRIES)
def test_what_is_no_country_is_none_wherever_it_comes_from(code: str) -> None:
    assert country(code) is None
    assert country_code(code) is None
    assert not is_country(code)
    assert not claims.is_named(f"nationality_in.{code}") or code == "EU"
    if code.strip() and code not in countries.NO_NATIONALITY:
        with pytest.raises(ValueError, match="not countries"):
            nationalities(["DE", code])


@pytest.mark.parametrize("written", ["de", "deu", " Germany ", "D", "d", "GERMANY", "\u00a0DE\u3000"])
def test_people_write_countries_as_they_like(written: str) -> None:
    assert country_code(written) == "DE"


@pytest.mark.parametrize("code", ["de", "deu", " DE", "DE\n", "Germany", None, 7, True, ["DE"], b"DE"])
def test_machines_write_codes_as_the_standard_does(code: Any) -> None:
    assert country(code) is None


@given(st.text(max_size=5))
def test_whatever_is_read_is_a_country_of_the_standard(text: str) -> None:
    for read in (country(text), country_code(text)):
        assert read is None or read in {*ISO_3166_1, "XK"}


@given(st.lists(st.sampled_from(["DE", "FRA", "UK", "QU", "QS", "XXA", "XXX", "ZZ", "SU"]), max_size=5))
def test_nationalities_are_all_understood_or_none_is(codes: list[str]) -> None:
    if {"ZZ", "SU"} & set(codes):
        with pytest.raises(ValueError, match="not countries"):
            nationalities(codes)
        return
    known = [code for code in nationalities(codes) if code != "QU"]
    assert set(known) == {country(code) for code in codes} - {None}
    assert ("QU" in nationalities(codes)) == bool(known and countries.NO_NATIONALITY & set(codes))


# --- What is stored, and what is asked ---------------------------------------------------------------------


def answer(nationalities: tuple[str, ...], code: str) -> bool | None:
    identity = Identity.from_json(Identity("Ada", "Byron", date(1990, 1, 1), nationalities).to_json())
    path = ("nationality_in", code)
    value: bool | None = claims.claim(path).value(identity, TODAY)
    assert (path in claims.held(identity, [path])) == (value is not None)
    return value


@pytest.mark.parametrize("stored", ["ZZ", "QU", "SU", "AN", "EU", "XX"])
def test_a_stored_code_that_is_not_understood_is_never_a_no(stored: str) -> None:
    assert answer((stored,), "DE") is None
    assert answer(("FR", stored), "DE") is None
    assert answer(("FR", stored), "CH-EEA") is True
    assert answer(("FR", stored), "FR") is True


@pytest.mark.parametrize(("stored", "meant"), [("UK", "GB"), ("EL", "GR")])
def test_a_stored_code_that_was_meant_for_a_country_is_read_as_it(stored: str, meant: str) -> None:
    assert answer((stored,), meant) is True
    assert answer((stored,), "DE") is False


@given(
    st.lists(st.from_regex("[A-Z]{2}", fullmatch=True), min_size=1, max_size=4, unique=True),
    st.sampled_from([*ISO_3166_1, *countries.UNIONS]),
)
def test_a_no_is_said_only_where_everything_is_understood(stored: list[str], asked: str) -> None:
    if answer(tuple(stored), asked) is False:
        assert all(country(code) for code in stored)


@pytest.mark.parametrize("codes", [["DE", "QU"], ["QS", "DE"]])
def test_a_nationality_that_is_left_open_leaves_the_answer_open(codes: list[str]) -> None:
    pid = {"given_name": "Ada", "family_name": "Byron", "birthdate": "1990-01-01", "nationalities": codes}
    identity = identities.identity_of(pid)
    assert claims.claim(["nationality_in", "FR"]).value(identity, TODAY) is None
    assert claims.claim(["nationality_in", "DE"]).value(identity, TODAY) is True
    assert claims.claim(["nationalities"]).value(identity, TODAY) == ["DE"]


# --- The places where a country comes in -------------------------------------------------------------------


def of_form(code: str) -> tuple[str, ...] | None:
    form = seen(nationalities=code)
    return form.cleaned_data["identity"].nationalities if form.is_valid() else None


def of_pid(code: str) -> tuple[str, ...] | None:
    pid = {"given_name": "Ada", "family_name": "Byron", "birthdate": "1990-01-01", "nationalities": [code]}
    try:
        return identities.identity_of(pid).nationalities
    except claims.IdentityError:
        return None


def of_openid(code: str) -> tuple[str, ...] | None:
    person = {"given_name": "Ada", "family_name": "Byron", "birthdate": "1990-01-01", "nationalities": code}
    paths = {"birth_date": ("birthdate",)} | {n: (n,) for n in ("given_name", "family_name", "nationalities")}
    try:
        return people.identity(person, paths, today=TODAY).nationalities
    except claims.IdentityError:
        return None


@pytest.mark.parametrize("place", [of_form, of_pid, of_openid])
@pytest.mark.parametrize("code", [code for code in NO_COUNTRIES if code and " " not in code])
def test_no_place_takes_a_code_that_is_no_country(place: Any, code: str) -> None:
    assert place(code) == (() if code == "XXX" and place != of_pid else None)


@pytest.mark.parametrize("place", [of_form, of_pid, of_openid])
@pytest.mark.parametrize(("code", "two"), [("DE", "DE"), ("UK", "GB"), ("EL", "GR"), ("XK", "XK")])
def test_every_place_reads_the_same_countries(place: Any, code: str, two: str) -> None:
    assert place(code) == (two,)


def test_an_identity_in_a_wallet_has_two_letters_and_others_may_have_three() -> None:
    for code in ("DEU", "D"):
        assert (of_form(code), of_openid(code), of_pid(code)) == (("DE",), ("DE",), None)


def test_operators_may_write_countries_by_name() -> None:
    assert of_form("Ireland, United Kingdom, es") == ("IE", "GB", "ES")
    assert of_form("gb IE") == ("GB", "IE")
