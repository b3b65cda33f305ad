"""Requests without `login_hint`, of relying parties that may leave it out: the person says who they are."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from infra.counts import counting
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import UNAUTHENTICATED
from tests.people import ALICE, BOB, NORA
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment
from tests.presentation.requests.deciding import SignIn, address_of_page, url_of_interaction
from tests.wallet.conftest import code_in, together
from wallet import redirect_tasks
from wallet.models import HolderSession, LoginCode, RedirectTask, Wallet
from wallet.sign_in.allowances import REDIRECT_TASKS_PER_CLIENT
from wallet.sign_in.codes import redeem

pytestmark = pytest.mark.usefixtures("signing_key")


@pytest.fixture
def now() -> datetime:
    return timezone.now()


PAYMENT = {
    "type": "urn:service:params:vc:transaction-data:payment-itemized:v1",
    "credential_ids": ["basic"],
    "payload": {"currency": "EUR", "items": [{"quantity": 1, "unit_cost": 12.5, "label": "Tea"}]},
}


@pytest.fixture
def acme_bank(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.may_omit_login_hint = True
    acme_bank.save()
    return acme_bank


def ask(client: Client, party: RelyingParty, **changes: Any) -> str:
    return address_of_page(client.get(PATH, asked(party, login_hint=None, **changes)))


def sign_in_with_code(client: Client, page: str, email: str) -> Any:
    """Enter the address and the code from its mailbox."""
    sent = client.post(page, {"email": email})
    assert sent.status_code == 303, sent.content.decode()
    assert mail.outbox[-1].to == [email]
    return client.post(sent.headers["Location"], {"code": code_in(mail.outbox[-1].body)})


def follow(client: Client, response: Any) -> str:
    """The last address of this service to which the redirects lead."""
    location = response.headers["Location"]
    while (response := client.get(location)).status_code == 303:
        location = response.headers["Location"]
    return str(location)


def share(client: Client) -> dict[str, str]:
    answer = client.post(url_of_interaction(), {"decision": "share"})
    return fragment(answer.headers["Location"])


def test_it_is_refused_unless_an_operator_allows_it(client: Client, acme_bank: RelyingParty) -> None:
    RelyingParty.objects.update(may_omit_login_hint=False)

    for left_out in (None, ""):
        answer = fragment(client.get(PATH, asked(acme_bank, login_hint=left_out)).headers["Location"])
        assert answer["error"] == "invalid_request"
        assert answer["error_description"] == "login_hint is missing"


def test_an_invalid_one_is_refused_even_where_it_may_be_left_out(
    client: Client, acme_bank: RelyingParty
) -> None:
    answer = fragment(client.get(PATH, asked(acme_bank, login_hint="nobody")).headers["Location"])

    assert answer["error_description"] == "login_hint must be an e-mail address"


def test_one_that_is_sent_counts_as_ever(
    client: Client, acme_bank: RelyingParty, bob: Wallet, sign_in: SignIn
) -> None:
    sign_in(bob)

    page = client.get(PATH, asked(acme_bank)).headers["Location"]

    assert client.get(page).headers["Location"] == reverse(
        "wallet_switch", args=[RedirectTask.objects.get().id]
    )


def test_the_person_enters_an_address_and_shares_as_its_holder(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    page = ask(client, acme_bank)
    shown = client.get(page).content.decode()
    assert "Your e-mail address" in shown
    assert "Acme Bank" in shown
    assert "that you are 18 or over" in shown

    consent_page = follow(client, sign_in_with_code(client, page, ALICE))

    assert ALICE in client.get(consent_page).content.decode()
    assert Consent.objects.get().wallet == alice
    assert "vp_token" in share(client)


def test_a_signed_in_holder_is_taken_as_who_they_are(
    client: Client, acme_bank: RelyingParty, bob: Wallet, sign_in: SignIn
) -> None:
    sign_in(bob)

    page = ask(client, acme_bank)

    assert page.startswith("/consent/")
    assert BOB in client.get(page).content.decode()
    assert Consent.objects.get().wallet == bob


def test_a_new_person_is_led_to_the_identity_check(client: Client, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)

    landed = follow(client, sign_in_with_code(client, page, NORA))

    assert landed == reverse("wallet_identity", args=[RedirectTask.objects.get().id])
    assert client.get(landed).status_code == 200


def test_who_says_that_it_is_not_them_is_asked_for_their_address(
    holder: Client, acme_bank: RelyingParty, bob: Wallet
) -> None:
    ask(holder, acme_bank)

    landed = follow(holder, holder.post(url_of_interaction(), {"decision": "not_me"}))
    shown = holder.get(landed).content.decode()
    assert "Your e-mail address" in shown
    assert ALICE not in shown

    consent_page = follow(holder, sign_in_with_code(holder, landed.partition("?")[0], BOB))
    text = holder.get(consent_page).content.decode()
    assert "Baker" in text
    assert "Archer" not in text
    assert "vp_token" in share(holder)
    assert Consent.objects.get(decision="granted").wallet == bob
    assert Interaction.objects.get().consent.wallet == bob  # type: ignore[union-attr]


def test_the_question_to_the_first_holder_ends_when_another_signs_in(
    holder: Client, acme_bank: RelyingParty, alice: Wallet, bob: Wallet, sign_in: SignIn
) -> None:
    first = ask(holder, acme_bank)
    sign_in(bob)
    holder.get(url_of_interaction())

    sign_in(alice)  # as if another tab still had the session
    answer = holder.post(url_of_interaction(), {"decision": "share"})

    assert answer.status_code == 410
    assert holder.get(first).url == url_of_interaction()
    assert not Consent.objects.filter(decision="granted").exists()


def test_an_answer_of_one_holder_is_never_used_for_another(
    holder: Client, acme_bank: RelyingParty, bob: Wallet, sign_in: SignIn
) -> None:
    """Alice agreed, and the process died before it answered. Then Bob signs in in the same browser."""
    from tests.presentation.requests.deciding import decide

    interaction_url = decide(holder, ask(holder, acme_bank))
    sign_in(bob)

    response = holder.get(interaction_url)

    assert response.headers["Location"].startswith("/consent/")
    assert holder.get(response.headers["Location"]).status_code == 410
    assert Interaction.objects.get().outcome == ""
    assert Consent.objects.count() == 1


def test_a_page_of_the_first_holder_cannot_decide_for_the_second(
    acme_bank: RelyingParty, alice: Wallet, bob: Wallet, sign_in: SignIn
) -> None:
    browser = Client()
    sign_in(alice, browser=browser)
    of_alice = ask(browser, acme_bank)
    # In a second tab: not Alice, but Bob.
    left = browser.post(url_of_interaction(), {"decision": "not_me", "page": of_alice})
    assert left.status_code == 303
    sent = browser.post(follow(browser, left).partition("?")[0], {"email": BOB})
    code = code_in(mail.outbox[-1].body)
    of_bob = follow(browser, browser.post(sent.headers["Location"], {"code": code}))

    for decision in ("share", "decline", "not_me"):
        answer = browser.post(url_of_interaction(), {"decision": decision, "page": of_alice})
        assert answer.status_code == 303
        assert follow(browser, answer) == of_bob, decision  # so that Bob sees what he is asked
    assert not Consent.objects.exclude(decision="asked").exists()

    answer = browser.post(url_of_interaction(), {"decision": "share", "page": of_bob})
    assert "vp_token" in answer.headers["Location"]


def test_a_code_for_ones_own_address_does_not_open_anothers_wallet(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": "mallory@example.org"})
    own = code_in(mail.outbox[-1].body)
    code_page = client.post(page, {"email": ALICE}).headers["Location"]

    assert code_in(mail.outbox[-1].body) == own or client.post(code_page, {"code": own}).status_code == 422
    assert not HolderSession.objects.exists()


def test_a_code_is_bound_to_the_address_even_if_the_address_changes_while_it_is_sent(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    """As if two requests raced: the code of Mallory was stored after the address became Alice's."""
    page = ask(client, acme_bank)
    client.post(page, {"email": "mallory@example.org"})
    own = code_in(mail.outbox[-1].body)
    RedirectTask.objects.update(email=ALICE)

    response = client.post(reverse("wallet_code", args=[RedirectTask.objects.get().id]), {"code": own})

    assert response.status_code == 422
    assert not HolderSession.objects.exists()


