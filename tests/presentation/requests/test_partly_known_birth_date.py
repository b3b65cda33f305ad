"""Requests to somebody of whose birth date only the year is known: no age is said that may be wrong."""

import json
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import RelyingParty
from tests.people import enroll
from tests.presentation.dcql.queries import disclosed
from tests.presentation.requests.asking_ages import ages, share
from tests.presentation.requests.authorization_requests import BASIC, PATH, asked, fragment
from wallet.credential import credentials, days
from wallet.credential.birth_dates import PartialDate
from wallet.credential.credentials import credential_type
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
AMINA = "amina@example.org"


@pytest.fixture
def bank(acme_bank: RelyingParty) -> RelyingParty:
    """Acme Bank, which may ask any age and the birth date."""
    acme_bank.allowed_claims = ["age_equal_or_over.*", "given_name", "birth_date"]
    acme_bank.save()
    return acme_bank


@pytest.fixture
def year(settings: Any) -> int:
    return days.of_ages(timezone.now(), settings.AGE_TIME_ZONE).year


@pytest.fixture
def amina(year: int, sign_in: Any) -> Wallet:
    """She becomes 18 in this year, and nobody knows on which day."""
    born = PartialDate(year - 18)
    wallet = enroll(AMINA, given_name="Amina", family_name="Yusuf", birth_date=born)
    sign_in(wallet)
    return wallet


def test_an_age_is_answered_where_every_possible_birth_date_gives_the_same(
    client: Client, bank: RelyingParty, amina: Wallet
) -> None:
    token = share(client, bank, *ages(16, 17, 21), hint=AMINA)["vp_token"]
    assert disclosed(token) >= {"16", "17", "21"}


@pytest.mark.parametrize("paths", [ages(18), ages(17, 18), [("given_name",), *ages(18)]])
def test_an_age_that_depends_on_the_unknown_day_is_not_there_and_never_a_no(
    client: Client, bank: RelyingParty, amina: Wallet, paths: Any
) -> None:
    assert share(client, bank, *paths, hint=AMINA)["error"] == "access_denied"
    assert not Consent.objects.filter(decision="granted").exists()


def test_the_basic_scope_has_no_answer_either(client: Client, bank: RelyingParty, amina: Wallet) -> None:
    response = client.get(PATH, asked(bank, scope=BASIC, login_hint=AMINA))
    page = client.get(response.headers["Location"])
    answer = fragment(client.get(f"{response.headers['Location']}leave/").headers["Location"])
    assert page.status_code == 200
    assert answer["error"] == "access_denied"


def test_a_query_that_does_without_the_age_gets_the_rest(
    client: Client, bank: RelyingParty, amina: Wallet, year: int
) -> None:
    claims = [
        {"id": "adult", "path": ["age_equal_or_over", "18"]},
        {"id": "born", "path": ["birth_date"]},
    ]
    query = {
        "id": "q",
        "format": "dc+sd-jwt",
        "meta": {"vct_values": [credential_type()]},
        "claims": claims,
        "claim_sets": [["adult", "born"], ["born"]],
    }
    dcql = json.dumps({"credentials": [query]})
    response = client.get(PATH, asked(bank, scope=None, dcql_query=dcql, login_hint=AMINA))
    page = response.content.decode()
    assert str(year - 18) in page
    assert "Aged 18" not in page
    answer = client.post(Consent.objects.get().return_to, {"decision": "share"})
    assert disclosed(fragment(answer.headers["Location"])["vp_token"]) == {"birth_date"}


def test_all_ages_mean_those_that_are_known(client: Client, bank: RelyingParty, amina: Wallet) -> None:
    token = share(client, bank, ("age_equal_or_over",), hint=AMINA)["vp_token"]
    assert disclosed(token) & {"18", "21", "65"} == {"21", "65"}


def test_an_answer_is_there_again_once_every_possible_birthday_has_passed(amina: Wallet, year: int) -> None:
    path, day = ("age_equal_or_over", "18"), timedelta(days=1)
    last = date(year, 12, 31)
    assert credentials.held(amina.credential, [path], today=last - day) == []
    assert credentials.held(amina.credential, [path], today=last) == [path]
