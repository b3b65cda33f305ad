"""Developers register their own applications in the sandbox, and attacks on that fail."""

import re
import threading
import time
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from infra.limits import Limit
from presentation.dcql.queries import BASIC
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties import registration
from presentation.transaction_data.types import TYPES
from sandbox.models import SelfRegistration
from sandbox.self_service import developer_sign_in, self_registrations
from tests.people import register
from tests.presentation.clients import FORM, TOKEN, basic
from tests.sandbox.developers import CHOSEN, DEVELOPER, HOME, LOCAL, link_for, make, signed_in, text
from tests.wallet import mail_server
from tests.wallet.conftest import together

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("windows_just_begun")]

GRANT = "grant_type=client_credentials&scope=presentation:verify"
PAYMENT = "urn:service:params:vc:transaction-data:payment-itemized:v1"


@pytest.fixture
def developer(db: None) -> Client:
    return signed_in()


@pytest.fixture
def mailing(settings: Any) -> Any:
    """A sandbox with EMAIL_URL, which sends e-mails to developers."""
    settings.DEVELOPER_EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    mail.outbox = []
    return settings


# --- Developers ---------------------------------------------------------------------------------------------


def test_a_developer_registers_and_asks(developer: Client, signing_key: Any) -> None:
    made = make(developer, allowed_transaction_data_types=[PAYMENT])
    page = text(developer.get(made.headers["Location"]))
    party = RelyingParty.objects.get()
    ready = re.search(r'<a href="([^"]+/authorize\?[^"]+)">', page)

    assert party.client_id in page
    assert (party.name, party.allowed_scopes) == ("My Shop (sandbox, unverified)", [BASIC])
    assert party.allowed_transaction_data_types == [PAYMENT]
    assert [row.uri for row in party.redirect_uris.all()] == [LOCAL]
    assert party.contact == DEVELOPER
    assert ready
    answer = Client().post("/sandbox/holder", {"authorize_url": ready[1]}, content_type="application/json")
    assert answer.json()["redirect_to"].startswith(f"{LOCAL}#vp_token=")


def test_every_transaction_type_is_ticked_for_a_new_application_and_only_its_own_later(
    developer: Client,
) -> None:
    def ticked(address: str) -> list[str]:
        page = text(developer.get(address))
        return re.findall(r'name="allowed_transaction_data_types" value="([^"]+)"[^>]* checked', page)

    page = make(developer).headers["Location"]

    assert ticked(f"{HOME}new/") == list(TYPES)
    assert ticked(page) == RelyingParty.objects.get().allowed_transaction_data_types == []


def test_it_can_be_changed_and_what_cannot_be_saved_changes_nothing(developer: Client) -> None:
    page = make(developer).headers["Location"]
    changed = CHOSEN | {
        "name": "New Name",
        "redirect_uris": f"{LOCAL}\r\nhttp://localhost/",
        "wire_format": "openid4vp-1.0",
    }

    saved = developer.post(page, changed)
    refused = developer.post(page, changed | {"name": "Other", "redirect_uris": "http://localhost/#here"})

    party = RelyingParty.objects.get()
    assert saved.status_code == 303
    assert refused.status_code == 422
    assert "A fragment (#) is not allowed" in text(refused)
    assert (party.name, party.wire_format) == ("New Name (sandbox, unverified)", "openid4vp-1.0")
    assert [row.uri for row in party.redirect_uris.all()] == [LOCAL, "http://localhost/"]


def test_the_number_of_a_person_is_chosen_and_can_be_changed(developer: Client) -> None:
    def chosen(address: str) -> list[str]:
        return re.findall(r'name="number" value="(\w+)"[^>]* checked', text(developer.get(address)))

    assert chosen(f"{HOME}new/") == ["same"]
    assert "In production the operator decides." in text(developer.get(f"{HOME}new/"))
    page = make(developer, number="another").headers["Location"]
    assert RelyingParty.objects.get().may_recognise is False
    assert chosen(page) == ["another"]
    developer.post(page, CHOSEN)
    assert RelyingParty.objects.get().may_recognise is True
    assert chosen(page) == ["same"]


