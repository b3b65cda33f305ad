"""The limits of sign-in: no stranger can keep a holder from signing in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail

from infra.limits import LimitReachedError
from infra.mail.models import OutgoingEmail
from infra.mail.outbox import SendingState
from infra.models import Allowance
from tests.people import ALICE, NORA
from tests.wallet import mail_server
from tests.wallet.conftest import code_in, together
from tests.wallet.requesting_codes import HOME, asks, browser, newest_link, redirect_task_of, strangers_use_up
from wallet.models import LoginCode, LoginLink, RedirectTask
from wallet.sign_in import allowances, known_browsers, links
from wallet.sign_in import codes as sign_in
from wallet.sign_in.codes import TooSoonError, WrongCodeError

pytestmark = pytest.mark.slow


@pytest.fixture
def now(now: datetime) -> datetime:
    """The beginning of the present quarter of an hour, so that no window of 15 minutes ends within a test."""
    return now.replace(minute=now.minute // 15 * 15, second=1)


NIGHT = datetime(2026, 3, 1, 23, 55, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def got_a_code(redirect_task: RedirectTask) -> bool:
    """Whether the redirect task waits for a code; otherwise for a link."""
    assert (redirect_task.link_until is None) == LoginCode.objects.filter(
        redirect_task=redirect_task
    ).exists()
    return redirect_task.link_until is None


def newest_code() -> str:
    return code_in(mail.outbox[-1].body)


def signs_in(name: object, now: datetime, *, client: str = HOME) -> None:
    """The browser signs in with the code from the e-mail, which makes it known."""
    redirect_task = asks(name, now, client=client)
    assert sign_in.redeem(redirect_task, newest_code(), client=client, now=now).email == NORA


def strangers_ask_until_none_is_left(now: datetime) -> list[RedirectTask]:
    """Attackers in twenty networks request codes; the last of these redirect tasks waits for a link."""
    redirect_tasks = []
    while not redirect_tasks or got_a_code(redirect_tasks[-1]):
        number = len(redirect_tasks)
        redirect_tasks.append(asks(f"stranger {number}", now, client=f"192.0.2.{number}"))
    return redirect_tasks


# --- Allowances --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_office_that_shares_one_address_is_not_refused(db, now):
    for number in range(150):
        asks(number, now, email=f"person{number}@example.org")
    assert len(mail.outbox) == 150


def test_one_client_address_gets_five_codes_for_a_mailbox_and_then_a_link(db, now):
    for number in range(5):
        assert got_a_code(asks(number, now))
    assert not got_a_code(asks("sixth", now))
    assert got_a_code(asks("somewhere else", now, client="198.51.100.1"))
    assert got_a_code(asks("for somebody else", now, email=ALICE))


def test_an_address_that_cannot_be_read_limits_nobody_but_the_mailbox_still_has_its_limit(db, now):
    for number in range(allowances.CODES_TO_STRANGERS.most):
        assert got_a_code(asks(number, now, client=None))
    assert not got_a_code(asks("one more", now, client=None))
    assert not got_a_code(asks("one more, elsewhere", now, client="192.0.2.1"))
    assert got_a_code(asks("for somebody else", now, email=ALICE, client=None))


def test_strangers_of_all_networks_get_twenty_codes_in_any_twenty_four_hours(db):
    assert len(strangers_ask_until_none_is_left(NIGHT)) == 21
    for later in (5 * MINUTE, timedelta(hours=12), timedelta(hours=24)):  # also across midnight
        assert not got_a_code(asks(f"stranger {later}", NIGHT + later, client="198.51.100.1"))
    assert got_a_code(asks("late", NIGHT + timedelta(days=1, minutes=10), client="198.51.100.1"))


def test_strangers_of_all_networks_get_a_hundred_guesses_at_a_mailbox(db, now):
    guesses = 0
    for redirect_task in strangers_ask_until_none_is_left(now):
        for number in range(7):
            try:
                sign_in.redeem(redirect_task, "no code", client=f"198.51.100.{guesses}", now=now)
            except WrongCodeError:
                guesses += 1
            except sign_in.NoCodeError:
                assert number >= 5 or not got_a_code(redirect_task)
    assert guesses == 100


def test_a_client_address_without_end_of_requests_has_to_wait(db, now, monkeypatch):
    few = replace(allowances.CODES_PER_CLIENT, most=2)
    monkeypatch.setattr(allowances, "CODES_PER_CLIENT", few)
    few_links = replace(allowances.LINKS_PER_CLIENT, most=2)
    monkeypatch.setattr(links, "LINKS_PER_CLIENT", few_links)
    for number in range(4):
        assert got_a_code(asks(number, now, email=f"person{number}@example.org")) == (number < 2)
    assert not got_a_code(asks("a link is there", now, email="person3@example.org"))
    with pytest.raises(LimitReachedError) as reached:
        asks("third", now)
    assert now < reached.value.retry_at <= now + 15 * MINUTE
    assert len(mail.outbox) == 4
    assert Allowance.objects.filter(expires_at=now + 15 * MINUTE).count() == 2  # the third was given back


def test_a_new_browser_gets_in_by_link_when_its_client_address_has_no_codes_left(db, now):
    for _ in range(allowances.CODES_PER_CLIENT.most):
        allowances.CODES_PER_CLIENT.take(HOME, now=now)
    redirect_task = asks("new", now)
    assert not got_a_code(redirect_task)
    assert sign_in.redeem_link(redirect_task, newest_link(), now=now).email == NORA


def test_only_wrong_codes_of_strangers_count_for_their_client_address(db, now, monkeypatch):
    few = replace(allowances.TRIES_PER_CLIENT, most=2)
    monkeypatch.setattr(sign_in, "TRIES_PER_CLIENT", few)
    signs_in("known", now)
    signs_in("other", now)
    assert few.left(HOME, now=now) == 2
    redirect_task = asks("known", now + MINUTE)
    for _ in range(3):
        with pytest.raises(WrongCodeError):
            sign_in.redeem(redirect_task, "no code", client=HOME, now=now + MINUTE)
    redirect_task = asks("stranger", now)
    for _ in range(2):
        with pytest.raises(WrongCodeError):
            sign_in.redeem(redirect_task, "no code", client=HOME, now=now)
    with pytest.raises(LimitReachedError):
        sign_in.redeem(redirect_task, newest_code(), client=HOME, now=now)
    assert LoginCode.objects.get(redirect_task=redirect_task).tries_left == 3  # the code was not compared
    assert sign_in.redeem(redirect_task, newest_code(), client="198.51.100.1", now=now)


# --- Strangers at their limit ------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["", HOME], ids=["from twenty networks", "from the holder's network"])
def test_with_strangers_at_their_limit_the_holders_own_browser_gets_in(db, now, client):
    signs_in("own", now)
    strangers_use_up(now, client=client)
    redirect_task = asks("own", now + MINUTE)
    assert got_a_code(redirect_task)
    assert sign_in.redeem(redirect_task, newest_code(), client=HOME, now=now + MINUTE)


@pytest.mark.parametrize("client", ["", HOME], ids=["from twenty networks", "from the holder's network"])
def test_with_strangers_at_their_limit_a_new_browser_gets_in_though_an_attacker_had_the_email_sent(
    db, now, client
):
    attacker = strangers_use_up(now, client=client)
    sent = len(mail.outbox)
    redirect_task = asks("new", now + MINUTE)
    assert len(mail.outbox) == sent  # the attacker's request has sent it
    opened = links.redirect_task_for(newest_link(), browser=browser("new"), now=now + 2 * MINUTE)
    assert opened == redirect_task != attacker
    assert sign_in.redeem_link(opened, newest_link(), now=now + 2 * MINUTE).email == NORA
    assert got_a_code(asks("new", now + 3 * MINUTE))  # after which it is known


def test_a_browser_that_asks_at_the_last_moment_still_has_time_to_open_the_link(db, now):
    strangers_use_up(now)
    late = now + 15 * MINUTE - timedelta(seconds=1)
    redirect_task = asks("new", late)
    assert redirect_task.link_until == now + 30 * MINUTE
    assert (
        links.redirect_task_for(newest_link(), browser=browser("new"), now=late + 10 * MINUTE)
        == redirect_task
    )


def test_at_most_one_link_is_sent_in_a_quarter_of_an_hour_wherever_it_begins(db, now):
    strangers_use_up(now)
    sent = len(mail.outbox)
    for number, later in enumerate((1, 14.99, 15, 16, 29.99, 30)):
        asks(f"later {number}", now + later * MINUTE, client=f"198.51.100.{number}")
    assert len(mail.outbox) == sent + 2


def test_a_second_new_browser_gets_a_link_of_its_own_once_the_first_has_used_the_one_that_was_sent(db, now):
    strangers_use_up(now)
    waiting = [asks(name, now) for name in ("first", "second")]
    sign_in.redeem_link(waiting[0], newest_link(), now=now)
    sent = len(mail.outbox)
    sign_in.send_code(waiting[1], client=HOME, now=now + MINUTE)
    assert len(mail.outbox) == sent + 1
    assert sign_in.redeem_link(waiting[1], newest_link(), now=now + MINUTE).email == NORA


def test_a_known_browser_that_has_used_up_its_allowance_gets_a_link_as_well(db, now):
    signs_in("own", now)
    for number in range(5):
        assert got_a_code(asks("own", now + number * timedelta(seconds=1)))
    assert not got_a_code(asks("own", now + MINUTE))
    assert got_a_code(asks("stranger", now))  # their allowances were not used


def test_a_browser_is_known_for_one_address_and_for_half_a_year(db, now):
    signs_in("own", now)
    assert known_browsers.is_known(browser("own"), NORA, now=now + timedelta(days=179))
    assert not known_browsers.is_known(browser("own"), NORA, now=now + timedelta(days=181))
    assert not known_browsers.is_known(browser("own"), ALICE, now=now)
    assert not known_browsers.is_known(browser("other"), NORA, now=now)
    assert not known_browsers.is_known(browser("own"), NORA, now=now, purpose=known_browsers.DEVELOPER)
    assert not known_browsers.is_known(None, NORA, now=now)


def test_a_code_again_ends_the_wait_for_a_link(db, now):
    redirect_task = strangers_use_up(now)
    Allowance.objects.all().delete()
    sign_in.send_code(redirect_task, client=HOME, now=now + MINUTE)
    redirect_task.refresh_from_db()
    assert got_a_code(redirect_task)


def test_a_link_ends_the_code_before_it(db, now):
    redirect_task = asks("new", now)
    strangers_use_up(now)
    sign_in.send_code(redirect_task, client="192.0.2.1", now=now + MINUTE)
    assert not got_a_code(redirect_task)
    assert not sign_in.code_pending(redirect_task, now=now + MINUTE)
    assert sign_in.link_pending(redirect_task, now=now + MINUTE)


def test_nothing_of_it_depends_on_whether_there_is_a_wallet(db, alice, now, statements):
    texts = {}
    for email in (ALICE, "nobody@example.org"):
        seen = []
        for number in range(22):
            redirect_task = redirect_task_of(number, now, email)
            with statements() as made:
                sign_in.send_code(redirect_task, client=f"192.0.2.{number}", now=now)
            seen.append([text.split(" ")[:3] for text in made.texts])
        texts[email] = seen, [(message.subject, len(message.body)) for message in mail.outbox]
        mail.outbox.clear()
    assert texts[ALICE] == texts["nobody@example.org"]


# --- E-mails that are not sent -----------------------------------------------------------------------------


@pytest.fixture(params=["a closed port", "a refused recipient", "a full mailbox"])
def broken_mail(request, settings):
    """A mail server that refuses e-mail after this is called."""
    with mail_server.running(settings) as server:
        port = settings.MAIL_SERVER["port"]
        settings.MAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

        def broken():
            mail_server.point_at(settings, port=1 if request.param == "a closed port" else port)
            server.refusing = "452 mailbox full" if request.param == "a full mailbox" else "550 no such user"

        yield broken


def test_an_e_mail_that_cannot_be_sent_counts_like_any_other(db, now, broken_mail):
    """Otherwise a mailbox that refuses e-mail would allow unlimited guesses."""
    broken_mail()
    waiting = [asks(number, now) for number in range(8)]
    assert kinds(waiting) == {"codes": 5, "links": 3}
    with pytest.raises(TooSoonError):
        sign_in.send_code(waiting[0], client=HOME, now=now + timedelta(seconds=59))
    assert sign_in.sending_state(waiting[0], now=now) in (SendingState.DELAYED, SendingState.FAILED)


def test_an_e_mail_that_the_mail_server_took_without_saying_so_counts_as_sent(db, now, settings):
    with mail_server.running(settings) as server:
        server.hanging_up_at = "DATA"
        waiting = [asks(number, now) for number in range(8)]
        assert len(server.envelopes) == 6  # five codes and a link
        assert kinds(waiting) == {"codes": 5, "links": 3}
        code = code_in(server.newest(-2).get_body(("plain",)).get_content())
    with pytest.raises(TooSoonError):
        sign_in.send_code(waiting[4], client=HOME, now=now + timedelta(seconds=59))
    assert sign_in.redeem(waiting[4], code, client=HOME, now=now).email == NORA


def test_an_e_mail_was_sent_although_the_mail_server_ends_without_a_farewell(db, now, settings):
    with mail_server.running(settings) as server:
        server.hanging_up_at = "QUIT"
        assert got_a_code(asks("own", now))
        assert len(server.envelopes) == 1


# --- Races -------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(transactional_db):
    """Transactions are committed, so that threads see them."""


def kinds(redirect_tasks: list[RedirectTask]) -> dict[str, int]:
    assert all(isinstance(redirect_task, RedirectTask) for redirect_task in redirect_tasks), redirect_tasks
    codes = sum(got_a_code(redirect_task) for redirect_task in redirect_tasks)
    return {"codes": codes, "links": len(redirect_tasks) - codes}


@pytest.mark.postgresql
def test_strangers_at_once_get_twenty_codes_between_them_and_one_email_with_a_link(shared, now):
    redirect_tasks = together(lambda number: asks(number, now, client=f"192.0.2.{number}"), 28)
    assert kinds(redirect_tasks) == {"codes": 20, "links": 8}
    assert len(mail.outbox) == 21
    assert LoginLink.objects.count() == 1


@pytest.mark.postgresql
def test_browsers_of_one_network_at_once_get_five_codes_for_a_mailbox(shared, now):
    assert kinds(together(lambda number: asks(number, now), 12)) == {"codes": 5, "links": 7}
    assert Allowance.objects.filter(expires_at=now + allowances.CODES_TO_STRANGERS.window).count() == 5


@pytest.mark.postgresql
def test_tabs_of_a_known_browser_at_once_get_five_codes(shared, now):
    signs_in("own", now)
    assert kinds(together(lambda number: asks("own", now), 12)) == {"codes": 5, "links": 7}


@pytest.fixture
def codes_used_up(shared, now):
    """No codes are left for strangers and no link was sent, so the next request sends one."""
    strangers_use_up(now)
    Allowance.objects.filter(expires_at=now + allowances.LINKS_PER_EMAIL.window).delete()
    LoginLink.objects.all().delete()


@pytest.mark.postgresql
def test_eight_browsers_at_once_share_one_link_although_the_mail_server_refuses_it(
    codes_used_up, now, settings
):
    with mail_server.running(settings) as server:
        server.refusing = "550 no such user"
        waiting = together(lambda number: asks(f"new {number}", now, client=f"198.51.100.{number}"))
    assert kinds(waiting) == {"codes": 0, "links": 8}
    assert LoginLink.objects.get().outgoing == OutgoingEmail.objects.get(state="refused").id
    assert {sign_in.sending_state(redirect_task, now=now) for redirect_task in waiting} == {
        SendingState.FAILED
    }


@pytest.mark.postgresql
def test_a_client_address_at_once_gets_exactly_the_links_there_are(shared, now, monkeypatch):
    few = replace(allowances.LINKS_PER_CLIENT, most=5)
    monkeypatch.setattr(links, "LINKS_PER_CLIENT", few)
    for _ in range(allowances.CODES_PER_CLIENT.most):
        allowances.CODES_PER_CLIENT.take(HOME, now=now)
    results = together(lambda number: asks("new", now, email=f"person{number}@example.org"), 12)
    assert [type(result) for result in results].count(RedirectTask) == 5
    assert [type(result) for result in results].count(LimitReachedError) == 7
    assert len(mail.outbox) == LoginLink.objects.count() == 5


@pytest.mark.postgresql
def test_wrong_codes_at_once_are_counted_exactly_for_a_client_address(shared, now, monkeypatch):
    few = replace(allowances.TRIES_PER_CLIENT, most=7)
    monkeypatch.setattr(sign_in, "TRIES_PER_CLIENT", few)
    redirect_tasks = [asks(number, now, client=f"192.0.2.{number}") for number in range(12)]
    results = together(lambda n: sign_in.redeem(redirect_tasks[n], "no code", client=HOME, now=now), 12)
    assert [type(result) for result in results].count(WrongCodeError) == 7
    assert [type(result) for result in results].count(LimitReachedError) == 5


@pytest.mark.postgresql
def test_a_browser_becomes_known_at_once_in_two_tabs(shared, now):
    results = together(lambda number: known_browsers.remember(browser("own"), NORA, now=now))
    assert results == [None] * 8
    assert known_browsers.is_known(browser("own"), NORA, now=now)


@pytest.mark.postgresql
def test_a_link_is_used_once_by_eight_browsers_that_wait_for_it(shared, now):
    strangers_use_up(now)
    waiting = [asks(f"new {number}", now, client=f"198.51.100.{number}") for number in range(8)]
    results = together(lambda number: sign_in.redeem_link(waiting[number], newest_link(), now=now))
    assert [type(result) for result in results].count(links.LinkGoneError) == 7
    assert [getattr(result, "email", "") for result in results].count(NORA) == 1
