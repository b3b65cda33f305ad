"""The pages for signing in and out: their contents, their redirects, and what they do not reveal."""

import re
import uuid
from datetime import timedelta

import pytest
from django.conf import settings
from django.core import mail
from django.db.models import F
from django.test import Client
from django.urls import reverse

from infra.mail.models import OutgoingEmail
from infra.models import Allowance
from tests.drawn import without_drawn
from tests.emails import send_waiting
from tests.people import ALICE, BOB, NORA
from tests.wallet import mail_server
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import code_in, masked
from tests.wallet.requesting_codes import newest_link, strangers_use_up
from wallet.models import HolderSession, LoginCode, LoginLink, RedirectTask, Wallet
from wallet.sign_in.allowances import (
    CODES_PER_CLIENT,
    LINKS_PER_CLIENT,
    LINKS_PER_EMAIL,
    REDIRECT_TASKS_PER_CLIENT,
    TRIES_PER_CLIENT,
)

PAGES = ("wallet_sign_in", "wallet_code", "wallet_switch", "wallet_identity")


def page(name, redirect_task):
    return reverse(name, args=[redirect_task.id])


def ask_for_code(client, redirect_task):
    response = client.post(page("wallet_sign_in", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_code", redirect_task))
    return code_in(mail.outbox[-1].body)


def wrong(code):
    return f"{(int(code) + 1) % 1_000_000:06}"


def test_it_shows_the_requester_the_address_and_the_way_back(client, redirect_task):
    response = client.get(page("wallet_sign_in", redirect_task))
    assert response.status_code == 200
    text = response.content.decode()
    assert "Acme Bank</bdi> asks you" in text
    assert NORA in text
    assert '<a href="/left/">Cancel and return to Acme Bank</a>' in text


def test_signing_in_goes_where_the_redirect_task_leads(client, redirect_task):
    code = ask_for_code(client, redirect_task)
    response = client.post(page("wallet_code", redirect_task), {"code": f"{code[:3]} {code[3:]}"})
    assert (response.status_code, response.url) == (303, "/done/")
    assert HolderSession.objects.get().wallet.email == NORA
    for name in ("wallet_sign_in", "wallet_code"):
        response = client.get(page(name, redirect_task))
        assert (response.status_code, response.url) == (303, "/done/")


def test_looking_at_the_page_sends_nothing(client, redirect_task):
    client.get(page("wallet_sign_in", redirect_task))
    client.head(page("wallet_sign_in", redirect_task))
    assert mail.outbox == []


def test_a_wrong_code_says_how_many_tries_are_left(client, redirect_task):
    code = ask_for_code(client, redirect_task)
    for expected in ("4 more times", "3 more times", "2 more times", "once more", "no longer works"):
        response = client.post(page("wallet_code", redirect_task), {"code": wrong(code)})
        assert response.status_code == 422
        assert expected in response.content.decode()
    text = response.content.decode()
    assert 'name="code"' not in text  # nothing to type: there is one thing to do
    assert re.findall(r"<button[^>]*>([^<]*)<", text.partition("<footer")[0]) == ["Send a new code"]
    response = client.post(page("wallet_code", redirect_task), {"code": code})
    assert (response.status_code, response.url) == (303, page("wallet_sign_in", redirect_task) + "?lapsed=1")
    assert "no longer works" in client.get(response.url).content.decode()
    assert not HolderSession.objects.exists()


def test_the_second_of_two_clicks_arrives_where_the_first_does(client, redirect_task):
    code = ask_for_code(client, redirect_task)
    slow = Client()
    slow.cookies = client.cookies.copy()
    client.post(page("wallet_code", redirect_task), {"code": code})
    response = slow.post(page("wallet_code", redirect_task), {"code": code})
    slow.cookies = client.cookies
    response = slow.get(response.url)
    assert (response.status_code, response.url) == (303, "/done/")


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "1234567", "123456 654321"])
def test_what_is_no_code_costs_no_try(client, redirect_task, code):
    ask_for_code(client, redirect_task)
    assert client.post(page("wallet_code", redirect_task), {"code": code}).status_code == 422
    assert LoginCode.objects.get().tries_left == 5


