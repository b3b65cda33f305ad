"""Client secrets, in the admin and by command: made, shown once, ended."""

import json
import re
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from infra.moments import moment
from presentation.models import ClientSecret, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from tests.forgery import new_key, public_jwk
from tests.presentation.clients import ask, basic
from tests.presentation.relying_parties.admin_form import LIST, form, page
from tests.presentation.relying_parties.operator_roles import (
    AUDIT,
    IDENTITY_REVIEW,
    KEYS,
    RELYING_PARTIES,
    operator,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_groups"), pytest.mark.slow]


def address(party: RelyingParty, end: str = "secrets") -> str:
    return f"{LIST}{party.pk}/{end}/"


def shown(response: Any) -> str:
    """The new secret on the page."""
    found = re.search(r'<code id="new-secret">([\w-]{43})</code>', page(response))
    assert found
    return found[1]


def works(party: RelyingParty, secret: str) -> bool:
    return client_secrets.matching(secret, client_secrets.live(party, now=timezone.now())) is not None


def test_an_operator_makes_a_secret_that_is_shown_once_and_works(
    acme_bank: RelyingParty, signing_key: Any
) -> None:
    browser = operator(RELYING_PARTIES)
    RelyingParty.objects.update(grants=["presentation:verify"])
    assert address(acme_bank) in page(browser.get(address(acme_bank, "change")))
    response = browser.post(address(acme_bank), {"before": "overlap"})
    secret = shown(response)

    assert "no-store" in response.headers["Cache-Control"]
    assert ask(Client(), **basic(acme_bank.client_id, secret)).status_code == 200
    for again in (address(acme_bank), address(acme_bank, "change"), address(acme_bank, "history"), LIST):
        assert secret not in page(browser.get(again))
    assert str(timezone.now().year) in page(browser.get(address(acme_bank)))
    said = LogEntry.objects.get().change_message
    assert "made" in said
    assert secret not in said


def test_the_one_before_works_on_or_ends_as_was_chosen(acme_bank: RelyingParty) -> None:
    browser = operator(RELYING_PARTIES)
    first = shown(browser.post(address(acme_bank), {"before": "overlap"}))
    second = shown(browser.post(address(acme_bank), {"before": "overlap"}))
    assert works(acme_bank, first)
    third = browser.post(address(acme_bank), {"before": "overlap"})
    assert "Two secrets work already" in page(third)
    assert "new-secret" not in page(third)
    fourth = shown(browser.post(address(acme_bank), {"before": "end"}))

    assert [works(acme_bank, text) for text in (first, second, fourth)] == [False, False, True]


def test_an_operator_ends_a_secret(acme_bank: RelyingParty) -> None:
    browser = operator(RELYING_PARTIES)
    secret = client_secrets.rotate(acme_bank, now=timezone.now())
    made = moment(secret.row.created_at)
    assert f'End now<span class="visually-hidden"> the one made {made}' in page(
        browser.get(address(acme_bank))
    )
    for says in (f"Client secret of {made} ended", "Somebody was faster"):
        response = browser.post(address(acme_bank), {"end": secret.row.pk}, follow=True)
        assert says in page(response)

    assert not works(acme_bank, secret.text)


@pytest.mark.parametrize("which", ["0", "x", "", "²", "9" * 30])
def test_only_existing_secrets_of_this_relying_party_can_be_ended(
    acme_bank: RelyingParty, corner_shop: RelyingParty, which: str
) -> None:
    browser = operator(RELYING_PARTIES)
    other = client_secrets.rotate(corner_shop, now=timezone.now())
    for number in (which, str(other.row.pk)):
        assert browser.post(address(acme_bank), {"end": number}).status_code == 404

    assert works(corner_shop, other.text)


def test_an_empty_form_makes_nothing_where_there_is_one_before(acme_bank: RelyingParty) -> None:
    client_secrets.rotate(acme_bank, now=timezone.now())
    assert "required" in page(operator(RELYING_PARTIES).post(address(acme_bank), {"before": ""}))
    assert ClientSecret.objects.count() == 1


def test_the_first_asks_nothing_about_the_one_before(acme_bank: RelyingParty) -> None:
    browser = operator(RELYING_PARTIES)
    assert "The secret before" not in page(browser.get(address(acme_bank)))
    assert works(acme_bank, shown(response := browser.post(address(acme_bank), {})))
    assert "The secret before" in page(response)


@pytest.mark.parametrize("role", [KEYS, IDENTITY_REVIEW, AUDIT])
def test_no_other_role_can_make_or_end_a_secret(acme_bank: RelyingParty, role: str) -> None:
    secret = client_secrets.rotate(acme_bank, now=timezone.now())
    browser = operator(role)
    for sent in ({"before": "end"}, {"end": secret.row.pk}):
        assert browser.post(address(acme_bank), sent).status_code == 403
    assert browser.get(address(acme_bank)).status_code == 403

    assert works(acme_bank, secret.text)
    assert ClientSecret.objects.count() == 1


def test_an_auditor_sees_when_secrets_end_and_were_used(acme_bank: RelyingParty) -> None:
    secret = client_secrets.rotate(acme_bank, now=timezone.now())
    said = page(operator(AUDIT).get(address(acme_bank, "change")))

    assert f"<td>{moment(secret.row.expires_at)}</td>" in said
    assert "<td>never</td>" in said
    assert secret.row.digest not in said


def test_an_operator_registers_what_its_server_may_do_and_its_keys(admin_client: Client) -> None:
    jwks = {"keys": [{"kid": "one", **public_jwk(new_key())}]}
    sent = form("https://books.example/callback", grants=["presentation:verify"], jwks=json.dumps(jwks))
    assert admin_client.post(f"{LIST}add/", sent).status_code == 302

    party = RelyingParty.objects.get()
    assert (party.grants, party.jwks, party.jwks_uri) == (["presentation:verify"], jwks, "")
    said = page(admin_client.get(address(party, "change")))
    assert re.search(r'name="grants" value="presentation:verify"[^>]*checked', said)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"grants": ["presentation:all"]}, "presentation:all is not one of the available choices"),
        ({"jwks": "{"}, "Enter a valid JSON"),
        ({"jwks": json.dumps({"keys": [{"kid": "one", "d": "x"}]})}, "There is a private or secret key"),
        (
            {
                "jwks_uri": "https://books.example/jwks",
                "jwks": json.dumps({"keys": [{"kid": "one", **public_jwk(new_key())}]}),
            },
            "either the keys or their address",
        ),
    ],
)
def test_the_page_explains_a_mistake_in_keys_or_grants(admin_client: Client, changes: Any, says: str) -> None:
    response = admin_client.post(f"{LIST}add/", form("https://books.example/callback", **changes))
    assert says in unescape(page(response))
    assert not RelyingParty.objects.exists()


