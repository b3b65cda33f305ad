"""The admin page of consents: operators and auditors read them, and nobody can change them."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from consent import decisions
from consent.question import Requester
from infra.admin.read_only import BoundedPaginator
from tests.consent.questions import WIRE, put
from wallet.models import Wallet

pytestmark = pytest.mark.slow

LIST = "/admin/consent/consent/"


@pytest.fixture
def operator(client, db) -> User:
    user = User.objects.create_superuser("olga", password="a long enough one")
    client.force_login(user)
    return user


def test_the_record_is_readable_and_nothing_else(client, alice: Wallet, operator) -> None:
    consent = put(alice, transactions=[WIRE])
    decisions.decline(consent.id, alice, now=timezone.now())
    page = client.get(f"{LIST}{consent.id}/change/").content.decode()
    for text in ("Acme Bank", "age_equal_or_over.18", "12,500.00 EUR", consent.request_hash, str(alice.id)):
        assert text in page
    assert alice.email not in page
    assert 'name="_save"' not in page
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}{consent.id}/delete/", {"post": "yes"}).status_code == 403


def test_the_record_is_shown_in_words(client, alice: Wallet, operator) -> None:
    page = client.get(f"{LIST}{put(alice, transactions=[WIRE]).id}/change/").content.decode()
    for text in ("Wire transfer", "DE89 3704 0044 0532 0130 00", "To open your account", "bank.example"):
        assert text in page
    assert "{" not in page.split('id="consent_form"')[1].split("</fieldset>")[0]
    assert f'href="/admin/wallet/wallet/{alice.id}/change/"' in page
    page = client.get(f"{LIST}{put(alice).id}/change/").content.decode()
    assert "[]" not in page.split('id="consent_form"')[1].split("</fieldset>")[0]


@pytest.mark.parametrize(
    ("term", "found"),
    [("acme", True), ("acme bank", True), ("Corner", False), ("{consent}", True), ("{wallet}", True)],
)
def test_search_finds_by_requester_and_by_id(client, alice, bob, operator, term: str, found: bool) -> None:
    consent = put(alice)
    other = put(bob, requester_id="other", requester=Requester("Other", "other.example"))
    page = client.get(LIST, {"q": term.format(consent=consent.id, wallet=alice.id)}).content.decode()
    assert (str(consent.id) in page.split("result_list")[-1]) is found
    assert str(other.id) not in page


def test_search_finds_a_client_id_which_has_the_form_of_an_id(client, alice, operator) -> None:
    client_id = "55b45ed84e2204e91cab2f7fd9a09f3a"
    consent = put(alice, requester_id=client_id)
    page = client.get(LIST, {"q": client_id}).content.decode()
    assert str(consent.id) in page


def test_no_more_rows_are_counted_than_a_list_shows(client, alice, operator, monkeypatch) -> None:
    monkeypatch.setattr(BoundedPaginator, "MOST", 2)
    shown = ["1 consent", "2+ consents", "2+ consents"]
    for text in shown:
        put(alice)
        assert text in " ".join(client.get(LIST).content.decode().split())


def test_the_list_names_no_holder(client, alice: Wallet, operator) -> None:
    put(alice)
    page = client.get(LIST).content.decode()
    assert "Acme Bank" in page
    assert alice.email not in page