def test_a_code_page_without_a_code_leads_to_where_one_is_sent(client, redirect_task):
    response = client.get(page("wallet_code", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_sign_in", redirect_task))


def test_two_requests_within_a_minute_show_the_code_page_and_send_one_email(client, redirect_task):
    ask_for_code(client, redirect_task)
    response = client.post(page("wallet_sign_in", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_code", redirect_task))
    assert len(mail.outbox) == 1


def test_a_used_up_code_within_the_minute_says_how_long_to_wait(client, redirect_task):
    ask_for_code(client, redirect_task)
    LoginCode.objects.update(tries_left=0)
    response = client.post(page("wallet_sign_in", redirect_task))
    assert response.status_code == 429
    assert 0 < int(response.headers["Retry-After"]) <= 60
    assert "You asked for an e-mail a moment ago." in response.content.decode()
    assert 'role="alert"' not in response.content.decode()  # it is not an error of the holder


@pytest.mark.usefixtures("windows_just_begun")
def test_too_many_emails_show_how_long_to_wait_and_keep_the_way_back(client, redirect_task, now):
    for limit in (CODES_PER_CLIENT, LINKS_PER_CLIENT):
        for _ in range(limit.most):
            limit.take("127.0.0.1", now=now)
    response = client.post(page("wallet_sign_in", redirect_task))
    assert response.status_code == 429
    assert 0 < int(response.headers["Retry-After"]) <= 900
    assert re.search("asked for too many codes|seconds? and try again", response.content.decode())
    assert "Cancel and return to Acme Bank" in response.content.decode()


@pytest.mark.usefixtures("windows_just_begun")
def test_with_the_tries_of_a_network_used_up_a_link_signs_in(client, redirect_task, now):
    code = ask_for_code(client, redirect_task)
    for _ in range(TRIES_PER_CLIENT.most):
        TRIES_PER_CLIENT.take("127.0.0.1", now=now)
    refused = client.post(page("wallet_code", redirect_task), {"code": code})
    assert refused.status_code == 422
    assert "Send a link instead" in refused.content.decode()
    assert 'name="code"' not in refused.content.decode()
    RedirectTask.objects.update(code_sent_at=F("code_sent_at") - timedelta(seconds=60))
    assert client.post(page("wallet_sign_in", redirect_task), {"link": "1"}).url == page(
        "wallet_code", redirect_task
    )
    assert "Open the link in the e-mail" in client.get(page("wallet_code", redirect_task)).content.decode()
    assert client.post(reverse("wallet_link", args=[newest_link()])).url == "/done/"


@pytest.fixture
def outbox_only(settings):
    """Production: the e-mails wait until the worker sends them."""
    settings.EMAILS_SENT_AT_ONCE = False


def test_the_page_says_at_once_that_the_email_is_being_sent_and_then_that_it_was(
    client, redirect_task, outbox_only
):
    address = client.post(page("wallet_sign_in", redirect_task)).url
    text = client.get(address).content.decode()
    assert "We are sending an e-mail to <strong>nora@example.org</strong>." in text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text
    assert "email-state.js" in text
    send_waiting()
    text = client.get(address).content.decode()
    assert "We have sent an e-mail to <strong>nora@example.org</strong>. The code in it works" in text
    assert "refresh" not in text
    assert "email-state.js" not in text


@pytest.mark.parametrize("link", [False, True])
def test_the_page_says_as_soon_as_it_is_known_that_the_email_could_not_be_sent(
    client, redirect_task, now, settings, link
):
    if link:
        strangers_use_up(now)
        Allowance.objects.filter(expires_at=now + LINKS_PER_EMAIL.window).delete()  # as if it were over
        LoginLink.objects.all().delete()
    with mail_server.running(settings) as server:
        server.refusing = "450 later"
        address = client.post(page("wallet_sign_in", redirect_task)).url
        text = client.get(address).content.decode()
        assert "could not be sent yet. We keep trying." in text
        assert "refresh" in text
        server.refusing = "550 no such user"
        OutgoingEmail.objects.update(due_at=now)
        send_waiting()
        text = client.get(address).content.decode()
        assert "<strong>The e-mail could not be sent.</strong>" in text
        assert "Check that <strong>nora@example.org</strong> is right" in text
        assert "refresh" not in text
    RedirectTask.objects.update(code_sent_at=F("code_sent_at") - timedelta(seconds=60))
    settings.MAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert client.post(page("wallet_sign_in", redirect_task)).status_code == 303
    assert link or "We have sent an e-mail" in client.get(address).content.decode()


def test_the_state_of_an_email_is_shown_to_the_browser_that_asked_only(client, redirect_task, outbox_only):
    address = client.post(page("wallet_sign_in", redirect_task)).url
    assert "We are sending" not in Client().get(address).content.decode()


def test_what_is_said_about_an_email_does_not_tell_whether_there_is_a_wallet(client, alice, now, settings):
    said = {}
    for email in (ALICE, "cilia@example.org"):
        redirect_task = make_redirect_task(client, now=now, email=email)
        with mail_server.running(settings) as server:
            for reply in ("450 later", "550 no"):
                server.refusing = reply
                client.post(page("wallet_sign_in", redirect_task))
                shown = masked(client.get(page("wallet_code", redirect_task)), redirect_task.id, email)
                said.setdefault(reply, set()).add(shown)
                OutgoingEmail.objects.update(due_at=now)
                server.refusing = "550 no"
                send_waiting()
    assert [len(pages) for pages in said.values()] == [1, 1]


def test_nothing_tells_whether_an_address_is_known(client, alice, now):
    seen = {}
    for email in (ALICE, "cilia@example.org"):
        redirect_task = make_redirect_task(client, now=now, email=email)
        hidden = (redirect_task.id, email)
        pages = [client.get(page("wallet_sign_in", redirect_task))]
        pages.append(client.post(page("wallet_sign_in", redirect_task)))
        pages.append(client.get(page("wallet_code", redirect_task)))
        code = code_in(mail.outbox[-1].body)
        pages.append(client.post(page("wallet_code", redirect_task), {"code": wrong(code)}))
        seen[email] = [
            (
                p.status_code,
                masked(p, *hidden, wrong(code)),
                p.headers.get("Location", "").replace(str(redirect_task.id), "*"),
            )
            for p in pages
        ]
    assert seen[ALICE] == seen["cilia@example.org"]
    first, second = (message.body.replace(code_in(message.body), "*") for message in mail.outbox)
    assert first == second
    assert Wallet.objects.count() == 1


def test_a_planted_session_is_not_the_one_that_is_signed_in(client, redirect_task):
    planted = "p" * 43
    client.cookies[settings.HOLDER_COOKIE_NAME] = planted
    code = ask_for_code(client, redirect_task)
    client.post(page("wallet_code", redirect_task), {"code": code})
    assert client.cookies[settings.HOLDER_COOKIE_NAME].value != planted
    attacker = Client()
    attacker.cookies[settings.HOLDER_COOKIE_NAME] = planted
    response = attacker.get(reverse("wallet_front_door"))
    assert response.status_code == 200


def test_somebody_else_signed_in_is_asked_whom_to_go_on_as(client, redirect_task, bob, sign_in):
    sign_in(bob)
    response = client.get(page("wallet_sign_in", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_switch", redirect_task))
    text = client.get(response.url).content.decode()
    assert BOB in text
    assert NORA in text
    assert "Cancel and return to Acme Bank" in text
    assert HolderSession.objects.exists()
    response = client.post(page("wallet_switch", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_sign_in", redirect_task))
    assert not HolderSession.objects.exists()
    assert client.get(response.url).status_code == 200


def test_nobody_else_signed_in_makes_the_switch_page_a_step_only(client, redirect_task, nora, sign_in):
    assert client.get(page("wallet_switch", redirect_task)).url == page("wallet_sign_in", redirect_task)
    sign_in(nora)
    assert client.get(page("wallet_switch", redirect_task)).url == page("wallet_sign_in", redirect_task)
    assert client.post(page("wallet_switch", redirect_task)).status_code == 303
    assert HolderSession.objects.exists()


def test_a_redirect_task_may_need_a_fresh_factor_of_one_who_is_signed_in(client, nora, sign_in, now):
    redirect_task = make_redirect_task(client, now=now, fresh_since=now - timedelta(minutes=5))
    old = sign_in(nora, ago=timedelta(minutes=6))
    response = client.get(page("wallet_sign_in", redirect_task))
    assert response.status_code == 200
    assert "Confirm that it is you" in response.content.decode()
    assert client.get(page("wallet_identity", redirect_task)).url == page("wallet_sign_in", redirect_task)
    response = client.post(page("wallet_code", redirect_task), {"code": ask_for_code(client, redirect_task)})
    assert response.url == "/done/"
    session = HolderSession.objects.get()
    assert session.digest != old.digest
    assert session.signed_in_at > old.signed_in_at
    assert client.get(page("wallet_sign_in", redirect_task)).url == "/done/"


def test_a_recent_sign_in_is_fresh_enough(client, nora, sign_in, now):
    redirect_task = make_redirect_task(client, now=now, fresh_since=now - timedelta(minutes=5))
    sign_in(nora, ago=timedelta(minutes=4))
    assert client.get(page("wallet_sign_in", redirect_task)).url == "/done/"


def test_a_suspended_wallet_leads_back_and_not_in(client, nora, redirect_task):
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    response = client.post(page("wallet_code", redirect_task), {"code": ask_for_code(client, redirect_task)})
    assert response.status_code == 403
    assert 'href="/left/"' in response.content.decode()
    assert not HolderSession.objects.exists()


@pytest.mark.parametrize("name", PAGES)
def test_a_redirect_task_of_another_browser_tells_nothing(client, redirect_task, name):
    for stranger in (Client(), Client()):
        stranger.cookies[settings.BROWSER_COOKIE_NAME] = "z" * 43
        response = stranger.get(page(name, redirect_task))
        assert response.status_code == 404
        text = response.content.decode()
        assert "Acme" not in without_drawn(text)
        assert NORA not in text
        assert "/left/" not in text
    unknown = client.get(reverse(name, args=[uuid.uuid4()]))
    assert unknown.status_code == 404


@pytest.mark.parametrize("name", PAGES)
def test_an_expired_redirect_task_leads_straight_to_the_page_about_the_request(client, redirect_task, name):
    RedirectTask.objects.update(expires_at=redirect_task.created_at)
    response = client.get(page(name, redirect_task))
    assert (response.status_code, response.url) == (303, "/left/")


def test_an_expired_redirect_task_that_nobody_asked_for_says_so(client, redirect_task):
    RedirectTask.objects.update(expires_at=redirect_task.created_at, on_behalf_of="")
    response = client.get(page("wallet_sign_in", redirect_task))
    assert response.status_code == 410
    assert '<a class="button" href="/left/">Go back</a>' in response.content.decode()


@pytest.mark.parametrize(
    "name", ["wallet_sign_in", "wallet_switch", "wallet_identity_start", "wallet_identity_cancel"]
)
def test_nothing_is_done_for_a_stranger(client, redirect_task, name):
    stranger = Client()
    assert stranger.post(page(name, redirect_task)).status_code == 404
    assert mail.outbox == []


def test_forms_of_other_sites_do_nothing(redirect_task, nora):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies[settings.BROWSER_COOKIE_NAME] = "b" * 43
    for address in (
        page("wallet_sign_in", redirect_task),
        page("wallet_code", redirect_task),
        reverse("wallet_sign_out"),
        reverse("wallet_front_door"),
    ):
        assert strict.post(address, {"email": NORA, "code": "123456"}).status_code == 403
    assert mail.outbox == []


def test_pages_with_an_address_are_never_stored(client, redirect_task, nora, sign_in):
    ask_for_code(client, redirect_task)
    addresses = [
        page("wallet_sign_in", redirect_task),
        page("wallet_code", redirect_task),
        reverse("wallet_front_door"),
    ]
    for address in addresses:
        assert "no-store" in client.get(address).headers["Cache-Control"]
    sign_in(nora)
    assert "no-store" in client.get(page("wallet_identity", redirect_task)).headers["Cache-Control"]


@pytest.mark.parametrize("name", ["wallet_sign_out", "wallet_identity_start", "wallet_identity_cancel"])
def test_what_changes_something_is_not_done_by_a_link(client, redirect_task, name):
    address = reverse(name) if name == "wallet_sign_out" else page(name, redirect_task)
    assert client.get(address).status_code == 405


def test_signing_out_ends_the_session(client, nora, sign_in):
    sign_in(nora)
    response = client.post(reverse("wallet_sign_out"))
    assert (response.status_code, response.url) == (303, reverse("wallet_signed_out"))
    assert not HolderSession.objects.exists()
    assert client.get(response.url).status_code == 200


def test_signing_out_twice_does_no_harm(client, db):
    assert client.post(reverse("wallet_sign_out")).status_code == 303


def test_a_challenge_that_arrives_late_does_not_cut_the_new_browser_off_its_redirect_task(client, db):
    """The script of the front door fetches one while the person sends the form."""
    client.get(reverse("wallet_front_door"))
    script = Client()
    script.cookies.load({name: morsel.value for name, morsel in client.cookies.items()})
    late = script.post(reverse("wallet_passkey_options"))
    asked = client.post(reverse("wallet_front_door"), {"email": NORA})
    client.cookies.update(late.cookies)
    assert client.get(asked.url).status_code == 200


def test_a_holder_on_their_own_signs_in_to_their_wallet(client, nora):
    response = client.post(reverse("wallet_front_door"), {"email": "NORA@Example.org "})
    assert response.status_code == 303
    assert settings.BROWSER_COOKIE_NAME in response.cookies
    redirect_task = RedirectTask.objects.get()
    assert redirect_task.email == NORA
    assert "Somebody is signing in" in mail.outbox[0].body
    response = client.post(response.url, {"code": code_in(mail.outbox[0].body)})
    assert (response.status_code, response.url) == (303, reverse("wallet_home"))
    assert client.get(reverse("wallet_front_door")).url == reverse("wallet_home")


@pytest.mark.parametrize("email", ["", "nora", "nora@", "@example.org", "a" * 250 + "@example.org"])
def test_an_invalid_address_is_reported_on_the_sign_in_page(client, db, email):
    response = client.post(reverse("wallet_front_door"), {"email": email})
    assert response.status_code == 422
    assert not RedirectTask.objects.exists()


@pytest.mark.usefixtures("windows_just_begun")
def test_the_sign_in_page_opens_a_limited_number_of_redirect_tasks(client, db, now):
    for _ in range(REDIRECT_TASKS_PER_CLIENT.most):
        REDIRECT_TASKS_PER_CLIENT.take("127.0.0.1", now=now)
    response = client.post(reverse("wallet_front_door"), {"email": "p31@example.org"})
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert "You can ask again at <time" in response.content.decode()
    assert not RedirectTask.objects.exists()


@pytest.mark.usefixtures("windows_just_begun")
def test_others_at_its_client_address_do_not_keep_a_known_browser_out(client, redirect_task, now):
    client.post(page("wallet_code", redirect_task), {"code": ask_for_code(client, redirect_task)})
    client.post(reverse("wallet_sign_out"))
    for limit in (REDIRECT_TASKS_PER_CLIENT, CODES_PER_CLIENT, TRIES_PER_CLIENT):
        for _ in range(limit.left("127.0.0.1", now=now)):
            limit.take("127.0.0.1", now=now)
    response = client.post(reverse("wallet_front_door"), {"email": NORA})
    code = code_in(mail.outbox[-1].body)
    assert client.post(response.url, {"code": wrong(code)}).status_code == 422
    assert client.post(response.url, {"code": code}).url == reverse("wallet_home")


def test_names_and_addresses_are_shown_as_text(client, db, now):
    redirect_task = make_redirect_task(
        client, now=now, on_behalf_of="<b>Bank</b>", email="a&copy@example.org"
    )
    text = client.get(page("wallet_sign_in", redirect_task)).content.decode()
    assert "<b>" not in text
    assert "a&amp;copy@example.org" in text