def test_another_address_takes_the_place_of_a_mistyped_one(client: Client, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": "nroa@example.org"})

    response = sign_in_with_code(client, page, NORA)

    assert response.headers["Location"] == url_of_interaction()
    assert HolderSession.objects.get().wallet.email == NORA


def test_the_same_address_gets_one_email_a_minute(client: Client, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)
    for _ in range(3):
        client.post(page, {"email": NORA})

    client.post(page)  # “Send a new code”

    assert len(mail.outbox) == 1
    assert LoginCode.objects.count() == 1


@pytest.mark.parametrize("written", ["", "nobody", "a@b", "x" * 300 + "@example.org", "nora\x00@example.org"])
def test_what_is_no_address_is_refused_on_the_page(
    client: Client, acme_bank: RelyingParty, written: str
) -> None:
    response = client.post(ask(client, acme_bank), {"email": written})

    assert response.status_code == 422
    assert "<title>Error: Confirm your e-mail address" in response.content.decode()
    assert mail.outbox == []


def test_the_code_page_before_an_address_was_entered_leads_back(
    client: Client, acme_bank: RelyingParty
) -> None:
    page = ask(client, acme_bank)

    response = client.get(reverse("wallet_code", args=[RedirectTask.objects.get().id]))

    assert response.headers["Location"] == page


@pytest.mark.usefixtures("windows_just_begun")
def test_addresses_are_limited_for_each_client(client: Client, acme_bank: RelyingParty, now: Any) -> None:
    page = ask(client, acme_bank)
    for _ in range(REDIRECT_TASKS_PER_CLIENT.most):
        REDIRECT_TASKS_PER_CLIENT.take("127.0.0.1", now=now)

    response = client.post(page, {"email": NORA})

    assert response.status_code == 429
    assert "You can ask again at <time" in response.content.decode()
    assert mail.outbox == []


@pytest.mark.usefixtures("windows_just_begun")
def test_requests_are_limited_for_each_client(client: Client, acme_bank: RelyingParty, now: Any) -> None:
    for _ in range(UNAUTHENTICATED.most):
        UNAUTHENTICATED.take("127.0.0.1", now=now)

    assert client.get(PATH, asked(acme_bank, login_hint=None)).status_code == 429
    assert not RedirectTask.objects.exists()


@pytest.mark.usefixtures("windows_just_begun")
def test_a_request_that_a_limit_refuses_is_not_counted_as_an_error_of_ours(
    client: Client, acme_bank: RelyingParty, now: Any
) -> None:
    """Otherwise any stranger could wake the operator."""

    def counted(outcome: str) -> float:
        rows = counting.totals().items()
        return sum(
            numbers[0]
            for (family, labels), numbers in rows
            if family == "authorization_answers" and labels[-1] == outcome
        )

    before = {outcome: counted(outcome) for outcome in ("temporarily_unavailable", "too_many_requests")}
    for _ in range(UNAUTHENTICATED.most):
        UNAUTHENTICATED.take("127.0.0.1", now=now)

    client.get(PATH, asked(acme_bank, login_hint=None))

    assert counted("too_many_requests") == before["too_many_requests"] + 1
    assert counted("temporarily_unavailable") == before["temporarily_unavailable"]


def test_another_browser_can_do_nothing_with_the_sign_in(client: Client, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": NORA})
    code = code_in(mail.outbox[-1].body)

    stranger = Client()
    assert stranger.post(page, {"email": "mallory@example.org"}).status_code == 404
    assert stranger.post(page.replace("sign-in", "code"), {"code": code}).status_code == 404
    assert RedirectTask.objects.get().email == NORA


def test_after_half_an_hour_the_way_leads_straight_back(client: Client, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)
    RedirectTask.objects.update(expires_at="2026-01-01T00:00Z")
    Interaction.objects.update(expires_at="2026-01-01T00:00Z")

    response = client.get(page)

    assert response.status_code == 303
    assert response.headers["Location"] == f"{url_of_interaction()}leave/"


def test_a_payment_asks_the_signed_in_holder_for_a_new_code_and_offers_another_address(
    client: Client, acme_bank: RelyingParty, alice: Wallet, sign_in: SignIn
) -> None:
    sign_in(alice, ago=timedelta(hours=1))
    page = ask(client, acme_bank, transaction_data=encoded(PAYMENT))
    shown = client.get(page).content.decode()
    assert "Confirm that it is you" in shown
    assert ALICE in shown
    assert f'<a href="{page}?other">Use another address</a>' in shown
    other = client.get(f"{page}?other").content.decode()
    assert "Your e-mail address" in other

    assert f'name="email" value="{ALICE}"' in shown
    sent = client.post(page, {"email": ALICE})
    assert mail.outbox[-1].to == [ALICE]
    code = code_in(mail.outbox[-1].body)
    consent_page = follow(client, client.post(sent.headers["Location"], {"code": code}))

    assert consent_page.startswith("/consent/")
    assert Consent.objects.get().wallet == alice


def test_a_link_signs_in_as_the_address_that_was_entered(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": ALICE})
    RedirectTask.objects.update(code_sent_at=None)
    client.post(page, {"link": "1"})
    link = re.search(r"/wallet/link/[\w-]+/", mail.outbox[-1].body)[0]  # type: ignore[index]

    consent_page = follow(client, client.post(link))

    assert consent_page.startswith("/consent/")
    assert HolderSession.objects.get().wallet == alice


def test_a_link_for_one_address_is_worth_nothing_after_another_was_entered(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": "mallory@example.org"})
    RedirectTask.objects.update(code_sent_at=None)
    client.post(page, {"link": "1"})
    link = re.search(r"/wallet/link/[\w-]+/", mail.outbox[-1].body)[0]  # type: ignore[index]
    client.post(page, {"email": ALICE})

    assert client.post(link).status_code == 403
    assert not HolderSession.objects.exists()


def test_another_code_goes_to_the_address_that_was_entered_not_to_the_holder_who_is_still_signed_in(
    client: Client, acme_bank: RelyingParty, alice: Wallet, bob: Wallet, sign_in: SignIn
) -> None:
    sign_in(alice, ago=timedelta(hours=1))
    page = ask(client, acme_bank, transaction_data=encoded(PAYMENT))
    client.post(page, {"email": BOB})
    RedirectTask.objects.update(code_sent_at=None)

    client.post(page)  # “Send a new code”

    assert [message.to for message in mail.outbox] == [[BOB], [BOB]]


def test_after_a_code_lapsed_one_button_sends_the_next_to_the_same_address(
    client: Client, acme_bank: RelyingParty
) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": NORA})
    LoginCode.objects.all().delete()
    lapsed = client.post(page.replace("sign-in", "code"), {"code": "123456"}).headers["Location"]

    shown = client.get(lapsed).content.decode()

    assert "<title>Error: " in shown
    assert f'name="email" value="{NORA}"' in shown


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_an_answer_and_another_holder_at_once_only_one_happens(
    holder: Client, acme_bank: RelyingParty, alice: Wallet, now: datetime
) -> None:
    ask(holder, acme_bank)
    consent = Consent.objects.get()

    def race(number: int) -> Any:
        if number % 2:
            return decisions.withdraw(consent.id, now=timezone.now())
        return decisions.grant(consent.id, alice, now=timezone.now())

    results = together(race)

    consent.refresh_from_db()
    won = [result for result in results if result is True or result is None]
    assert len(won) == 1
    assert (consent.decision == "granted") == (won == [None])


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_code_never_opens_the_wallet_of_an_address_that_is_entered_at_the_same_time(
    client: Client, acme_bank: RelyingParty, alice: Wallet
) -> None:
    page = ask(client, acme_bank)
    client.post(page, {"email": "mallory@example.org"})
    code, redirect_task_id = code_in(mail.outbox[-1].body), RedirectTask.objects.get().id

    def race(number: int) -> Any:
        redirect_task = RedirectTask.objects.get(id=redirect_task_id)
        if number % 2:
            return redirect_tasks.take_address(redirect_task, ALICE)
        return redeem(redirect_task, code, client="127.0.0.1", now=timezone.now())

    opened = [result for result in together(race) if isinstance(result, Wallet)]

    assert alice not in opened
    assert len(opened) <= 1
