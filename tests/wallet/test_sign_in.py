"""Codes: six random digits, stored as a keyed hash; they work once, for ten minutes and five tries."""

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from infra.mail import queue
from infra.mail.models import OutgoingEmail
from infra.sealing import SealError
from tests.people import ALICE, NORA
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import code_in, together
from wallet.models import HolderSession, LoginCode, RedirectTask, Wallet
from wallet.sign_in import codes as sign_in
from wallet.sign_in.codes import NoCodeError, TooSoonError, WalletSuspendedError, WrongCodeError

CLIENT = "192.0.2.1"
MINUTE = timedelta(minutes=1)


def send(redirect_task, now):
    """Have a code sent, and return it."""
    sign_in.send_code(redirect_task, client=CLIENT, now=now)
    return code_in(mail.outbox[-1].body)


@pytest.fixture
def code(redirect_task, now):
    return send(redirect_task, now)


def other_than(code):
    return f"{(int(code) + 1) % 1_000_000:06}"


def redeem(redirect_task, code, now):
    return sign_in.redeem(redirect_task, code, client=CLIENT, now=now)


def test_the_right_code_makes_a_wallet_for_a_new_person(redirect_task, now, code):
    assert not Wallet.objects.exists()
    wallet = redeem(redirect_task, code, now)
    assert (wallet.email, wallet.state) == (NORA, "active")


def test_the_right_code_finds_the_wallet_there_is(client, alice, now):
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    assert redeem(redirect_task, send(redirect_task, now), now) == alice


def test_a_code_is_good_once(redirect_task, now, code):
    redeem(redirect_task, code, now)
    with pytest.raises(NoCodeError):
        redeem(redirect_task, code, now)


def test_a_code_expires_after_ten_minutes(redirect_task, now, code):
    with pytest.raises(NoCodeError):
        redeem(redirect_task, code, now + 10 * MINUTE)


def test_five_wrong_tries_end_a_code_even_for_the_right_one(redirect_task, now, code):
    for left in (4, 3, 2, 1, 0):
        with pytest.raises(WrongCodeError) as wrong:
            redeem(redirect_task, other_than(code), now)
        assert wrong.value.tries_left == left
    with pytest.raises(NoCodeError):
        redeem(redirect_task, code, now)


def test_the_fifth_try_may_still_be_right(redirect_task, now, code):
    for _ in range(4):
        with pytest.raises(WrongCodeError):
            redeem(redirect_task, other_than(code), now)
    assert redeem(redirect_task, code, now)


def test_a_code_is_good_for_its_own_redirect_task_only(client, redirect_task, now, code):
    other = make_redirect_task(client, now=now)
    send(other, now)
    LoginCode.objects.filter(redirect_task=other).update(
        digest=LoginCode.objects.get(redirect_task=redirect_task).digest
    )
    with pytest.raises(WrongCodeError):
        redeem(other, code, now)


def test_without_a_code_a_redirect_task_uses_up_no_tries_of_another(client, redirect_task, now, code):
    other = make_redirect_task(client, now=now)
    with pytest.raises(NoCodeError):
        redeem(other, other_than(code), now)
    assert LoginCode.objects.get(redirect_task=redirect_task).tries_left == 5


def test_another_code_may_be_sent_after_a_minute_and_ends_the_one_before(redirect_task, now):
    first = send(redirect_task, now)
    with pytest.raises(TooSoonError) as soon:
        send(redirect_task, now + timedelta(seconds=59))
    assert soon.value.retry_at == now + MINUTE
    assert len(mail.outbox) == 1
    second = send(redirect_task, now + MINUTE)
    if first != second:
        with pytest.raises(WrongCodeError):
            redeem(redirect_task, first, now + MINUTE)
    assert redeem(redirect_task, second, now + MINUTE)


def test_a_new_code_has_all_its_tries(redirect_task, now, code):
    for _ in range(5):
        with pytest.raises(WrongCodeError):
            redeem(redirect_task, other_than(code), now)
    assert redeem(redirect_task, send(redirect_task, now + MINUTE), now + MINUTE)


def test_an_email_that_waits_is_dropped_when_another_code_is_asked_for(redirect_task, now, settings):
    settings.EMAILS_SENT_AT_ONCE = False
    for later in (timedelta(0), MINUTE):
        redirect_task.refresh_from_db()
        sign_in.send_code(redirect_task, client=CLIENT, now=now + later)
    states = OutgoingEmail.objects.order_by("created_at").values_list("state", "urgent")
    assert list(states) == [("dropped", True), ("waiting", True)]


