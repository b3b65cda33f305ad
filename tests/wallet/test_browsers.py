"""The signed-in browsers of a holder: the list, signing out one or all, and the e-mail about a new one."""

import uuid
from datetime import timedelta

import pytest
from django.conf import settings
from django.core import mail
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests.wallet import mail_server
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import code_in
from wallet.models import HolderSession, Wallet
from wallet.sign_in import sessions, user_agents
from wallet.sign_in.known_browsers import NOTICES
from wallet.sign_in.user_agents import UserAgent, parse

SECURITY = "/wallet/security/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)
ELSEWHERE = "c" * 43  # the cookie of another browser


def browser_of(wallet, now, agent=FIREFOX):
    """A client that is signed in to `wallet`."""
    response = HttpResponse()
    sessions.start(RequestFactory(headers={"user-agent": agent}).get("/"), response, wallet, now=now)
    client = Client(headers={"user-agent": agent})
    client.cookies.update(response.cookies)
    return client


def is_signed_in(client):
    return client.get(SECURITY).status_code == 200


def sign_in(client, *, now, agent=FIREFOX, **facts):
    """Sign in with the e-mailed code; gives the e-mails that were sent after it."""
    client.cookies.pop(settings.HOLDER_COOKIE_NAME, None)
    redirect_task = make_redirect_task(client, now=now, **facts)
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    code = code_in(mail.outbox[-1].body)
    before = len(mail.outbox)
    page = reverse("wallet_code", args=[redirect_task.id])
    response = client.post(page, {"code": code}, headers={"user-agent": agent})
    assert response.status_code == 303
    return mail.outbox[before:]


# --- Names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Safari on iPhone"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36 Edg/126.0",
            "Edge on Windows",
        ),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) Chrome/126.0.0.0 Safari/537.36", "Chrome on macOS"),
        ("Mozilla/5.0 (X11; Linux x86_64) Ubuntu Chromium/126 Chrome/126 Safari/537.36", "Chromium on Linux"),
        (
            "Mozilla/5.0 (Linux; Android 14) SamsungBrowser/25 Chrome/1",
            "Samsung Internet on Android",
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) FxiOS/127.0 Mobile Safari/605.1.15",
            "Firefox on iPad",
        ),
        ("SomethingElse/1.0 (Linux)", "A browser on Linux"),
        ("Firefox/1.0", "Firefox"),
        ("curl/8.5.0", "A browser we don’t recognise"),
        ("", "A browser we don’t recognise"),
    ],
)
def test_a_browser_is_named_as_people_name_it(header, words):
    assert str(parse(header)) == words


BROWSERS = {name for _marks, name in user_agents._BROWSERS}
SYSTEMS = {name for _marks, name in user_agents._SYSTEMS}


@given(
    st.text(max_size=2000)
    | st.lists(st.sampled_from(["Firefox/", "Linux", "\x00", "Safari/", "é"])).map("".join)
)
def test_whatever_a_browser_says_only_names_of_the_tables_are_kept(header):
    found = parse(header)
    assert found.browser in BROWSERS | {""}
    assert found.system in SYSTEMS | {""}
    assert str(found)


@given(st.text(min_size=user_agents.LONGEST, max_size=user_agents.LONGEST))
def test_nothing_beyond_the_limit_is_read(header):
    assert parse(header + "Firefox/ Linux") == parse(header)


def test_every_name_fits_its_column():
    for field, names in (("browser_name", BROWSERS), ("system_name", SYSTEMS)):
        longest = HolderSession._meta.get_field(field).max_length
        assert all(len(name) <= longest for name in names)


def test_a_browser_that_sends_no_name_is_shown_too(nora, now):
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, nora, now=now)
    row = HolderSession.objects.get()
    assert (row.browser_name, row.system_name) == ("", "")
    assert str(UserAgent()) == "A browser we don’t recognise"


# --- The list ---------------------------------------------------------------------------------------------


def test_the_page_lists_the_browsers_of_the_wallet_and_says_which_one_this_is(alice, bob, now):
    here, _there = browser_of(alice, now), browser_of(alice, now, PHONE)
    browser_of(bob, now, "Opera")
    text = here.get(SECURITY).content.decode()
    assert text.count("Safari on iPhone") == 2  # the name, and the name of its button
    assert "Firefox on Linux" in text
    assert "Opera" not in text.split("<main")[1].split("</main>")[0]
    assert text.count("This browser") == 1
    assert text.index("This browser") < text.index("Safari on iPhone")


def test_a_holder_who_proves_a_factor_again_stays_signed_in_since_the_first_time(nora, now):
    response = HttpResponse()
    sessions.start(RequestFactory().get("/"), response, nora, now=now - sessions.SEEN_EVERY)
    first = HolderSession.objects.get()
    request = RequestFactory().get("/")
    request.COOKIES = {name: morsel.value for name, morsel in response.cookies.items()}
    sessions.start(request, HttpResponse(), nora, now=now)
    again = HolderSession.objects.get()
    assert again.digest != first.digest
    assert (again.public_id, again.first_signed_in_at) == (first.public_id, first.signed_in_at)
    assert again.signed_in_at == now


def test_another_holder_in_the_same_browser_begins_anew(alice, bob, now):
    client = browser_of(alice, now)
    before = HolderSession.objects.get()
    request = RequestFactory().get("/")
    request.COOKIES = {name: morsel.value for name, morsel in client.cookies.items()}
    sessions.start(request, HttpResponse(), bob, now=now)
    after = HolderSession.objects.get()
    assert after.wallet == bob
    assert after.public_id != before.public_id
    assert after.first_signed_in_at is None


