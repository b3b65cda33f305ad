"""Holder sessions: one query, two kinds of expiry, and a new secret at every sign-in."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory

from wallet.credential import credentials
from wallet.models import HolderSession, Wallet
from wallet.sign_in import sessions


def signed_in(wallet, now, before=None):
    """A request of a browser that has just signed in, with the cookies of the request `before`."""
    response = HttpResponse()
    sessions.start(before or RequestFactory().get("/"), response, wallet, now=now)
    return request_with(response.cookies[settings.HOLDER_COOKIE_NAME].value)


def request_with(secret):
    request = RequestFactory().get("/")
    request.COOKIES[settings.HOLDER_COOKIE_NAME] = secret
    return request


def again(request):
    return request_with(request.COOKIES[settings.HOLDER_COOKIE_NAME])


def test_the_session_comes_with_its_wallet_and_credential_in_one_query(alice, now, statements):
    request = signed_in(alice, now)
    with statements() as seen:
        session = sessions.current(request, now=now)
        assert session.wallet.email == alice.email
        assert credentials.valid_credential(session.wallet, now=now)
        assert sessions.current(request, now=now) is session
    assert len(seen.texts) == 1


def test_an_empty_wallet_takes_one_query_too(nora, now, statements):
    request = signed_in(nora, now)
    with statements() as seen:
        assert credentials.valid_credential(sessions.current(request, now=now).wallet, now=now) is None
    assert len(seen.texts) == 1


@pytest.mark.parametrize("secret", ["", "x", "ä" * 43, "a" * 43, "a" * 5000])
def test_a_cookie_that_is_none_of_ours_signs_nobody_in(alice, now, secret):
    signed_in(alice, now)
    assert sessions.current(request_with(secret), now=now) is None


def test_it_ends_after_half_an_hour_without_a_request(alice, now):
    request = signed_in(alice, now)
    assert sessions.current(again(request), now=now + timedelta(minutes=29))
    assert sessions.current(again(request), now=now + timedelta(minutes=58))
    assert sessions.current(again(request), now=now + timedelta(minutes=89)) is None


def test_it_ends_at_the_instant_at_which_it_was_idle_for_half_an_hour(alice, now):
    request = signed_in(alice, now)
    assert sessions.current(again(request), now=now + timedelta(minutes=30)) is None
    moment_before = now + timedelta(minutes=30) - timedelta(microseconds=1)
    assert sessions.current(again(request), now=moment_before)


def test_it_ends_after_twelve_hours_however_busy(alice, now):
    request = signed_in(alice, now)
    for minutes in range(0, 12 * 60, 20):
        assert sessions.current(again(request), now=now + timedelta(minutes=minutes))
    assert sessions.current(again(request), now=now + timedelta(hours=12)) is None


def test_when_it_was_last_seen_is_written_once_a_minute_at_most(alice, now, statements):
    request = signed_in(alice, now)
    with statements() as seen:
        sessions.current(again(request), now=now + timedelta(seconds=59))
    assert len(seen.texts) == 1
    with statements() as seen:
        sessions.current(again(request), now=now + timedelta(seconds=61))
    assert len(seen.texts) == 2


def test_every_sign_in_is_a_new_row_and_secret_and_the_old_ones_are_worth_nothing(alice, now):
    first = signed_in(alice, now)
    second = signed_in(alice, now, before=again(first))
    assert first.COOKIES != second.COOKIES
    assert HolderSession.objects.count() == 1
    assert sessions.current(again(first), now=now) is None
    assert sessions.current(again(second), now=now)


def test_signing_in_here_leaves_other_browsers_signed_in(alice, now):
    elsewhere = signed_in(alice, now)
    signed_in(alice, now)
    assert sessions.current(again(elsewhere), now=now)


def test_a_suspended_wallet_is_signed_in_nowhere(alice, now):
    request = signed_in(alice, now)
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    assert sessions.current(again(request), now=now) is None


def test_signing_out_deletes_the_row_and_the_cookie(alice, now):
    request = signed_in(alice, now)
    response = HttpResponse()
    sessions.end(request, response)
    assert response.cookies[settings.HOLDER_COOKIE_NAME]["max-age"] == 0
    assert sessions.current(request, now=now) is None
    assert not HolderSession.objects.exists()


def test_the_table_does_not_hold_what_the_cookie_says(alice, now):
    request = signed_in(alice, now)
    assert HolderSession.objects.get().digest != request.COOKIES[settings.HOLDER_COOKIE_NAME]


def test_the_cookie_is_out_of_reach_of_scripts(alice, now):
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=now)
    cookie = response.cookies[settings.HOLDER_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