def test_an_email_that_is_not_sent_in_time_is_never_sent(redirect_task, now, settings):
    settings.EMAILS_SENT_AT_ONCE = False
    sign_in.send_code(redirect_task, client=CLIENT, now=now)
    assert queue.claim(urgent=True, now=timezone.now() + 10 * MINUTE) is None


def test_a_code_and_its_email_are_stored_together_or_not_at_all(redirect_task, now, settings):
    settings.KEY_SEALING_KEYS = []
    with pytest.raises(SealError):
        sign_in.send_code(redirect_task, client=CLIENT, now=now)
    assert not LoginCode.objects.exists()
    settings.KEY_SEALING_KEYS = ["a-key-of-at-least-thirty-two-characters"]
    assert send(redirect_task, now), "no minute to wait"


def test_the_proven_address_of_a_suspended_wallet_gets_nobody_in(client, alice, now):
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    with pytest.raises(WalletSuspendedError):
        redeem(redirect_task, send(redirect_task, now), now)


def test_the_table_holds_neither_the_code_nor_a_hash_that_six_digits_can_be_tried_against(redirect_task, now):
    import hashlib

    code = send(redirect_task, now)
    row = LoginCode.objects.get()
    assert code not in row.digest
    assert row.digest != hashlib.sha256(code.encode()).hexdigest()
    assert row.digest != hashlib.sha256(f"{redirect_task.id}:{code}".encode()).hexdigest()


def test_codes_keep_their_leading_zeros(redirect_task, now, monkeypatch):
    monkeypatch.setattr("secrets.randbelow", lambda below: 42)
    assert send(redirect_task, now) == "000042"


def test_codes_differ(db, now, client):
    redirect_tasks = [
        make_redirect_task(client, now=now, email=f"person{number}@example.org") for number in range(4)
    ]
    assert (
        len({send(redirect_task, now) for redirect_task in redirect_tasks}) > 2
    )  # two may be the same by chance


def test_known_and_unknown_addresses_cost_the_same_statements(client, alice, now, statements):
    texts = {}
    for name, email in (("known", ALICE), ("unknown", "nobody@example.org")):
        redirect_task = make_redirect_task(client, now=now, email=email)
        with statements() as seen:
            sign_in.send_code(redirect_task, client=CLIENT, now=now)
        texts[name] = [text.split(" ")[:3] for text in seen.texts]
    assert texts["known"] == texts["unknown"]
    assert [email.to for email in mail.outbox] == [[ALICE], ["nobody@example.org"]]


@pytest.fixture
def shared_redirect_task(transactional_db, now) -> RedirectTask:
    return make_redirect_task(Client(), now=now)


@pytest.mark.postgresql
def test_eight_clicks_at_once_use_a_code_once(shared_redirect_task, now):
    code = send(shared_redirect_task, now)
    results = together(lambda number: redeem(shared_redirect_task, code, now))
    winners = [result for result in results if isinstance(result, Wallet)]
    assert len(winners) == 1
    assert {type(result) for result in results} == {Wallet, NoCodeError}
    assert Wallet.objects.count() == 1


@pytest.mark.postgresql
def test_guesses_at_once_get_five_tries_between_them(shared_redirect_task, now):
    code = send(shared_redirect_task, now)
    results = together(lambda number: redeem(shared_redirect_task, other_than(code), now), 12)
    assert [type(result) for result in results].count(WrongCodeError) == 5
    assert [type(result) for result in results].count(NoCodeError) == 7
    assert LoginCode.objects.get().tries_left == 0


@pytest.mark.postgresql
def test_eight_concurrent_clicks_send_one_email(shared_redirect_task, now):
    results = together(lambda number: sign_in.send_code(shared_redirect_task, client=CLIENT, now=now))
    assert results.count(None) == 1
    assert [type(result) for result in results].count(TooSoonError) == 7
    assert len(mail.outbox) == 1


@pytest.mark.postgresql
def test_two_redirect_tasks_of_a_new_person_make_one_wallet(transactional_db, now):
    made = [make_redirect_task(Client(), now=now) for _ in range(4)]
    codes = [send(redirect_task, now) for redirect_task in made]
    results = together(lambda number: redeem(made[number], codes[number], now), 4)
    assert len({wallet.id for wallet in results}) == 1
    assert not HolderSession.objects.exists()