# --- Signing out ------------------------------------------------------------------------------------------


def test_one_browser_is_signed_out_from_another(alice, now):
    here, there = browser_of(alice, now), browser_of(alice, now, PHONE)
    phone = HolderSession.objects.get(system_name="iPhone")
    response = here.post(reverse("wallet_browsers_end", args=[phone.public_id]))
    assert (response.status_code, response["Location"]) == (303, SECURITY)
    assert (is_signed_in(here), is_signed_in(there)) == (True, False)


def test_all_others_are_signed_out(alice, bob, now):
    here, there, strange = browser_of(alice, now), browser_of(alice, now, PHONE), browser_of(bob, now)
    here.post(reverse("wallet_browsers_end_all"), {"where": "others"})
    assert (is_signed_in(here), is_signed_in(there), is_signed_in(strange)) == (True, False, True)


def test_every_browser_is_signed_out(alice, bob, now):
    here, there, strange = browser_of(alice, now), browser_of(alice, now, PHONE), browser_of(bob, now)
    response = here.post(reverse("wallet_browsers_end_all"), {"where": "everywhere"})
    assert response["Location"] == reverse("wallet_signed_out")
    assert (is_signed_in(here), is_signed_in(there), is_signed_in(strange)) == (False, False, True)


def test_this_browser_can_be_signed_out_in_the_list(alice, now):
    here = browser_of(alice, now)
    response = here.post(reverse("wallet_browsers_end", args=[HolderSession.objects.get().public_id]))
    assert response["Location"] == reverse("wallet_signed_out")
    assert not HolderSession.objects.exists()


def test_the_session_of_another_wallet_cannot_be_ended_even_by_who_knows_its_id(alice, bob, now):
    attacker, victim = browser_of(bob, now), browser_of(alice, now)
    session = HolderSession.objects.get(wallet=alice)
    known = attacker.post(reverse("wallet_browsers_end", args=[session.public_id]))
    unknown = attacker.post(reverse("wallet_browsers_end", args=[uuid.uuid4()]))
    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
    assert is_signed_in(victim)


def test_the_id_on_the_page_is_not_the_digest_or_the_secret(alice, now):
    here = browser_of(alice, now)
    text = here.get(SECURITY).content.decode()
    row = HolderSession.objects.get()
    assert str(row.public_id) in text
    assert row.digest not in text
    assert all(morsel.value not in text for name, morsel in here.cookies.items())


@pytest.mark.parametrize("address", ["wallet_browsers_end_all", "wallet_browsers_end"])
def test_who_is_not_signed_in_ends_nothing(alice, now, address):
    victim = browser_of(alice, now)
    args = [HolderSession.objects.get().public_id] if address == "wallet_browsers_end" else []
    response = Client().post(reverse(address, args=args), {"where": "everywhere"})
    assert response["Location"] == reverse("wallet_front_door")
    assert Client().get(reverse(address, args=args)).status_code == 405
    assert is_signed_in(victim)


@pytest.mark.parametrize("address", ["wallet_browsers_end_all", "wallet_browsers_end"])
def test_a_form_of_another_site_ends_nothing(alice, now, address):
    here = browser_of(alice, now)
    args = [HolderSession.objects.get().public_id] if address == "wallet_browsers_end" else []
    strict = Client(enforce_csrf_checks=True)
    strict.cookies.update(here.cookies)
    response = strict.post(reverse(address, args=args), headers={"origin": "https://evil.example"})
    assert response.status_code == 403
    assert is_signed_in(here)


# --- The e-mail about a new browser -----------------------------------------------------------------------


def test_a_new_browser_is_told_of_by_email(client, nora, now, settings):
    Wallet.objects.update(created_at=now - timedelta(days=400))
    (letter,) = sign_in(client, now=now)
    assert letter.to == [nora.email]
    assert letter.subject == "A new browser signed in to your wallet"
    assert "Firefox on Linux" in letter.body
    assert " UTC" in letter.body
    assert settings.BASE_URL + SECURITY in letter.body


def test_a_browser_that_signed_in_before_is_not_told_of(client, nora, now):
    Wallet.objects.update(created_at=now - timedelta(days=400))
    sign_in(client, now=now)
    assert sign_in(client, now=now) == []


def test_the_sign_in_that_creates_the_wallet_is_not_told_of(client, db, now):
    assert sign_in(client, now=now) == []


def test_new_browsers_do_not_fill_a_mailbox(client, nora, now):
    Wallet.objects.update(created_at=now - timedelta(days=400))
    for _ in range(NOTICES.most):
        NOTICES.take(str(nora.pk), now=now)
    assert sign_in(client, now=now) == []


def test_the_sign_in_succeeds_while_the_mail_server_is_away(client, nora, now, settings, monkeypatch):
    Wallet.objects.update(created_at=now - timedelta(days=400))
    redirect_task = make_redirect_task(client, now=now)
    client.post(reverse("wallet_sign_in", args=[redirect_task.id]))
    code = code_in(mail.outbox[-1].body)
    mail_server.point_at(settings, port=1)  # nothing listens there
    response = client.post(reverse("wallet_code", args=[redirect_task.id]), {"code": code})
    assert (response.status_code, response["Location"]) == (303, redirect_task.return_to)
    assert is_signed_in(client)