def run(*arguments: str) -> dict[str, Any]:
    printed = StringIO()
    call_command("rotate_client_secret", *arguments, stdout=printed)
    answer: dict[str, Any] = json.loads(printed.getvalue())
    return answer


def test_the_command_prints_a_new_secret_as_a_client_reads_it(acme_bank: RelyingParty) -> None:
    before = timezone.now()
    answer = run(acme_bank.client_id)

    assert answer.keys() == {"client_id", "client_secret", "client_secret_expires_at"}
    assert works(acme_bank, answer["client_secret"])
    ends = answer["client_secret_expires_at"] - before.timestamp()
    assert abs(ends - timedelta(days=365).total_seconds()) < 60


def test_the_command_rotates_with_and_without_an_overlap(acme_bank: RelyingParty) -> None:
    first, second = (run(acme_bank.client_id)["client_secret"] for _ in range(2))
    with pytest.raises(CommandError, match="Two secrets work already"):
        run(acme_bank.client_id)
    third = run(acme_bank.client_id, "--overlap-days=0")["client_secret"]

    assert [works(acme_bank, text) for text in (first, second, third)] == [False, False, True]


@pytest.mark.parametrize(
    "arguments", [["nobody"], ["", "--overlap-days=-1"], ["", "--overlap-days=366"], ["", "--overlap-days=x"]]
)
def test_a_mistake_in_the_command_makes_nothing(acme_bank: RelyingParty, arguments: list[str]) -> None:
    client_id, *options = arguments
    with pytest.raises(CommandError):
        run(client_id or acme_bank.client_id, *options)
    assert not ClientSecret.objects.exists()
