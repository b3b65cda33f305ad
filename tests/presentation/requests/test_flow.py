"""A request from beginning to answer, over HTTP: what is shared, answered once, or refused."""

import base64
import re
import threading
from datetime import UTC, datetime, time, timedelta
from datetime import timezone as tz
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests import interactions
from presentation.requests.interactions import OpenInteraction
from presentation.requests.next_step import NextStep, insert_step_rows, next_step
from sandbox.identity_provider.personas import years_before
from tests.consent.questions import last_shared
from tests.people import BOB, enroll
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.deciding import (
    PAYMENT,
    SignIn,
    another_browser,
    ask,
    decide,
    url_of_interaction,
)
from wallet.credential import days
from wallet.models import Credential, HolderSession, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")


def test_a_decision_whose_process_died_is_answered_by_the_next_request(
    holder: Client, acme_bank: RelyingParty
) -> None:
    page = ask(holder, acme_bank)
    shown = holder.get(page)
    interaction_url = decide(holder, page)
    answer = holder.get(interaction_url)

    assert "Archer" in shown.content.decode()
    assert answer.status_code == 303
    token = fragment(answer.headers["Location"])
    assert set(token) == {"vp_token", "state"}
    assert token["state"] == "af0ifjsldkj"
    assert token["vp_token"].count("~") == 5  # two names, the age object, over 18, and the key binding JWT


def test_declining_redirects_with_access_denied_and_is_recorded(
    holder: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank), "decline")
    answer = fragment(holder.get(interaction_url).headers["Location"])

    assert answer == {
        "error": "access_denied",
        "error_description": "The request was not granted.",
        "iss": settings.BASE_URL,
        "state": "af0ifjsldkj",
    }
    assert Consent.objects.get().decision == Consent.Decision.DECLINED


def test_leaving_redirects_with_the_same_answer_as_declining(
    client: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    ask(client, acme_bank)

    answer = fragment(client.get(f"{url_of_interaction()}leave/").headers["Location"])

    assert answer == {
        "error": "access_denied",
        "error_description": "The request was not granted.",
        "iss": settings.BASE_URL,
        "state": "af0ifjsldkj",
    }


def test_an_answer_is_sent_once_and_then_the_page_has_a_link_back(
    holder: Client, acme_bank: RelyingParty
) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    holder.get(interaction_url)

    again = holder.get(interaction_url)

    assert again.status_code == 410
    assert 'href="https://bank.example/"' in again.content.decode()
    assert "#" not in again.content.decode().split('rel="noreferrer"')[0].split("href=")[-1]


def test_the_answer_erases_the_parameters(holder: Client, acme_bank: RelyingParty) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))

    assert Interaction.objects.get().parameters == {}


@pytest.mark.parametrize("another", ["browser", "request"])
def test_a_nonce_that_gave_a_token_is_refused_in_another_browser_and_for_another_request(
    holder: Client, acme_bank: RelyingParty, another: str
) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))

    if another == "browser":
        answer = fragment(Client().get(PATH, asked(acme_bank)).headers["Location"])
    else:
        answer = fragment(holder.get(PATH, asked(acme_bank, state="another")).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert "nonce" in answer["error_description"]


def test_an_answered_request_that_is_opened_again_says_so_and_sends_nothing(
    holder: Client, acme_bank: RelyingParty
) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))
    RelyingParty.objects.update(requires_pushed_requests=True)  # a check that would send an error

    again = holder.get(PATH, asked(acme_bank))

    assert (again.status_code, again.headers["Cache-Control"]) == (410, "no-store")
    assert "Location" not in again.headers
    assert "You have already answered" in again.content.decode()
    assert "You said yes to" in again.content.decode()
    assert (Interaction.objects.count(), Consent.objects.count()) == (1, 1)


def test_the_same_nonce_of_another_relying_party_is_no_replay(
    holder: Client, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))

    page = ask(holder, corner_shop, redirect_uri="https://shop.example/callback")

    assert page.startswith("/consent/")


