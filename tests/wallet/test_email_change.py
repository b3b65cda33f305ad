"""Changing the e-mail address: both mailboxes are proved, and the old one can undo it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from infra.limits import LimitReachedError
from infra.mail.models import OutgoingEmail
from tests.people import ALICE, BOB
from tests.wallet import mail_server
from tests.wallet.browser_redirect_tasks import SECRET, make_redirect_task
from tests.wallet.conftest import code_in, masked, passkey_of, together
from wallet.account.address import changes, undoing
from wallet.account.address.changes import UNDO_FOR, AddressTakenError
from wallet.account.address.undoing import UndoGoneError
from wallet.account.closing import closures, sweeping
from wallet.models import (
    EmailChange,
    FormerAddress,
    HolderSession,
    LoginCode,
    LoginLink,
    Passkey,
    Recovery,
    Wallet,
    WalletClosure,
)
from wallet.sign_in import codes as sign_in
from wallet.sign_in import known_browsers, reserved_addresses
from wallet.sign_in.allowances import CODES_PER_CLIENT, TRIES_PER_CLIENT
from wallet.sign_in.codes import NoCodeError, WalletSuspendedError, WrongCodeError
from wallet.sign_in.reserved_addresses import AddressReservedError

pytestmark = pytest.mark.slow

BEGIN, CONFIRM = reverse("wallet_email_change"), reverse("wallet_email_change_confirm")
DONE = reverse("wallet_email_change_done")
NEW = "alice.archer@example.net"
BROWSER, CLIENT = "b" * 64, "192.0.2.1"
DAY = timedelta(days=1)


def ask(wallet, now, email=NEW, browser=BROWSER):
    """Have a code sent to the new address, and return it."""
    changes.ask(wallet, email, browser=browser, client=CLIENT, now=now)
    return code_in(mail.outbox[-1].body)


def confirm(wallet, code, now, browser=BROWSER):
    return changes.confirm(wallet, code, browser=browser, client=CLIENT, now=now)


def change(wallet, now, email=NEW):
    """Change the address, and return the secret of the link in the e-mail to the old one."""
    confirm(wallet, ask(wallet, now, email), now)
    wallet.refresh_from_db()
    return secret_in(mail.outbox[-1])


def secret_in(message):
    (found,) = re.findall(r"/wallet/address-undo/([\w-]+)/", message.body)
    return found


def wrong(code):
    return f"{(int(code) + 1) % 1_000_000:06}"


@pytest.fixture
def at_home(client, alice, sign_in):
    """Alice has just signed in to the test client."""
    client.cookies[settings.BROWSER_COOKIE_NAME] = SECRET
    return sign_in(alice)


# --- On the pages ---------------------------------------------------------------------------------------


def test_a_code_from_the_new_mailbox_changes_the_address_right_after_a_sign_in(client, alice, at_home):
    response = client.post(BEGIN, {"email": NEW.upper()})
    assert (response.status_code, response.url) == (303, CONFIRM)
    assert mail.outbox[-1].to == [NEW]
    code = code_in(mail.outbox[-1].body)
    response = client.post(CONFIRM, {"code": code})
    assert (response.status_code, response.url) == (303, DONE)
    text = client.get(DONE).content.decode()
    assert NEW in text
    assert ALICE in text
    alice.refresh_from_db()
    assert alice.email == NEW
    assert mail.outbox[-1].to == [ALICE]
    assert secret_in(mail.outbox[-1])
    assert alice.credential.state == "valid"  # what belongs to the wallet stays


def test_everything_needs_a_sign_in(client, db):
    for address in (BEGIN, CONFIRM, DONE):
        response = client.get(address)
        assert (response.status_code, response.url) == (303, reverse("wallet_front_door"))


def test_a_thief_with_a_stolen_session_has_to_prove_the_present_mailbox_first(client, alice, sign_in):
    sign_in(alice, ago=timedelta(minutes=6))
    for response in (client.get(BEGIN), client.post(BEGIN, {"email": NEW})):
        assert response.url.endswith("/sign-in/")
        assert "Confirm that it is you" in client.get(response.url).content.decode()
    assert mail.outbox == []
    assert not EmailChange.objects.exists()


def test_proving_the_present_mailbox_leads_back_to_the_change(client, alice, sign_in):
    client.cookies[settings.BROWSER_COOKIE_NAME] = SECRET
    sign_in(alice, ago=timedelta(minutes=6))
    response = client.get(BEGIN)
    response = client.post(response.url)  # the page that sends the code
    assert mail.outbox[-1].to == [ALICE]
    response = client.post(response.url, {"code": code_in(mail.outbox[-1].body)})
    assert (response.status_code, response.url) == (303, BEGIN)
    assert 'name="email"' in client.get(BEGIN).content.decode()


def test_the_pages_are_the_same_whether_or_not_the_address_has_a_wallet(client, alice, bob, at_home):
    pages = []
    for email in (NEW, BOB):
        EmailChange.objects.all().delete()
        from infra.models import Allowance

        Allowance.objects.all().delete()
        response = client.post(BEGIN, {"email": email})
        assert (response.status_code, response.url) == (303, CONFIRM)
        asked = client.get(CONFIRM)
        tried = client.post(CONFIRM, {"code": "000000"})
        pages.append([masked(asked, email), masked(tried, email), tried.status_code, len(mail.outbox)])
    assert pages[0][:3] == pages[1][:3]
    assert [page[3] for page in pages] == [1, 2]  # one e-mail each, so they take the same time


def test_a_taken_address_costs_the_same_queries(alice, bob, now, django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for wallet, email in ((alice, BOB), (bob, NEW)):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            changes.ask(wallet, email, browser=BROWSER, client=CLIENT, now=now)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_mailbox_of_a_taken_address_is_told_and_gets_no_code(alice, bob, now):
    changes.ask(alice, BOB, browser=BROWSER, client=CLIENT, now=now)
    assert mail.outbox[-1].to == [BOB]
    assert not re.search(r"\d{6}", mail.outbox[-1].body)
    assert ALICE not in mail.outbox[-1].body
    assert Wallet.objects.get(id=bob.id).email == BOB


def test_the_present_address_and_addresses_without_a_mailbox_are_refused(client, at_home):
    for email in (
        ALICE,
        ALICE.upper(),
        "",
        "x",
        "a b@example.org",
        "ä@example.org",
        "a@b\r\nCc: c@d.example",
    ):
        response = client.post(BEGIN, {"email": email})
        assert response.status_code == 422, email
        assert "<title>Error:" in response.content.decode()
    assert mail.outbox == []


def test_a_wrong_code_says_how_many_tries_are_left_and_five_end_it(client, alice, at_home):
    client.post(BEGIN, {"email": NEW})
    code = code_in(mail.outbox[-1].body)
    for expected in ("4 more times", "3 more times", "2 more times", "once more", "no longer works"):
        response = client.post(CONFIRM, {"code": wrong(code)})
        assert response.status_code == 422
        assert expected in response.content.decode()
    response = client.post(CONFIRM, {"code": code})
    assert (response.status_code, response.url) == (303, BEGIN)
    assert Wallet.objects.get().email == ALICE


def test_too_many_codes_show_when_to_try_again(client, at_home):
    assert client.post(BEGIN, {"email": NEW}).status_code == 303
    response = client.post(BEGIN, {"email": NEW})
    assert response.status_code == 429
    assert 0 < int(response.headers["Retry-After"]) <= 60
    assert "<time" in response.content.decode()


@pytest.mark.parametrize("taken", [False, True])
def test_the_page_says_what_became_of_the_email_whoever_has_the_address(
    client, at_home, bob, settings, taken
):
    with mail_server.running(settings) as server:
        server.refusing = "550 no such user"
        client.post(BEGIN, {"email": BOB if taken else NEW})
    text = client.get(CONFIRM).content.decode()
    assert "<strong>The e-mail could not be sent.</strong>" in text
    assert OutgoingEmail.objects.get().urgent, "no difference in time either"


# --- The rules ------------------------------------------------------------------------------------------


def test_a_code_works_once_for_ten_minutes_and_in_its_browser_only(alice, now):
    code = ask(alice, now)
    with pytest.raises(NoCodeError):
        confirm(alice, code, now, browser="c" * 64)
    with pytest.raises(NoCodeError):
        confirm(alice, code, now, browser=None)
    with pytest.raises(NoCodeError):
        confirm(alice, code, now + timedelta(minutes=10))
    confirm(alice, code, now)
    with pytest.raises(NoCodeError):
        confirm(alice, code, now)


def test_a_code_of_another_wallet_or_address_is_wrong(alice, bob, now):
    first = ask(alice, now)
    ask(bob, now, "bob.baker@example.net")
    with pytest.raises(WrongCodeError):
        confirm(bob, first, now)


def test_a_new_code_ends_the_one_before(alice, now):
    first = ask(alice, now)
    later = now + timedelta(minutes=2)
    second = ask(alice, later, "other@example.net")
    if first != second:
        with pytest.raises(WrongCodeError):
            confirm(alice, first, later)
    confirm(alice, second, later)


def test_ten_codes_a_day_and_three_changes(alice, now):
    noon = now.replace(hour=6)
    for number in range(10):
        ask(alice, noon + number * timedelta(minutes=16), f"a{number}@example.net")
    with pytest.raises(LimitReachedError):
        ask(alice, noon + timedelta(hours=5), "b@example.net")


def test_a_fourth_change_on_one_day_is_refused(alice, now):
    noon = now.replace(hour=6)
    for number in range(3):
        change(alice, noon + number * timedelta(minutes=16), f"a{number}@example.net")
    with pytest.raises(LimitReachedError):
        change(alice, noon + timedelta(hours=2), "b@example.net")
    assert Wallet.objects.get().email == "a2@example.net"


def test_one_client_address_cannot_flood_mailboxes(alice, now):
    for _ in range(CODES_PER_CLIENT.most):
        CODES_PER_CLIENT.take(CLIENT, now=now)
    with pytest.raises(LimitReachedError):
        ask(alice, now)
    assert mail.outbox == []


def test_one_client_address_cannot_guess_without_end(alice, now):
    code = ask(alice, now)
    for _ in range(TRIES_PER_CLIENT.most):
        TRIES_PER_CLIENT.take(CLIENT, now=now)
    with pytest.raises(LimitReachedError):
        confirm(alice, code, now)


def test_a_suspended_wallet_keeps_its_address(alice, now):
    code = ask(alice, now)
    Wallet.objects.update(state="suspended")
    with pytest.raises(WalletSuspendedError):
        confirm(alice, code, now)
    assert Wallet.objects.get().email == ALICE


def test_all_other_browsers_are_signed_out(client, alice, at_home, sign_in):
    other = Client()
    sign_in(alice, browser=other)
    client.post(BEGIN, {"email": NEW})
    client.post(CONFIRM, {"code": code_in(mail.outbox[-1].body)})
    assert HolderSession.objects.count() == 1
    assert client.get(reverse("wallet_security")).status_code == 200
    assert other.get(reverse("wallet_security")).status_code == 303


def test_codes_and_links_for_the_old_address_stop_working(client, alice, now):
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    sign_in.send_code(redirect_task, client=CLIENT, now=now)
    old = code_in(mail.outbox[-1].body)
    LoginLink.objects.create(digest="d" * 64, email=ALICE, expires_at=now + DAY)
    change(alice, now)
    assert not LoginCode.objects.exists()
    assert not LoginLink.objects.exists()
    with pytest.raises(NoCodeError):
        sign_in.redeem(redirect_task, old, client=CLIENT, now=now)


def test_the_browser_is_known_by_the_new_address(alice, now):
    change(alice, now)
    assert known_browsers.is_known(BROWSER, NEW, now=now)


def test_a_request_for_the_old_address_is_not_a_dead_end(client, alice, now):
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    change(alice, now)
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    page = client.post(
        reverse("wallet_code", args=[redirect_task.id]), {"code": code_in(mail.outbox[-1].body)}
    )
    text = page.content.decode()
    assert page.status_code == 403
    assert "Return to Acme Bank" in text
    assert "Tell Acme Bank your new one" in text
    assert NEW not in text
    assert Wallet.objects.count() == 1


def test_nobody_else_gets_the_old_address_while_the_change_can_be_undone(client, alice, bob, now):
    change(alice, now)
    changes.ask(bob, ALICE, browser=BROWSER, client=CLIENT, now=now)
    assert "cannot be used" in mail.outbox[-1].subject
    with pytest.raises(AddressTakenError):
        changes.set_address(bob, ALICE, now=now)
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    sign_in.send_code(redirect_task, client=CLIENT, now=now)
    with pytest.raises(AddressReservedError):
        sign_in.redeem(redirect_task, code_in(mail.outbox[-1].body), client=CLIENT, now=now)
    assert not Wallet.objects.filter(email=ALICE).exists()


def test_after_seven_days_the_old_address_is_free(client, alice, now):
    change(alice, now)
    later = now + UNDO_FOR
    redirect_task = make_redirect_task(client, now=later, email=ALICE)
    sign_in.send_code(redirect_task, client=CLIENT, now=later)
    opened = sign_in.redeem(redirect_task, code_in(mail.outbox[-1].body), client=CLIENT, now=later)
    assert opened != alice


def test_the_holder_may_go_back_to_the_old_address_on_their_own(alice, now):
    change(alice, now)
    change(alice, now + timedelta(minutes=20), ALICE)
    assert Wallet.objects.get().email == ALICE


# --- Undoing --------------------------------------------------------------------------------------------


def test_opening_the_link_changes_nothing_and_posting_undoes(client, alice, now):
    address = reverse("wallet_email_change_undo", args=[change(alice, now)])
    for method in (client.get, client.head, client.get):
        assert method(address).status_code == 200
    assert Wallet.objects.get().email == NEW
    response = client.post(address, follow=True)
    assert response.redirect_chain == [(address, 303)]
    assert response.status_code == 200
    assert "The change is undone" in response.content.decode()
    assert Wallet.objects.get().email == ALICE
    assert mail.outbox[-1].to == [NEW]


def test_the_page_that_says_so_stays_while_it_is_true(client, alice, now):
    """It is read again, and read in another language, without undoing anything twice."""
    address = reverse("wallet_email_change_undo", args=[change(alice, now)])
    client.post(address)
    messages = len(mail.outbox)
    for again in (client.get(address), client.get(address, headers={"accept-language": "es"})):
        assert again.status_code == 200
        assert ALICE in again.content.decode()
    assert "The change is undone" in client.post(address).content.decode()  # a second click
    assert len(mail.outbox) == messages
    alice.refresh_from_db()
    change(alice, now + timedelta(hours=1))
    assert client.get(address).status_code == 410


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_link_says_nothing_of_what_another_one_undid(client, alice, now, method):
    first = change(alice, now)
    second = change(alice, now + timedelta(minutes=20), "third@example.net")
    undoing.undo(first, now=now + timedelta(minutes=21))
    response = getattr(client, method)(reverse("wallet_email_change_undo", args=[second]))
    assert response.status_code == 410
    assert ALICE not in response.content.decode()


def test_undoing_signs_out_every_browser_and_ends_a_change_under_way(alice, now, sign_in):
    secret = change(alice, now)
    sign_in(alice)
    code = ask(alice, now + timedelta(minutes=2), "third@example.net")
    undoing.undo(secret, now=now + timedelta(minutes=3))
    assert not HolderSession.objects.exists()
    with pytest.raises(NoCodeError):
        confirm(alice, code, now + timedelta(minutes=3))


def test_undoing_removes_the_passkeys_that_were_added_since_and_keeps_the_others(alice, now):
    passkey_of(alice, "of the holder", now - DAY)
    secret = change(alice, now)
    passkey_of(alice, "of the thief, earlier in the same session", now - timedelta(minutes=1))
    passkey_of(alice, "of the thief", now)
    passkey_of(alice, "of the thief, later", now + DAY)
    undoing.undo(secret, now=now + 2 * DAY)
    assert [passkey.name for passkey in Passkey.objects.all()] == ["of the holder"]


def test_the_address_of_a_wallet_that_is_about_to_close_stays(client, alice, at_home, now):
    code = ask(alice, now)
    closures.ask(alice, now=now)
    for response in (client.get(BEGIN), client.post(BEGIN, {"email": NEW})):
        assert (response.status_code, response.url) == (303, reverse("wallet_close"))
    with pytest.raises(WalletSuspendedError):
        confirm(alice, code, now)
    assert Wallet.objects.get().email == ALICE


def test_undoing_a_change_keeps_a_wallet_that_was_to_close_since(alice, now):
    secret = change(alice, now, "thief@example.net")
    closures.ask(alice, now=now)  # by the thief
    undoing.undo(secret, now=now + timedelta(hours=3))
    kept = Wallet.objects.get()
    assert (kept.email, kept.closes_at) == (ALICE, None)
    assert sweeping.sweep(now=now + 2 * DAY)["closed wallets"] == 0


def test_undoing_a_change_does_not_keep_a_wallet_that_an_operator_closes(alice, now):
    secret = change(alice, now, "thief@example.net")
    closures.ask(alice, now=now, operator_id=7, reason=WalletClosure.Reason.ABUSE)

    undoing.undo(secret, now=now + timedelta(hours=3))

    closing = Wallet.objects.get()
    assert (closing.email, closing.closes_at) == (ALICE, now + DAY)
    assert WalletClosure.objects.get().undone_at is None
    assert sweeping.sweep(now=now + DAY)["closed wallets"] == 1


def test_a_wallet_closes_once_the_last_of_several_changes_cannot_be_undone(alice, now):
    change(alice, now - 6 * DAY, "second@example.net")
    change(alice, now - 2 * DAY, "third@example.net")

    assert closures.earliest(alice, now=now) == now - 2 * DAY + UNDO_FOR
    assert closures.earliest(alice, now=now + 5 * DAY) == now + 6 * DAY


def test_who_changes_the_address_and_then_closes_waits_until_that_cannot_be_undone(client, alice, sign_in):
    change(alice, timezone.now())
    sign_in(Wallet.objects.get())
    before = client.get(reverse("wallet_close")).content.decode()
    assert "You have a day" not in before
    assert "After a day" not in before
    client.post(reverse("wallet_close"))
    closes_at = Wallet.objects.get().closes_at
    for page in (
        before,
        *(client.get(reverse(name)).content.decode() for name in ("wallet_close", "wallet_home")),
    ):
        assert f'datetime="{closes_at.isoformat()}"' in page
    assert closes_at == FormerAddress.objects.get().expires_at
    assert sweeping.sweep(now=closes_at - timedelta(seconds=1))["closed wallets"] == 0


def test_nothing_brings_back_the_address_of_a_closed_wallet(client, alice, now):
    secret = change(alice, now - DAY)
    code = ask(alice, now - timedelta(minutes=1), "third@example.net")
    closures.ask(alice, now=now - DAY)
    assert closures.close(WalletClosure.objects.get(), now=now)
    assert client.post(reverse("wallet_email_change_undo", args=[secret])).status_code == 410
    with pytest.raises(NoCodeError):
        confirm(alice, code, now)
    assert Wallet.objects.get().email == f"closed:{alice.id}"
    reserved_addresses.check(ALICE, now=now)  # the address it had before is free as well


def test_the_browsers_that_signed_in_with_the_old_address_are_forgotten(alice, now):
    known_browsers.remember("a" * 64, ALICE, now=now)
    change(alice, now)
    assert not known_browsers.is_known("a" * 64, ALICE, now=now)


@pytest.mark.parametrize("secret", ["x", "x" * 22, "x" * 200, "%25", "ü"])
def test_an_unknown_link_is_gone(client, db, secret):
    response = client.post(f"/wallet/address-undo/{secret}/")
    assert response.status_code == 410


def test_a_link_undoes_once_and_for_seven_days(client, alice, now):
    secret = change(alice, now)
    with pytest.raises(UndoGoneError):
        undoing.undo(secret, now=now + UNDO_FOR)
    undoing.undo(secret, now=now + UNDO_FOR - timedelta(seconds=1))
    with pytest.raises(UndoGoneError):
        undoing.undo(secret, now=now)
    assert "is undone" in client.get(reverse("wallet_email_change_undo", args=[secret])).content.decode()
    FormerAddress.objects.update(expires_at=now)
    assert client.get(reverse("wallet_email_change_undo", args=[secret])).status_code == 410


def test_the_first_mailbox_undoes_a_chain_of_changes_and_the_thief_cannot_undo_that(alice, now):
    of_alice = change(alice, now, "thief@example.net")
    of_thief = change(alice, now + timedelta(minutes=20), "thief2@example.net")
    undoing.undo(of_alice, now=now + timedelta(minutes=30))
    assert Wallet.objects.get().email == ALICE
    with pytest.raises(UndoGoneError):
        undoing.undo(of_thief, now=now + timedelta(minutes=31))
    assert Wallet.objects.get().email == ALICE


def test_an_address_that_another_wallet_has_against_the_rule_is_not_taken_from_it(client, alice, now):
    secret = change(alice, now)
    Wallet.objects.create(email=ALICE, created_at=now)
    response = client.post(reverse("wallet_email_change_undo", args=[secret]))
    assert response.status_code == 409
    alice.refresh_from_db()
    assert alice.email == NEW
    assert FormerAddress.objects.get().closed_at is None


def test_a_change_of_address_stops_a_move_of_the_wallet(alice, bob, now):
    Recovery.objects.create(old=alice, new=bob, state="waiting", asked_at=now, due_at=now + DAY)
    change(alice, now)
    assert Recovery.objects.get().state == "stopped"


def test_nothing_in_the_log_names_an_address(alice, now, capsys):
    undoing.undo(change(alice, now), now=now)
    said = "".join(capsys.readouterr())
    assert "address_change_undone" in said
    assert "example" not in said


def test_the_old_address_is_erased_when_nothing_can_be_undone_any_more(alice, now):
    from django.core.management import call_command

    change(alice, now - UNDO_FOR - timedelta(minutes=1))
    call_command("clear_expired")
    assert not FormerAddress.objects.exists()
    assert not EmailChange.objects.exists()


# --- Races ----------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_code_that_is_sent_twice_at_once_changes_the_address_once(alice, now):
    code = ask(alice, now)
    results = together(lambda _: confirm(alice, code, now), 4)
    assert results.count(None) == 1
    assert FormerAddress.objects.count() == 1
    assert all(isinstance(result, NoCodeError | None) for result in results)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_wallets_that_want_one_address_at_once_one_gets_it(alice, bob, now):
    codes = [ask(wallet, now) for wallet in (alice, bob)]
    results = together(lambda number: confirm((alice, bob)[number], codes[number], now), 2)
    assert sorted(type(result).__name__ for result in results) == ["AddressTakenError", "NoneType"]
    assert Wallet.objects.filter(email=NEW).count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_guesses_at_once_have_five_tries_together(alice, now):
    code = ask(alice, now)
    results = together(lambda _: confirm(alice, wrong(code), now), 8)
    assert sum(isinstance(result, WrongCodeError) for result in results) == 5
    assert sum(isinstance(result, NoCodeError) for result in results) == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_undo_and_a_further_change_at_once_leave_one_address(alice, now):
    secret = change(alice, now, "thief@example.net")
    later = now + timedelta(minutes=20)
    code = ask(alice, later, "thief2@example.net")

    def act(number: int) -> Any:
        if number:
            return confirm(alice, code, later)
        return undoing.undo(secret, now=later)

    results = together(act, 2)
    assert results[0] is None
    assert Wallet.objects.get().email == ALICE
    assert not FormerAddress.objects.filter(closed_at=None).exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_posted_twice_at_once_undoes_once(alice, now):
    secret = change(alice, now)
    results = together(lambda _: undoing.undo(secret, now=now), 4)
    assert results.count(None) == 1
    assert sum(isinstance(result, UndoGoneError) for result in results) == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_sign_in_with_the_old_address_during_the_change_opens_no_wallet(client, alice, now):
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    code = ask(alice, now)
    sign_in.send_code(redirect_task, client=CLIENT, now=now)
    to_old = code_in(mail.outbox[-1].body)

    def act(number: int) -> Any:
        if number:
            return confirm(alice, code, now)
        return sign_in.redeem(redirect_task, to_old, client=CLIENT, now=now)

    together(act, 2)
    assert Wallet.objects.count() == 1
    connections.close_all()
