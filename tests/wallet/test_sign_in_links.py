"""Sign-in links: their e-mail, the browsers in which they work, and that opening one does not use it."""

from datetime import timedelta

import pytest
from django.conf import settings as project_settings
from django.core import mail
from django.test import Client
from django.urls import reverse

from infra.sealing import sha256_hex
from tests.people import ALICE, NORA
from tests.wallet import mail_server
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import masked
from tests.wallet.requesting_codes import newest_link, strangers_use_up
from wallet.models import HolderSession, LoginLink, RedirectTask, Wallet
from wallet.sign_in import links

MOMENT = timedelta(microseconds=1)


def page(name, redirect_task):
    return reverse(name, args=[redirect_task.id])


def link():
    return reverse("wallet_link", args=[newest_link()])


@pytest.fixture
def waiting(client, redirect_task, now):
    """Nora's request in a new browser, after strangers have used up the codes of her address."""
    strangers_use_up(now)
    response = client.post(page("wallet_sign_in", redirect_task))
    assert (response.status_code, response.url) == (303, page("wallet_code", redirect_task))
    return redirect_task


def other_browser(secret="z"):
    client = Client()
    client.cookies[project_settings.BROWSER_COOKIE_NAME] = secret * 43
    return client


def test_the_page_says_to_open_the_link_in_this_browser_and_asks_for_no_code(client, waiting):
    response = client.get(page("wallet_code", waiting))
    text = response.content.decode()
    assert response.status_code == 200
    assert "Open the link in the e-mail" in text
    assert "Open it in this browser." in text
    assert NORA in text
    assert 'name="code"' not in text
    assert "Cancel and return to Acme Bank" in text


def test_a_click_behind_the_link_signs_in_and_goes_where_the_redirect_task_leads(client, waiting):
    text = client.get(link()).content.decode()
    assert NORA in text
    assert "Sign in here" in text
    response = client.post(link())
    assert (response.status_code, response.url) == (303, "/done/")
    assert HolderSession.objects.get().wallet.email == NORA
    assert client.get(page("wallet_code", waiting)).url == "/done/"


def test_programs_that_open_every_link_do_not_use_it_up(client, waiting):
    for program in (Client(), other_browser(), client):
        program.get(link())
        program.head(link())
    assert client.post(link()).url == "/done/"


def test_the_link_signs_in_nobody_in_a_browser_that_does_not_wait_for_it(client, waiting):
    for elsewhere in (Client(), other_browser()):
        for response in (elsewhere.get(link()), elsewhere.post(link())):
            assert response.status_code == 403
            assert "in the browser in which you are signing in" in response.content.decode()
            assert NORA not in response.content.decode()
        assert project_settings.HOLDER_COOKIE_NAME not in elsewhere.cookies
    assert not HolderSession.objects.exists()
    assert client.post(link()).url == "/done/"


def test_a_holder_who_opens_the_link_does_not_sign_an_attacker_in(client, waiting, now):
    attacker = other_browser("a")
    theirs = make_redirect_task(attacker, now=now, browser=sha256_hex("a" * 43), return_to="/attacker/")
    attacker.cookies[project_settings.BROWSER_COOKIE_NAME] = "a" * 43
    attacker.post(page("wallet_sign_in", theirs))
    assert client.post(link()).url == "/done/"
    assert attacker.get(page("wallet_code", theirs)).status_code == 200
    assert project_settings.HOLDER_COOKIE_NAME not in attacker.cookies
    assert HolderSession.objects.count() == 1


def test_a_link_for_one_address_is_no_link_for_another(client, waiting, now):
    make_redirect_task(client, now=now, email=ALICE, return_to="/alice/")
    assert client.post(link()).url == "/done/"
    assert HolderSession.objects.get().wallet.email == NORA


def test_a_link_is_good_once_and_the_second_of_two_clicks_arrives_where_the_first_does(client, waiting):
    assert client.post(link()).url == "/done/"
    assert client.post(link()).url == "/done/"
    assert HolderSession.objects.count() == 1
    client.post(reverse("wallet_sign_out"))
    for response in (client.get(link()), client.post(link())):
        assert response.status_code == 410
        assert "no longer works" in response.content.decode()


def test_a_link_expires_after_half_an_hour(client, waiting, now):
    LoginLink.objects.update(expires_at=now)
    assert client.post(link()).status_code == 410