@pytest.mark.django_db(transaction=True)  # the refused statement ends the transaction of the test
def test_of_two_browsers_with_one_nonce_only_one_gets_a_token(
    alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    browsers = [another_browser(sign_in, alice) for _ in range(2)]
    decided = [(browser, decide(browser, ask(browser, acme_bank))) for browser in browsers]

    answers = [fragment(browser.get(address).headers["Location"]) for browser, address in decided]

    assert "vp_token" in answers[0]
    assert answers[1]["error"] == "invalid_request"


def test_another_browser_cannot_go_on_with_an_interaction(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    stranger = Client()
    sign_in(alice, browser=stranger)

    for path in (interaction_url, f"{interaction_url}leave/"):
        response = stranger.get(path)
        assert response.status_code == 410
        assert "af0ifjsldkj" not in response.content.decode()
    assert Interaction.objects.get().outcome == ""


def test_leaving_an_expired_interaction_goes_straight_back(holder: Client, acme_bank: RelyingParty) -> None:
    ask(holder, acme_bank)
    Interaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    response = holder.get(f"{url_of_interaction()}leave/")

    assert response.status_code == 303
    assert fragment(response.headers["Location"])["error"] == "access_denied"
    assert Client().get(f"{url_of_interaction()}leave/").status_code == 410  # only for the browser that began


def test_an_expired_interaction_leads_back_with_the_refusal(
    holder: Client, acme_bank: RelyingParty, settings: Any
) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    Interaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    response = holder.get(interaction_url)

    assert response.status_code == 410
    (home,) = re.findall('href="(https://bank.example/callback#[^"]*)"', response.content.decode())
    assert fragment(unescape(home)) == {
        "error": "access_denied",
        "error_description": "The request was not granted.",
        "iss": settings.BASE_URL,
        "state": "af0ifjsldkj",
    }


def test_an_unknown_interaction_is_a_page(client: Client, db: None) -> None:
    path = f"{PATH.removesuffix('authorize')}interactions/00000000-0000-4000-8000-000000000000/"

    assert client.get(path).status_code == 410


@pytest.mark.parametrize("email", [BOB, "somebody@example.org"])
def test_another_wallet_than_the_hinted_one_is_asked_to_sign_in(
    holder: Client, acme_bank: RelyingParty, email: str
) -> None:
    assert ask(holder, acme_bank, login_hint=email).startswith("/wallet/errands/")


def test_a_holder_without_a_credential_is_sent_to_verification(
    holder: Client, acme_bank: RelyingParty
) -> None:
    Credential.objects.update(state=Credential.State.REVOKED)

    assert ask(holder, acme_bank).endswith("/identity/")


def test_a_grant_does_not_outlive_the_credential(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    Credential.objects.update(state=Credential.State.REVOKED)

    assert holder.get(interaction_url).headers["Location"].endswith("/identity/")


def test_a_grant_for_another_request_is_worth_nothing(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    interaction = Interaction.objects.get()
    interaction.parameters["nonce"] = "another-nonce-altogether"
    interaction.save()

    answer = fragment(holder.get(interaction_url).headers["Location"])

    assert answer["error"] == "server_error"


def test_suspended_in_mid_flow_nothing_is_redirected(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    acme_bank.state, acme_bank.suspension_reason = RelyingParty.State.SUSPENDED, "complaints"
    acme_bank.save()

    assert holder.get(interaction_url).status_code == 400


def test_a_redirect_uri_removed_during_the_flow_gets_no_answer(
    holder: Client, acme_bank: RelyingParty
) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    acme_bank.redirect_uris.filter(uri="https://bank.example/callback").delete()

    assert holder.get(interaction_url).status_code == 400


def test_a_scope_removed_during_the_flow_is_invalid(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    RelyingParty.objects.update(allowed_scopes=[])

    assert fragment(holder.get(interaction_url).headers["Location"])["error"] == "invalid_scope"


def test_without_a_signing_key_the_error_is_ours(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, signing_key: Any, settings: Any
) -> None:
    from keys.rotation import transitions

    settings.SELF_CERTIFYING_AUTHORITY = False  # no other key is made in its place
    sign_in(alice)
    interaction_url = decide(client, ask(client, acme_bank))
    transitions.withdraw(signing_key.id, reason="lost", now=timezone.now())

    assert fragment(client.get(interaction_url).headers["Location"])["error"] == "server_error"


def test_the_receipt_of_an_undelivered_consent_says_that_nothing_was_shared(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, signing_key: Any, settings: Any
) -> None:
    from keys.rotation import transitions

    settings.SELF_CERTIFYING_AUTHORITY = False  # no other key is made in its place
    sign_in(alice)
    interaction_url = decide(client, ask(client, acme_bank))
    transitions.withdraw(signing_key.id, reason="lost", now=timezone.now())
    client.get(interaction_url)

    receipts = client.get("/wallet/history/").content.decode()

    assert "You said yes, but nothing was shared" in receipts
    assert "You shared" not in receipts
    assert last_shared(alice, acme_bank.client_id) is None


def test_an_age_is_signed_as_it_was_shown_over_midnight_too(
    client: Client, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    now = timezone.now()
    of_age_today = now.date().replace(year=now.year - 18, day=min(now.day, 28))
    tom = enroll("tom@example.org", given_name="Tom", family_name="Young", birth_date=of_age_today)
    sign_in(tom)
    page = ask(client, acme_bank, login_hint="tom@example.org")
    # The holder is asked a minute before midnight on the day before the birthday.
    eve = datetime.combine(of_age_today.replace(year=now.year), time(23, 59), UTC) - timedelta(days=1)
    Credential.objects.update(issued_at=eve - timedelta(hours=1))
    Consent.objects.update(asked_at=eve)

    shown = client.get(page).content.decode()
    token = fragment(client.get(decide(client, page)).headers["Location"])["vp_token"]

    assert re.search(r'Aged 18 or over.*?<bdi translate="no">No</bdi>', shown, re.DOTALL)
    disclosures = [base64.urlsafe_b64decode(part + "==") for part in token.split("~")[1:-1]]
    assert any(b'"18",false' in said for said in disclosures)


@pytest.mark.parametrize("hours", [-23, -12, 0, 14, 23])
@pytest.mark.parametrize("is_birthday", [True, False])
def test_an_age_is_that_of_the_day_in_the_zone_of_the_operator_and_stays_so(
    client: Client,
    acme_bank: RelyingParty,
    sign_in: SignIn,
    settings: Any,
    hours: int,
    is_birthday: bool,
) -> None:
    settings.AGE_TIME_ZONE = zone = tz(timedelta(hours=hours))
    today = days.of_ages(timezone.now(), zone)
    birthday = years_before(today if is_birthday else today + timedelta(days=1), 18)
    tom = enroll("tom@example.org", given_name="Tom", family_name="Young", birth_date=birthday)
    sign_in(tom)
    page = ask(client, acme_bank, login_hint="tom@example.org")
    settings.AGE_TIME_ZONE = tz(timedelta(hours=23 if hours < 0 else -23))  # by the time of the answer

    shown = client.get(page).content.decode()
    token = fragment(client.get(decide(client, page)).headers["Location"])["vp_token"]

    assert re.search(
        rf'Aged 18 or over.*?<bdi translate="no">{"Yes" if is_birthday else "No"}</bdi>', shown, re.DOTALL
    )
    disclosures = [base64.urlsafe_b64decode(part + "==") for part in token.split("~")[1:-1]]
    assert any((b'"18",true' if is_birthday else b'"18",false') in said for said in disclosures)


def test_a_payment_asks_for_a_fresh_sign_in_and_session_data_does_not(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice, ago=timedelta(minutes=6))

    device = ask(client, acme_bank, transaction_data=encoded(session_data()))
    payment = ask(client, acme_bank, transaction_data=encoded(PAYMENT))

    assert device.startswith("/consent/")
    assert payment.startswith("/wallet/errands/")


def test_a_payment_within_minutes_of_signing_in_does_not_ask_again(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(alice, ago=timedelta(minutes=4))

    assert ask(client, acme_bank, transaction_data=encoded(PAYMENT)).startswith("/consent/")


def test_a_private_use_scheme_gets_its_answer(holder: Client) -> None:
    from tests.people import register

    app = register("Acme App", "com.example.app:/callback")

    page = ask(holder, app, redirect_uri="com.example.app:/callback")
    answer = holder.get(decide(holder, page))

    assert answer.headers["Location"].startswith("com.example.app:/callback#vp_token=")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_racing_requests_to_an_interaction_get_one_token(holder: Client, acme_bank: RelyingParty) -> None:
    interaction_url = decide(holder, ask(holder, acme_bank))
    barrier, statuses = threading.Barrier(8), []

    def fetch() -> None:
        racer = Client()
        racer.cookies = holder.cookies.copy()
        barrier.wait()
        statuses.append(racer.get(interaction_url).status_code)
        connection.close()

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [303] + [410] * 7


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_racing_browsers_with_one_nonce_get_one_token(
    alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    browsers = [another_browser(sign_in, alice) for _ in range(6)]
    decided = [(browser, decide(browser, ask(browser, acme_bank))) for browser in browsers]
    barrier, answers = threading.Barrier(len(decided)), []

    def fetch(browser: Client, interaction_url: str) -> None:
        barrier.wait()
        answers.append(fragment(browser.get(interaction_url).headers["Location"]))
        connection.close()

    threads = [threading.Thread(target=fetch, args=each) for each in decided]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum("vp_token" in answer for answer in answers) == 1
    assert sum(answer.get("error") == "invalid_request" for answer in answers) == len(decided) - 1


def tab_that_goes_on() -> tuple[OpenInteraction, NextStep]:
    """A tab of the holder who is signed in: the open interaction and its next step, as read now."""
    row, now = Interaction.objects.get(), timezone.now()
    session = HolderSession.objects.select_related("wallet").get()
    opened = interactions.open_interaction(interactions.find(row.id), browser=row.browser, now=now)
    return opened, next_step(opened, session, now=now)


def test_of_two_tabs_that_go_on_at_once_one_asks_the_question(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    """The other finds that question, and stores none of its own."""
    ask(client, acme_bank)
    sign_in(alice)
    tabs = [tab_that_goes_on() for _ in range(2)]

    stored = [insert_step_rows(*tab, now=timezone.now()) for tab in tabs]

    assert stored == [True, False]
    assert Consent.objects.get().id == Interaction.objects.get().consent_id


def test_a_request_that_ends_meanwhile_gets_no_question(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    ask(client, acme_bank)
    sign_in(alice)
    tab = tab_that_goes_on()
    Interaction.objects.update(outcome="error", answered_at=timezone.now())

    assert not insert_step_rows(*tab, now=timezone.now())
    assert not Consent.objects.exists()