def test_it_can_be_deleted_after_one_more_question(developer: Client) -> None:
    page = make(developer).headers["Location"]

    assert "Delete" in text(developer.get(f"{page}delete/"))
    assert RelyingParty.objects.exists()
    assert developer.post(f"{page}delete/").headers["Location"] == HOME
    assert not RelyingParty.objects.exists()


def test_a_developer_comes_back_in_another_browser_and_finds_what_is_theirs(developer: Client) -> None:
    make(developer)

    again = signed_in("DEV@shop.example")

    assert "My Shop" in text(again.get(HOME))


def test_with_mail_the_link_is_sent_and_not_shown(db: None, mailing: Any) -> None:
    browser = Client()
    page = text(browser.post(HOME, {"email": DEVELOPER}))
    (message,) = mail.outbox
    link = re.search(r"http://\S+", message.body)

    assert "/link/" not in page
    assert message.to == [DEVELOPER]
    assert link
    assert browser.get(urlsplit(link[0]).path).headers["Location"] == f"{HOME}new/"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "Enter a name."),
        ({"redirect_uris": ""}, "Name at least one redirect URI."),
        ({"redirect_uris": " \n "}, "Name at least one redirect URI."),
        ({"redirect_uris": f"{LOCAL}?state=mine"}, "Take state out of the query"),
        ({"redirect_uris": "\n".join(f"http://127.0.0.1/{i}" for i in range(11))}, "at most 10"),
        ({"redirect_uris": "nowhere"}, "This sandbox sends no mail"),
        ({"redirect_uris": "http://127.0.0.1/*"}, "Wildcards (*) are not allowed."),
        ({"allowed_scopes": []}, "Choose at least one scope."),
        ({"allowed_scopes": ["everything"]}, "Select a valid choice."),
        ({"allowed_transaction_data_types": ["any"]}, "Select a valid choice."),
        ({"wire_format": "xml"}, "Select a valid choice."),
        ({"number": "none"}, "Select a valid choice."),
    ],
)
def test_a_mistake_is_said_at_its_field_and_nothing_is_written(
    developer: Client, changes: dict[str, Any], sentence: str
) -> None:
    response = make(developer, **changes)

    assert response.status_code == 422
    assert sentence in text(response)
    assert not RelyingParty.objects.exists()


def test_a_secret_is_made_shown_once_and_good_for_access_tokens(developer: Client, signing_key: Any) -> None:
    page = make(developer).headers["Location"]
    party = RelyingParty.objects.get()
    secrets = []
    for _ in range(2):
        shown = text(developer.post(f"{page}secret/"))
        found = re.search(r'<pre class="code"[^>]*>([^<]{43})</pre>', shown)
        assert found
        assert ("The one before has ended." in shown) is bool(secrets)
        secrets.append(found[1])

    statuses = [
        Client().post(TOKEN, GRANT, content_type=FORM, headers=basic(party.client_id, secret)).status_code
        for secret in secrets
    ]

    assert statuses == [401, 200]
    assert secrets[1] not in text(developer.get(page))
    assert "made, and shown once" in text(developer.get(page))


# --- Attacks ------------------------------------------------------------------------------------------------


def test_a_bank_cannot_be_played(developer: Client) -> None:
    register("Acme Bank", "https://bank.example/callback")

    for name in ("Acme Bank", "ACME BANK", "Acme Bank Support", "\u0410cme Bank", "Acme\u200b Bank"):
        assert make(developer, name=name).status_code == 422
    assert RelyingParty.objects.count() == 1


def test_the_consent_page_says_that_nobody_checked_who_registered_itself(developer: Client) -> None:
    make(developer, name="Savings")

    assert RelyingParty.objects.get().self_registered
    assert not register("Acme Bank", "https://bank.example/callback").self_registered


def test_the_mark_cannot_be_typed_away(developer: Client) -> None:
    make(developer, name="Savings")
    page = f"{HOME}{RelyingParty.objects.get().client_id}/"

    developer.post(page, CHOSEN | {"name": "Savings (sandbox, verified)"})
    developer.post(page, CHOSEN | {"name": "Savings Two"})

    assert RelyingParty.objects.get().name == "Savings Two (sandbox, unverified)"


