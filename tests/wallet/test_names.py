"""People with one name: wherever a name is read, one is enough and none is refused."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wallet.typed_identities import seen
from wallet.credential import claims, names
from wallet.credential.claims import Identity, IdentityError
from wallet.identity import duplicates
from wallet.identity.forms import UploadForm
from wallet.identity.views.other_wallet import AboutYouForm
from wallet.providers.openid_connect import people
from wallet.providers.other_wallet import identities
from wallet.providers.stripe_identity import responses

NOTHING = [
    None,
    "",
    " ",
    "-",
    "--",
    "—",
    ".",
    "...",
    "_",
    "?",
    "XXX",
    "xxxx",
    "N/A",
    "n/a",
    "<<<",
    "\u3164",
    "\u200d",
]
NAMES = {
    "Sukarni": "Sukarni",
    " Ana  Maria ": "Ana Maria",
    "美咲": "美咲",
    "X": "X",
    "Xx": "Xx",
    "O": "O",
    "Na": "Na",
    "Null": "Null",
    "None": "None",
    "FNU": "FNU",
    "D’Arc-Li": "D’Arc-Li",
    "Zoe\u0308": "Zoë",
    "قمر": "قمر",
    "देवी": "देवी",
    "X Æ A-12": "X Æ A-12",
}
BORN = date(1990, 4, 12)


@pytest.mark.parametrize("written", NOTHING)
def test_what_only_fills_a_field_is_no_name(written: Any) -> None:
    assert names.name(written) == ""
    assert names.is_left_out(written)


@pytest.mark.parametrize("written", NAMES)
def test_a_name_stays_a_name_in_our_form(written: str) -> None:
    assert names.name(written) == NAMES[written]
    assert not names.is_left_out(written)


@pytest.mark.parametrize("written", [7, ["Smith"], {}, True, b"Ada"])
def test_what_is_no_text_is_neither_a_name_nor_left_out(written: Any) -> None:
    assert not names.is_left_out(written)
    with pytest.raises(ValueError, match="not a text"):
        names.name(written)


@given(st.text(max_size=40))
def test_a_name_that_was_read_reads_as_itself(written: str) -> None:
    assert names.name(names.name(written)) == names.name(written)
    assert names.is_left_out(written) == (not names.name(written))


# --- Every place that reads names --------------------------------------------------------------------------


def by_openid(given: Any, family: Any) -> tuple[str, str]:
    paths = {name: (name,) for name in ("given_name", "family_name")} | {"birth_date": ("birthdate",)}
    told = {"given_name": given, "family_name": family, "birthdate": "1990-04-12"}
    return of(people.identity(told, paths, today=date(2026, 1, 1)))


def by_pid(given: Any, family: Any) -> tuple[str, str]:
    pid = {"given_name": given, "family_name": family, "birthdate": "1990-04-12", "nationalities": ["ID"]}
    return of(identities.identity_of(pid))


def by_stripe(given: Any, family: Any) -> tuple[str, str]:
    facts = {
        "verified_outputs": {"first_name": given, "last_name": family, "dob": {}},
        "last_verification_report": {"document": {}, "created": 1_700_000_000},
    }
    read = responses.results(facts)
    return of(Identity(read.given_name, read.family_name, BORN))


def by_operator(given: Any, family: Any) -> tuple[str, str]:
    form = seen(given_name=given or "", family_name=family or "")
    if not form.is_valid():
        raise IdentityError("the form is not valid")
    return of(form.cleaned_data["identity"])


def by_typing_beside_another_wallet(given: Any, family: Any) -> tuple[str, str]:
    day = {"birth_date_day": "12", "birth_date_month": "4", "birth_date_year": "1990"}
    form = AboutYouForm({"given_name": given or "", "family_name": family or "", **day})
    if not form.is_valid():
        raise IdentityError("the form is not valid")
    return form.cleaned_data["typed"]["given_name"], form.cleaned_data["typed"]["family_name"]


def by_upload(given: Any, family: Any) -> tuple[str, str]:
    typed = {"given_name": given or "", "family_name": family or "", "document_kind": "passport"}
    day = {"birth_date_day": "12", "birth_date_month": "4", "birth_date_year": "1990"}
    form = UploadForm(typed | day, kept=("front", "face"))
    if not form.is_valid():
        raise IdentityError("the form is not valid")
    return of(form.cleaned_data["identity"])


def of(identity: Identity) -> tuple[str, str]:
    return identity.given_name, identity.family_name


PLACES = [by_openid, by_pid, by_stripe, by_operator, by_typing_beside_another_wallet, by_upload]
Place = Callable[[Any, Any], tuple[str, str]]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("nothing", NOTHING)
def test_one_name_is_enough_everywhere_and_none_is_refused(place: Place, nothing: Any) -> None:
    assert place("Sukarni", nothing) == ("Sukarni", "")
    assert place(nothing, "Sukarni") == ("", "Sukarni")
    with pytest.raises(IdentityError):
        place(nothing, nothing)


# --- What becomes of it ------------------------------------------------------------------------------------


def test_a_single_name_is_the_same_person_in_either_field() -> None:
    one, other = Identity("Sukarni", "", BORN), Identity("", "Sukarni", BORN)
    assert set(duplicates._texts(one, None)) & set(duplicates._texts(other, None))


FITS = [
    (("Sukarni", ""), ("Sukarni", ""), True),
    (("Sukarni", ""), ("", "sukarni"), True),
    (("", "Sukarni"), ("Sukarni", ""), True),
    (("Siti Nur", ""), ("", "Nur Siti"), True),
    (("Siti Nur", ""), ("Siti", ""), True),
    (("Siti Nur", ""), ("", "Siti"), False),
    (("Sukarni", ""), ("Sukarno", ""), False),
    (("Sukarni", ""), ("", ""), False),
    (("Ada", "Byron"), ("Ada", ""), False),
    (("Ada", "Byron"), ("", "Byron"), False),
    (("Ada", "Byron"), ("Byron", "Ada"), False),
    (("Ada", "Byron"), ("Ada Byron", ""), False),
]


@pytest.mark.parametrize(("own", "typed", "expected"), FITS)
def test_what_is_typed_beside_another_wallet_fits_a_single_name(own: Any, typed: Any, expected: bool) -> None:
    said = {"given_name": typed[0], "family_name": typed[1], "birth_date": BORN.isoformat()}
    assert identities.fits(said, Identity(*own, BORN)) is expected


def test_the_credential_says_that_there_is_no_such_name() -> None:
    shared = claims.values(Identity("Sukarni", "", BORN), claims.MANDATORY, today=date(2026, 1, 1))
    assert (shared["given_name"], shared["family_name"]) == ("Sukarni", "")