def test_a_link_is_gone_from_the_instant_at_which_it_expires(client, waiting):
    secret, expires_at = newest_link(), LoginLink.objects.get().expires_at
    RedirectTask.objects.update(expires_at=expires_at + MOMENT, link_until=expires_at + MOMENT)
    found = links.redirect_task_for(secret, browser=waiting.browser, now=expires_at - MOMENT)
    assert found == waiting
    with pytest.raises(links.LinkGoneError):
        links.redirect_task_for(secret, browser=waiting.browser, now=expires_at)
    with pytest.raises(links.LinkGoneError):
        links.use(secret, now=expires_at)


def test_an_expired_redirect_task_is_not_waited_for(client, waiting, now):
    RedirectTask.objects.update(expires_at=now)
    assert client.post(link()).status_code == 403


@pytest.mark.parametrize("secret", ["x", "A" * 22, "A" * 3000, "é", "' OR 1=1", "%00"])
def test_a_link_that_was_made_up_is_gone(client, waiting, secret):
    response = client.get(f"/wallet/link/{secret}/")
    assert response.status_code in (404, 410)


def test_the_form_of_another_site_does_nothing(client, waiting):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies.copy()
    assert strict.post(link()).status_code == 403
    assert not HolderSession.objects.exists()


def test_a_suspended_wallet_leads_back_and_not_in(client, nora, waiting):
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    response = client.post(link())
    assert response.status_code == 403
    assert 'href="/left/"' in response.content.decode()
    assert not HolderSession.objects.exists()


def test_signing_in_by_link_makes_a_new_session(client, waiting):
    client.cookies[project_settings.HOLDER_COOKIE_NAME] = planted = "p" * 43
    client.post(link())
    assert client.cookies[project_settings.HOLDER_COOKIE_NAME].value != planted


def test_asking_again_within_a_minute_shows_the_same_page_and_sends_nothing(client, waiting):
    sent = len(mail.outbox)
    response = client.post(page("wallet_sign_in", waiting))
    assert (response.status_code, response.url) == (303, page("wallet_code", waiting))
    assert len(mail.outbox) == sent


def test_pages_with_the_link_are_never_stored_and_name_it_to_nobody(client, waiting):
    response = client.get(link())
    assert "no-store" in response.headers["Cache-Control"]
    assert response.headers["Referrer-Policy"] in ("same-origin", "no-referrer")


def test_no_log_line_has_the_link(client, waiting, capsys):
    client.get(link())
    client.post(link())
    log = capsys.readouterr().err
    assert "[config.middleware]" in log
    assert newest_link() not in log


def test_the_table_does_not_hold_the_link(waiting):
    secret = newest_link()
    assert len(secret) == 22  # 128 bits
    assert secret not in str(LoginLink.objects.values().get())


@pytest.mark.slow
def test_nothing_tells_whether_an_address_is_known(alice, now):
    seen = {}
    for email in (ALICE, "cilia@example.org"):
        for number in range(21):
            person = other_browser()
            digest = sha256_hex("z" * 43)
            redirect_task = make_redirect_task(person, now=now, email=email, browser=digest)
            person.cookies[project_settings.BROWSER_COOKIE_NAME] = "z" * 43
            person.defaults["REMOTE_ADDR"] = f"192.0.2.{number}"
            responses = [
                person.post(page("wallet_sign_in", redirect_task)),
                person.get(page("wallet_code", redirect_task)),
            ]
        responses.append(person.get(link()))
        responses.append(other_browser("y").get(link()))
        hidden = (redirect_task.id, email, newest_link())
        seen[email] = [(response.status_code, masked(response, *hidden)) for response in responses]
    assert seen[ALICE] == seen["cilia@example.org"]


def test_the_link_arrives_over_smtp_in_text_and_html_and_says_why(client, redirect_task, now, settings):
    strangers_use_up(now)
    LoginLink.objects.all().delete()
    from infra.models import Allowance

    Allowance.objects.filter(expires_at=now + links.LINKS_PER_EMAIL.window).delete()
    with mail_server.running(settings) as server:
        client.post(page("wallet_sign_in", redirect_task))
        [envelope] = server.envelopes
        message = server.newest()
    assert envelope.rcpt_tos == [NORA]
    text = message.get_body(("plain",)).get_content()
    html = message.get_body(("html",)).get_content()
    [address] = [word for word in text.split() if "/wallet/link/" in word]
    assert address.startswith(f"{project_settings.BASE_URL}/wallet/link/")
    assert f'href="{address}"' in html
    assert "many sign-in codes were asked for" in text
    assert "Acme Bank" not in text  # other browsers may wait for the same link
    assert address.rpartition("/link/")[2] not in message["Subject"]
    assert client.post(address.removeprefix(project_settings.BASE_URL)).url == "/done/"