@pytest.mark.parametrize(
    "uri", ["https://bank.example/callback", "com.bank.app:/callback", "https://evil.example/"]
)
def test_answers_and_errors_cannot_be_sent_elsewhere(developer: Client, mailing: Any, uri: str) -> None:
    assert make(developer, redirect_uris=uri).status_code == 422
    assert make(developer, redirect_uris=f"{LOCAL}\n{uri}").status_code == 422
    assert not RelyingParty.objects.exists()


def test_a_developer_may_use_the_domain_of_a_verified_address(developer: Client, mailing: Any) -> None:
    assert make(developer, redirect_uris="https://staging.shop.example/callback").status_code == 303


def test_without_mail_no_domain_is_anybodys(developer: Client) -> None:
    assert make(developer, redirect_uris="https://staging.shop.example/callback").status_code == 422


def test_nobody_reads_or_changes_what_is_anothers(developer: Client) -> None:
    page = make(developer).headers["Location"]
    other = signed_in("other@shop.example")

    answers = [other.get(page), other.post(page, CHOSEN | {"name": "Mine"}), other.post(f"{page}delete/")]

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert other.post(f"{page}secret/").status_code == 404
    assert "My Shop" not in text(other.get(HOME))
    assert RelyingParty.objects.get().name.startswith("My Shop")


def test_what_operators_registered_is_nobodys_here(developer: Client, acme_bank: RelyingParty) -> None:
    assert developer.get(f"{HOME}{acme_bank.client_id}/").status_code == 404


@pytest.mark.parametrize("path", ["", "new/", "{client_id}/", "{client_id}/delete/"])
def test_without_a_link_nothing_is_shown(developer: Client, path: str) -> None:
    make(developer)
    address = HOME + path.format(client_id=RelyingParty.objects.get().client_id)

    page = Client().get(address)

    assert "My Shop" not in text(page)
    assert page.status_code == 200 if not path else page.headers["Location"] == HOME


def test_a_link_is_good_only_in_the_browser_that_asked(db: None) -> None:
    """A link works neither for a person to whom somebody else's was sent, nor for a thief."""
    link = link_for(Client())

    assert Client().get(link).status_code == 410
    assert signed_in("victim@shop.example").get(link).status_code == 410


def test_a_link_signs_in_once(db: None) -> None:
    browser = Client()
    link = link_for(browser)

    assert browser.get(link).headers["Location"] == f"{HOME}new/"
    assert browser.get(link).headers["Location"] == HOME, "the second of two clicks"
    browser.post(f"{HOME}sign-out/")
    assert browser.get(link).status_code == 410
    assert "Send me a link" in text(browser.get(HOME))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_opened_eight_times_at_once_signs_in_once() -> None:
    browser = Client()
    link = link_for(browser)

    def opens(number: int) -> int:
        same = Client()
        same.cookies = browser.cookies.copy()
        return same.get(link).status_code

    assert sorted(together(opens)) == [303] + [410] * 7


def test_a_link_ends(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Client()
    link = link_for(browser)
    monkeypatch.setattr(developer_sign_in, "LINK_LIFETIME", timedelta(0))

    assert browser.get(link).status_code == 410


@pytest.mark.parametrize("token", ["x", "x:y:z", "é", "." * 3000])
def test_a_link_that_was_made_up_is_gone(db: None, token: str) -> None:
    browser = Client()
    link_for(browser)

    assert browser.get(f"{HOME}link/{token}/").status_code == 410


def test_the_cookie_is_worth_nothing_elsewhere(developer: Client) -> None:
    thief = Client()
    thief.cookies["developer"] = developer.cookies["developer"].value

    assert "Send me a link" in text(thief.get(HOME))


def test_a_link_is_no_cookie(db: None) -> None:
    browser = Client()
    browser.cookies["developer"] = link_for(browser).split("/")[-2]

    assert "Send me a link" in text(browser.get(HOME))


def test_signing_out_forgets_the_developer(developer: Client) -> None:
    developer.post(f"{HOME}sign-out/")

    assert "Send me a link" in text(developer.get(HOME))


def test_the_same_is_said_whether_or_not_an_address_is_known(developer: Client, mailing: Any) -> None:
    make(developer)
    pages = [text(Client().post(HOME, {"email": email})) for email in (DEVELOPER, "new@shop.example")]

    assert pages[0].replace(DEVELOPER, "new@shop.example") == pages[1]
    assert len(mail.outbox) == 2


def ask_from(address: str, email: str = DEVELOPER) -> int:
    """Request a link from a client address; returns the status."""
    return Client(REMOTE_ADDR=address).post(HOME, {"email": email}).status_code


def test_an_address_cannot_be_flooded_with_emails(db: None, mailing: Any) -> None:
    most = developer_sign_in.EMAILS_PER_EMAIL_AND_DAY.most

    statuses = [ask_from(f"192.0.2.{number}") for number in range(most + 8)]

    assert statuses == [200] * (most + 8)
    assert len(mail.outbox) == most + 1 == 21  # then one every 15 minutes


def test_with_strangers_at_their_limit_a_developer_signs_in_by_an_email_that_a_stranger_requested(
    db: None, mailing: Any
) -> None:
    for number in range(developer_sign_in.EMAILS_PER_EMAIL_AND_DAY.most + 1):
        ask_from(f"192.0.2.{number}")
    sent = len(mail.outbox)
    browser = Client()

    page = text(browser.post(HOME, {"email": DEVELOPER}))

    assert "We have sent an e-mail to" in page
    assert len(mail.outbox) == sent
    second = Client()
    second.post(HOME, {"email": DEVELOPER})
    assert browser.get(emailed_link()).status_code == 303
    assert "Register an application" in text(browser.get(HOME))
    second.post(HOME, {"email": DEVELOPER})
    assert len(mail.outbox) == sent + 1, "once the link is used, another is sent"
    assert second.get(emailed_link()).status_code == 303


def test_with_strangers_at_their_limit_a_developers_known_browser_gets_emails(db: None, mailing: Any) -> None:
    browser = Client()
    browser.post(HOME, {"email": DEVELOPER})
    browser.get(emailed_link())
    browser.post(f"{HOME}sign-out/")
    for number in range(developer_sign_in.EMAILS_PER_EMAIL_AND_DAY.most + 1):
        ask_from(f"192.0.2.{number}")
    sent = len(mail.outbox)

    browser.post(HOME, {"email": DEVELOPER})

    assert len(mail.outbox) == sent + 1
    assert browser.get(emailed_link()).status_code == 303


def test_an_email_that_a_stranger_requested_signs_no_stranger_in(db: None, mailing: Any) -> None:
    stranger, developer = Client(), Client()
    stranger.post(HOME, {"email": DEVELOPER})
    developer.post(HOME, {"email": DEVELOPER})

    developer.get(emailed_link())

    assert "Send me a link" in text(stranger.get(HOME))
    assert "Register an application" in text(developer.get(HOME))


def test_a_link_is_good_only_for_the_address_that_this_browser_asked_with(db: None, mailing: Any) -> None:
    browser = Client()
    ask_from("192.0.2.66")
    browser.post(HOME, {"email": "other@shop.example"})

    stolen = re.findall(r"http\S+", str(mail.outbox[0].body))[0]
    assert browser.get(stolen.removeprefix("http://localhost:8000")).status_code == 410


def emailed_link() -> str:
    """The link in the newest e-mail."""
    found = re.search(r"http\S+", str(mail.outbox[-1].body))
    assert found
    return found[0].removeprefix("http://localhost:8000")


def test_failing_emails_count_for_their_client_address(db: None, settings: Any) -> None:
    with mail_server.running(settings) as server:
        settings.DEVELOPER_EMAIL_BACKEND = settings.MAIL_BACKEND
        server.refusing = "550 no such user"
        before = developer_sign_in.EMAILS_PER_CLIENT.left("192.0.2.66", now=timezone.now())
        for _ in range(3):
            ask_from("192.0.2.66")

    left = developer_sign_in.EMAILS_PER_CLIENT.left("192.0.2.66", now=timezone.now())
    assert before - left == 3


def test_an_email_that_the_mail_server_accepted_without_a_reply_is_counted(db: None, settings: Any) -> None:
    with mail_server.running(settings) as server:
        settings.DEVELOPER_EMAIL_BACKEND = settings.MAIL_BACKEND
        server.hanging_up_at = "DATA"
        statuses = [ask_from("192.0.2.66") for _ in range(6)]

    assert statuses == [200] * 6
    assert len(server.envelopes) == 4  # three, and then one more


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_concurrent_strangers_get_exactly_the_allowed_emails(mailing: Any) -> None:
    def ask(number: int) -> int:
        """Repeat the request while another one is sending the e-mail whose link would work."""
        for _ in range(500):
            if (status := ask_from(f"192.0.2.{number}")) != 429:
                return status
            time.sleep(0.01)
        raise AssertionError("the other request never ends")

    assert together(ask, 26) == [200] * 26
    assert len(mail.outbox) == 21


def test_requests_for_somebody_elses_address_use_up_the_requesters_allowance(db: None, mailing: Any) -> None:
    statuses = [ask_from("192.0.2.66") for _ in range(7)]

    assert statuses == [200] * 7
    assert len(mail.outbox) == 4  # three, and then one every 15 minutes
    assert ask_from("192.0.2.1") == 200
    assert len(mail.outbox) == 5


def test_emails_that_are_not_sent_do_not_count_for_all(
    db: None, mailing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    five = Limit("five-messages", most=5, window=timedelta(hours=1))
    monkeypatch.setattr(developer_sign_in, "EMAILS_IN_ALL", five)
    for _ in range(9):
        ask_from("192.0.2.66")

    assert ask_from("192.0.2.1", "other@shop.example") == 200
    assert ask_from("192.0.2.2", "third@shop.example") == 429


def test_a_developer_is_signed_in_for_two_hours(developer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert developer.cookies["developer"]["max-age"] == 7200
    assert "Register an application" in text(developer.get(HOME))

    monkeypatch.setattr(developer_sign_in, "SESSION_LIFETIME", timedelta(0))

    assert "Send me a link" in text(developer.get(HOME))


def test_changing_again_and_again_ends(developer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    few = Limit("few", most=1, window=timedelta(hours=1))
    monkeypatch.setattr(self_registrations, "CHANGES_PER_DEVELOPER", few)
    page = make(developer).headers["Location"]
    developer.post(page, CHOSEN | {"name": "Changed Once"})

    refused = developer.post(page, CHOSEN | {"name": "Changed Twice"})

    assert "That was too often." in text(refused)
    assert RelyingParty.objects.get().name.startswith("Changed Once")


def test_many_addresses_cannot_be_bombed_from_one_client(db: None, mailing: Any) -> None:
    most = developer_sign_in.EMAILS_PER_CLIENT.most
    for _ in range(most - 2):
        developer_sign_in.EMAILS_PER_CLIENT.take("127.0.0.1", now=timezone.now())
    statuses = [
        Client().post(HOME, {"email": f"victim{number}@shop.example"}).status_code for number in range(4)
    ]

    assert len(mail.outbox) == 2
    assert statuses[-1] == 429


@pytest.mark.slow
def test_three_clients_at_their_limit_do_not_keep_a_new_developer_out(db: None, mailing: Any) -> None:
    for client in range(3):
        while ask_from(f"192.0.2.{client}", f"{len(mail.outbox)}@shop.example") == 200:
            pass

    assert ask_from("198.51.100.1") == 200


def test_nor_from_many_clients(db: None, mailing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few = Limit("few-messages", most=2, window=timedelta(hours=1))
    monkeypatch.setattr(developer_sign_in, "EMAILS_IN_ALL", few)

    for number in range(4):
        Client(REMOTE_ADDR=f"192.0.2.{number}").post(HOME, {"email": f"victim{number}@shop.example"})

    assert len(mail.outbox) == 2


def test_no_email_contains_text_of_another_developer(db: None, mailing: Any) -> None:
    response = Client().post(HOME, {"email": "a@shop.example\nBcc: all@shop.example"})

    assert response.status_code == 422
    assert not mail.outbox


@pytest.mark.parametrize(
    "path", ["", "new/", "sign-out/", "{client_id}/", "{client_id}/secret/", "{client_id}/delete/"]
)
def test_no_form_is_taken_from_another_page(developer: Client, path: str) -> None:
    make(developer)
    address = HOME + path.format(client_id=RelyingParty.objects.get().client_id)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = developer.cookies

    assert strict.post(address, CHOSEN | {"email": DEVELOPER}).status_code == 403
    assert RelyingParty.objects.count() == 1


def test_one_developer_has_five_at_most(developer: Client) -> None:
    pages = [make(developer, name=f"Shop {number}") for number in range(6)]

    assert [page.status_code for page in pages] == [303] * 5 + [422]
    assert "You have 5 already." in text(pages[-1])


@pytest.mark.parametrize("limit", ["REGISTRATIONS_PER_CLIENT", "REGISTRATIONS_PER_DEVELOPER"])
def test_making_and_deleting_again_and_again_ends(
    developer: Client, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(self_registrations, limit, Limit("few", most=1, window=timedelta(days=1)))
    page = make(developer).headers["Location"]
    developer.post(f"{page}delete/")

    refused = make(developer)

    assert "That was too often." in text(refused)
    assert not RelyingParty.objects.exists()


def test_secrets_are_not_made_without_end(developer: Client) -> None:
    page = make(developer).headers["Location"]
    answers = [
        developer.post(f"{page}secret/") for _ in range(self_registrations.SECRETS_PER_DEVELOPER.most + 1)
    ]

    assert [answer.status_code for answer in answers[-2:]] == [200, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert "That was too often." in text(answers[-1])


def test_a_full_sandbox_takes_no_more(developer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_registrations, "MOST_IN_ALL", 1)
    make(developer)

    assert "This sandbox is full." in text(make(developer, name="Another"))


def test_what_an_operator_stopped_stays_stopped(developer: Client) -> None:
    page = make(developer).headers["Location"]
    registration.suspend(RelyingParty.objects.get(), "phishing")

    shown = text(developer.get(page))
    developer.post(page, CHOSEN | {"name": "Harmless"})

    assert "has stopped this application" in shown
    assert "phishing" not in shown
    assert developer.post(f"{page}delete/").status_code == 404
    assert developer.post(f"{page}secret/").status_code == 404
    assert RelyingParty.objects.get().state == RelyingParty.State.SUSPENDED


# --- Expiry -------------------------------------------------------------------------------------------------


def expire(**ago: int) -> None:
    SelfRegistration.objects.update(expires_at=timezone.now() - timedelta(**ago))


def test_what_is_neither_saved_nor_used_is_forgotten(developer: Client, acme_bank: RelyingParty) -> None:
    make(developer)
    kept_for = SelfRegistration.objects.get().expires_at - timezone.now()
    call_command("clear_expired")
    assert RelyingParty.objects.count() == 2

    expire(seconds=1)
    call_command("clear_expired")

    assert timedelta(days=89) < kept_for <= timedelta(days=90)
    assert RelyingParty.objects.get() == acme_bank


def test_saving_keeps_it_for_another_while(developer: Client) -> None:
    page = make(developer).headers["Location"]
    expire(days=1)

    developer.post(page, CHOSEN)
    call_command("clear_expired")

    assert RelyingParty.objects.exists()


def test_using_keeps_it_for_another_while(developer: Client, signing_key: Any) -> None:
    page = text(developer.get(make(developer).headers["Location"]))
    ready = re.search(r'<a href="([^"]+/authorize\?[^"]+)">', page)
    assert ready
    Client().post("/sandbox/holder", {"authorize_url": ready[1]}, content_type="application/json")
    expire(seconds=1)

    call_command("clear_expired", batch=1)

    used = Interaction.objects.get().created_at
    assert SelfRegistration.objects.get().expires_at == used + self_registrations.KEPT


def test_receipts_outlive_it(developer: Client, signing_key: Any) -> None:
    test_using_keeps_it_for_another_while(developer, signing_key)
    Interaction.objects.update(created_at=timezone.now() - timedelta(days=100))
    expire(seconds=1)

    call_command("clear_expired")

    assert not RelyingParty.objects.exists()
    assert Consent.objects.get().requester["name"] == "My Shop (sandbox, unverified)"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_make_one(transactional_db: None) -> None:
    developer = signed_in()
    statuses = []

    def click() -> None:
        try:
            browser = Client()
            browser.cookies = developer.cookies
            statuses.append(make(browser).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(statuses) == [303, 422, 422, 422]
    assert RelyingParty.objects.count() == 1
