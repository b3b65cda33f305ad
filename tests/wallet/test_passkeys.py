"""Passkeys: adding, naming and removing them, and signing in with them; and what is refused."""

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings as project_settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from infra import base64url
from infra.sealing import sha256_hex
from tests.people import ALICE, BOB, NORA
from tests.wallet import mail_server
from tests.wallet.authenticator import BACKED_UP, CAN_BACK_UP, PRESENT, VERIFIED, Authenticator
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import masked, together
from wallet.account.closing import closures
from wallet.account.fresh import FRESH_FOR
from wallet.models import HolderSession, KnownBrowser, Passkey, PasskeyChallenge, Wallet, WalletClosure
from wallet.passkeys import assertion, registration
from wallet.passkeys.assertion import Purpose
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.views import sign_in as sign_in_pages

ADD, SECURITY, FRONT_DOOR = "wallet_passkey_add", "wallet_security", "wallet_passkey_front_door"
ON_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36"


@pytest.fixture
def authenticator(settings):
    """A new passkey on a device."""
    return Authenticator(settings.BASE_URL)


def options(client, name, *args):
    response = client.post(reverse(f"wallet_passkey_options{name}", args=args))
    assert response.status_code == 200, response.content
    return response.json()


def post(client, name, posted, *args, **headers):
    return client.post(reverse(name, args=args), {"passkey": posted}, **headers)


def add(client, authenticator, **headers):
    return post(client, ADD, authenticator.create(options(client, "_add")), **headers)


@pytest.fixture
def passkey(client, alice, sign_in, authenticator):
    """Alice's passkey; she is signed out again."""
    sign_in(alice)
    response = add(client, authenticator)
    assert response.status_code == 303, response.content.decode()
    client.post(reverse("wallet_sign_out"))
    mail.outbox.clear()
    return Passkey.objects.get()


def enter(client, authenticator, **changes):
    """Signs in at the front door."""
    changed = authenticator.changed(**changes)
    return post(client, FRONT_DOOR, changed.get(options(client, "")))


# --- adding


def test_a_holder_adds_a_passkey_and_reads_its_name_and_dates(holder, alice, authenticator):
    response = add(holder, authenticator, headers={"user-agent": ON_WINDOWS})
    assert (response.status_code, response.url) == (303, reverse(SECURITY) + "?passkey=added")
    text = holder.get(response.url).content.decode()
    assert "Your passkey was added." in text
    assert "Windows computer" in text
    assert "Not used yet" in text
    stored = Passkey.objects.get()
    assert (stored.wallet, stored.transports, stored.backed_up) == (alice, ["internal"], False)


def test_the_holder_gets_an_email_when_a_passkey_is_added_or_removed(holder, authenticator):
    add(holder, authenticator, headers={"user-agent": ON_WINDOWS})
    (message,) = mail.outbox
    assert (message.to, message.subject) == ([ALICE], "A passkey was added to your wallet")
    assert "Windows computer" in message.body
    holder.post(reverse("wallet_passkey_remove", args=[Passkey.objects.get().id]))
    assert mail.outbox[1].subject == "A passkey was removed from your wallet"
    assert "Windows computer" in mail.outbox[1].body


def test_the_passkey_is_added_even_if_the_email_cannot_be_sent(
    client, alice, sign_in, authenticator, settings
):
    mail_server.point_at(settings, port=1)  # nothing listens there
    sign_in(alice)
    assert add(client, authenticator).status_code == 303
    assert Passkey.objects.count() == 1


def test_what_an_authenticator_stores_names_neither_the_person_nor_the_whole_address(holder):
    asked = options(holder, "_add")
    assert asked["user"]["id"]
    assert ALICE not in str(asked)
    assert asked["user"]["name"] == asked["user"]["displayName"] == "al…@example.org"
    assert asked["rp"]["id"] == "localhost"
    chosen = asked["authenticatorSelection"]
    assert (chosen["residentKey"], chosen["userVerification"]) == ("required", "required")
    assert asked["attestation"] == "none"


def test_a_wallet_has_several_passkeys_with_different_names(holder, settings):
    for _number in range(2):
        add(holder, Authenticator(settings.BASE_URL), headers={"user-agent": ON_WINDOWS})
    add(holder, Authenticator(settings.BASE_URL, transports=("usb",), attachment="cross-platform"))
    add(holder, Authenticator(settings.BASE_URL, transports=("hybrid",), attachment="cross-platform"))
    names = list(Passkey.objects.values_list("name", flat=True))
    assert names == ["Windows computer", "Windows computer (2)", "Security key", "Phone or tablet"]
    assert len(options(holder, "_add")["excludeCredentials"]) == 4


def test_nobody_adds_a_passkey_with_an_old_session(client, alice, sign_in, authenticator):
    asked_in_time = sign_in(alice) and options(client, "_add")
    HolderSession.objects.update(signed_in_at=timezone.now() - FRESH_FOR)
    assert client.post(reverse("wallet_passkey_options_add")).status_code == 403
    response = post(client, ADD, authenticator.create(asked_in_time))
    assert response.url.endswith("/sign-in/")
    assert client.get(reverse(ADD)).url == response.url
    assert not Passkey.objects.exists()


def test_an_old_session_is_confirmed_first_and_comes_back_to_add_a_passkey(client, alice, sign_in):
    sign_in(alice, ago=FRESH_FOR)
    response = client.get(reverse(ADD))
    assert response.status_code == 303
    assert response.url.endswith("/sign-in/")
    client.post(response.url)
    code = mail.outbox[-1].body
    digits = next(word for word in code.split() if word.isdigit() and len(word) == 6)
    back = client.post(response.url.replace("sign-in", "code"), {"code": digits})
    assert back.url == reverse(ADD)
    assert 'data-passkey="create"' in client.get(back.url).content.decode()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"origin": "https://localhost.evil.example"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"rp_id": "evil.example"}, 403),
        ({"flags": PRESENT}, 403),
        ({"flags": VERIFIED}, 403),
        ({"flags": PRESENT | VERIFIED | BACKED_UP}, 403),
        ({"client_data": {"type": "webauthn.get"}}, 422),
        ({"client_data": {"crossOrigin": True}}, 422),
        ({"client_data": {"topOrigin": "https://evil.example"}}, 422),
        ({"client_data": {"challenge": "AAAA"}}, 410),
        ({"client_data": {"challenge": 7}}, 422),
        ({"credential_id": bytes(1024)}, 422),
    ],
)
def test_a_new_passkey_that_is_not_as_asked_is_refused(holder, authenticator, changes, code):
    response = add(holder, authenticator.changed(**changes))
    assert response.status_code == code
    assert "<title>Error:" in response.content.decode()
    assert "Go back and try again" in response.content.decode()
    assert not Passkey.objects.exists()


@pytest.mark.parametrize(
    "posted", ["", "{}", "[]", "null", "x" * 20_000, "[" * 9_000, '{"type":"public-key"}']
)
def test_what_no_browser_makes_is_refused_with_a_page(holder, posted):
    assert post(holder, ADD, posted).status_code == 422
    holder.post(reverse("wallet_sign_out"))
    assert post(holder, FRONT_DOOR, posted).status_code == 422


def test_a_new_passkey_under_the_id_of_another_one_is_refused(holder, authenticator):
    posted = json.loads(authenticator.create(options(holder, "_add")))
    posted["id"] = posted["rawId"] = base64url.encode(bytes(32))
    assert post(holder, ADD, json.dumps(posted)).status_code == 403
    assert not Passkey.objects.exists()


def test_a_challenge_adds_one_passkey_only(holder, authenticator, settings):
    asked = options(holder, "_add")
    assert post(holder, ADD, authenticator.create(asked)).status_code == 303
    assert post(holder, ADD, Authenticator(settings.BASE_URL).create(asked)).status_code == 410
    assert Passkey.objects.count() == 1


def test_a_challenge_of_another_session_or_purpose_adds_nothing(holder, bob, sign_in, authenticator):
    bobs = Client()
    sign_in(bob, browser=bobs)
    theirs = options(bobs, "_add")
    assert post(holder, ADD, authenticator.create(theirs)).status_code == 410
    to_confirm = options(holder, "_confirm", "6f9619ff-8b86-d011-b42d-00cf4fc964ff")
    asked = options(holder, "_add") | {"challenge": to_confirm["challenge"]}
    assert post(holder, ADD, authenticator.create(asked)).status_code == 410
    assert not Passkey.objects.exists()


def test_a_passkey_is_not_added_after_its_session_has_ended(alice, now, authenticator):
    """Between the beginning of the request and its end, another browser signed this one out."""
    session = session_of(alice, now)
    made = authenticator.create(to_sign(Purpose.ADD, session, now))
    HolderSession.objects.all().delete()

    with pytest.raises(PasskeyError, match="too_late"):
        registration.add(made, session, user_agent="", now=now)

    assert not Passkey.objects.exists()
    assert mail.outbox == []


def test_a_passkey_of_another_wallet_cannot_be_added_again(client, passkey, bob, sign_in, authenticator):
    sign_in(bob)
    response = add(client, authenticator.changed())
    assert response.status_code == 409
    assert Passkey.objects.get().wallet == passkey.wallet


def test_a_wallet_has_at_most_twenty_passkeys(holder, alice, authenticator, now):
    for number in range(registration.MOST):
        stored(alice, f"id{number}", now)
    response = add(holder, authenticator)
    assert response.status_code == 409
    assert "20 passkeys" in response.content.decode()
    assert Passkey.objects.count() == registration.MOST


def stored(wallet, credential_id, now):
    return Passkey.objects.create(
        wallet=wallet,
        name="Key",
        credential_id=credential_id,
        public_key=b"?",
        sign_count=0,
        backed_up=False,
        created_at=now,
    )


def session_of(wallet, now):
    later = now + timedelta(hours=1)
    return HolderSession.objects.create(
        digest="d" * 64, wallet=wallet, signed_in_at=now, last_seen_at=now, expires_at=later
    )


def to_sign(purpose, session, now):
    """Options with a new challenge, as a browser with this session gets them."""
    challenge = assertion.make_challenge(purpose, bound_to=session.digest, now=now)
    return {
        "challenge": base64url.encode(challenge),
        "user": {"id": base64url.encode(session.wallet.id.bytes)},
    }


# --- naming and removing


def test_a_passkey_is_renamed(client, passkey, sign_in):
    sign_in(passkey.wallet)
    page = reverse("wallet_passkey_rename", args=[passkey.id])
    assert passkey.name in client.get(page).content.decode()
    for wrong in ("", " ", "x" * 61, "a\0b"):
        response = client.post(page, {"name": wrong})
        assert response.status_code == 422
        assert "<title>Error:" in response.content.decode()
    assert client.post(page, {"name": "<b>Mine</b>"}).url == reverse(SECURITY)
    assert "&lt;b&gt;Mine&lt;/b&gt;" in client.get(reverse(SECURITY)).content.decode()


def test_a_removed_passkey_signs_nobody_in(client, passkey, sign_in, authenticator):
    sign_in(passkey.wallet)
    page = reverse("wallet_passkey_remove", args=[passkey.id])
    assert "Remove the passkey" in client.get(page).content.decode()
    assert Passkey.objects.exists()
    response = client.post(page)
    assert "Your passkey was removed." in client.get(response.url).content.decode()
    assert client.post(page).status_code == 404
    client.post(reverse("wallet_sign_out"))
    response = enter(client, authenticator)
    assert response.status_code == 403
    assert "We don’t know this passkey" in response.content.decode()
    assert not HolderSession.objects.exists()


@pytest.mark.parametrize("name", ["rename", "remove"])
def test_passkeys_of_others_are_not_found(client, passkey, bob, sign_in, name):
    page = reverse(f"wallet_passkey_{name}", args=[passkey.id])
    assert client.get(page).url == client.post(page).url == reverse("wallet_front_door")
    sign_in(bob)
    assert client.get(page).status_code == client.post(page, {"name": "Bob's"}).status_code == 404
    assert Passkey.objects.get().name == passkey.name


@pytest.mark.parametrize("name", ["add", "close_offer"])
def test_without_a_session_the_pages_lead_to_the_sign_in(client, db, name):
    response = client.post(reverse(f"wallet_passkey_{name}"))
    assert (response.status_code, response.url) == (303, reverse("wallet_front_door"))


# --- signing in


def test_a_passkey_signs_in_at_the_front_door_to_its_own_wallet(client, passkey, authenticator):
    response = enter(client, authenticator)
    assert (response.status_code, response.url) == (303, reverse("wallet_home"))
    assert HolderSession.objects.get().wallet == passkey.wallet
    assert ALICE in client.get(reverse(SECURITY)).content.decode()
    used = Passkey.objects.get()
    assert used.last_used_at is not None
    assert KnownBrowser.objects.exists()


def test_a_passkey_of_a_closing_wallet_signs_in_and_that_of_a_closed_one_never_does(
    client, passkey, authenticator, now
):
    closures.ask(passkey.wallet, now=now - timedelta(days=1))
    assert enter(client, authenticator).url == reverse("wallet_home")
    assert client.post(reverse("wallet_close_keep")).status_code == 303
    closures.ask(Wallet.objects.get(), now=now - timedelta(days=1))
    client.post(reverse("wallet_sign_out"))

    closures.close(WalletClosure.objects.get(undone_at=None), now=now)
    assert not Passkey.objects.exists()
    passkey.save(force_insert=True)  # as if it had been added at that moment

    response = enter(client, authenticator)
    assert response.status_code == 403
    assert "We don’t know this passkey" in response.content.decode()
    assert not HolderSession.objects.exists()


def test_a_number_to_sign_ends_with_the_session_that_asked_for_it(holder, alice, sign_in, authenticator):
    made = authenticator.create(options(holder, "_add"))
    HolderSession.objects.all().delete()
    sign_in(alice)
    assert post(holder, ADD, made).status_code == 410
    assert not Passkey.objects.exists()


def test_a_passkey_signs_in_on_a_redirect_task_and_goes_where_the_redirect_task_leads(
    client, passkey, authenticator, now
):
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    asked = options(client, "_errand", redirect_task.id)
    response = post(client, "wallet_passkey_sign_in", authenticator.get(asked), redirect_task.id)
    assert (response.status_code, response.url) == (303, "/done/")
    again = post(client, "wallet_passkey_sign_in", authenticator.get(asked), redirect_task.id)
    assert again.url == "/done/"  # a second click
    assert HolderSession.objects.get().wallet.email == ALICE


def test_signing_in_replaces_the_session(client, passkey, authenticator, sign_in, now):
    sign_in(passkey.wallet, ago=timedelta(hours=1))
    before = client.cookies[project_settings.HOLDER_COOKIE_NAME].value
    redirect_task = make_redirect_task(client, now=now, email=ALICE, fresh_since=now)
    asked = options(client, "_errand", redirect_task.id)
    post(client, "wallet_passkey_sign_in", authenticator.get(asked), redirect_task.id)
    assert client.cookies[project_settings.HOLDER_COOKIE_NAME].value != before
    assert not HolderSession.objects.filter(digest=sha256_hex(before)).exists()


def test_a_passkey_of_another_wallet_does_not_sign_in_on_a_redirect_task(
    client, passkey, authenticator, bob, now
):
    """The page is the same whether or not the address of the redirect task has a wallet."""
    pages = []
    for email in (BOB, NORA):
        redirect_task = make_redirect_task(client, now=now, email=email)
        asked = options(client, "_errand", redirect_task.id)
        assert "allowCredentials" not in asked or asked["allowCredentials"] == []
        response = post(client, "wallet_passkey_sign_in", authenticator.get(asked), redirect_task.id)
        assert response.status_code == 403
        assert ALICE not in response.content.decode()
        pages.append(masked(response, redirect_task.id))
    assert pages[0] == pages[1]
    assert not HolderSession.objects.exists()


def test_the_sign_in_pages_are_the_same_whether_or_not_the_wallet_has_a_passkey(client, passkey, bob, now):
    pages = []
    for email in (ALICE, BOB, NORA):
        redirect_task = make_redirect_task(client, now=now, email=email)
        response = client.get(reverse("wallet_sign_in", args=[redirect_task.id]))
        pages.append(masked(response, redirect_task.id, email))
    assert pages[0] == pages[1] == pages[2]
    assert b"Sign in with a passkey" in pages[0]


def test_a_suspended_wallet_is_refused_as_with_a_code(client, passkey, authenticator, now):
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    response = enter(client, authenticator)
    assert response.status_code == 403
    assert "This wallet is suspended" in response.content.decode()
    redirect_task = make_redirect_task(client, now=now, email=ALICE)
    asked = options(client, "_errand", redirect_task.id)
    response = post(client, "wallet_passkey_sign_in", authenticator.get(asked), redirect_task.id)
    assert response.status_code == 403
    assert "This wallet is suspended" in response.content.decode()
    assert not HolderSession.objects.exists()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"origin": "https://localhost.evil.example"}, 403),
        ({"rp_id": "evil.example"}, 403),
        ({"flags": PRESENT}, 403),
        ({"flags": VERIFIED}, 403),
        ({"user_handle": bytes(16)}, 403),
        ({"credential_id": b"another"}, 403),
        ({"client_data": {"type": "webauthn.create"}}, 422),
        ({"client_data": {"crossOrigin": True}}, 422),
        ({"client_data": {"challenge": "AAAA"}}, 410),
        ({"user_handle": bytes(65)}, 422),
    ],
)
def test_a_signature_that_is_not_as_asked_signs_nobody_in(client, passkey, authenticator, changes, code):
    response = enter(client, authenticator, **changes)
    assert response.status_code == code
    assert "<title>Error:" in response.content.decode()
    assert not HolderSession.objects.exists()


def test_a_signature_by_another_key_signs_nobody_in(client, passkey, authenticator, settings):
    other = Authenticator(settings.BASE_URL, credential_id=authenticator.credential_id)
    assert enter(client, other).status_code == 403
    assert not HolderSession.objects.exists()


def test_a_signature_counts_once(client, passkey, authenticator):
    posted = authenticator.get(options(client, ""))
    assert post(client, FRONT_DOOR, posted).status_code == 303
    client.post(reverse("wallet_sign_out"))
    response = post(client, FRONT_DOOR, posted)
    assert response.status_code == 410
    assert "That took too long" in response.content.decode()
    assert not HolderSession.objects.exists()


def test_a_refused_signature_uses_its_challenge_up(client, passkey, authenticator):
    asked = options(client, "")
    assert post(client, FRONT_DOOR, authenticator.changed(flags=PRESENT).get(asked)).status_code == 403
    assert post(client, FRONT_DOOR, authenticator.get(asked)).status_code == 410


def test_a_challenge_lives_five_minutes(client, passkey, authenticator, now):
    asked = options(client, "")
    PasskeyChallenge.objects.update(expires_at=now)
    assert post(client, FRONT_DOOR, authenticator.get(asked)).status_code == 410


def test_a_challenge_is_gone_from_the_instant_at_which_it_expires(db, now):
    moment = timedelta(microseconds=1)
    for used_at in (now + assertion.CHALLENGE_LIFETIME - moment, now + assertion.CHALLENGE_LIFETIME):
        made = assertion.make_challenge(Purpose.SIGN_IN, bound_to="b", now=now)
        in_time = used_at < now + assertion.CHALLENGE_LIFETIME
        with nullcontext() if in_time else pytest.raises(PasskeyError, match="too_late"):
            assertion.use_challenge(made, Purpose.SIGN_IN, bound_to="b", now=used_at)


def test_a_signature_for_another_browser_redirect_task_or_purpose_signs_nobody_in(
    client, passkey, authenticator, sign_in, now
):
    """An attacker who gets hold of a signature in one place cannot use it in another."""
    attacker = Client()
    attacker.cookies[project_settings.BROWSER_COOKIE_NAME] = "a" * 43
    assert post(attacker, FRONT_DOOR, authenticator.get(options(client, ""))).status_code == 410
    first, second = (make_redirect_task(client, now=now, email=ALICE) for _number in range(2))
    posted = authenticator.get(options(client, "_errand", first.id))
    assert post(client, "wallet_passkey_sign_in", posted, second.id).status_code == 410
    posted = authenticator.get(options(client, "_errand", first.id))
    assert post(client, FRONT_DOOR, posted).status_code == 410
    signed_in = Client()
    sign_in(passkey.wallet, browser=signed_in)
    posted = authenticator.get(options(signed_in, "_confirm", first.id))
    assert post(client, "wallet_passkey_sign_in", posted, first.id).status_code == 410
    assert HolderSession.objects.count() == 1


def test_a_sign_count_that_goes_back_is_refused_and_logged(client, passkey, authenticator, logged):
    assert enter(client, authenticator, sign_count=7).status_code == 303
    for count in (7, 6, 0):
        client.post(reverse("wallet_sign_out"))
        response = enter(client, authenticator, sign_count=count)
        assert response.status_code == 403
        assert "somebody may have a copy" in response.content.decode()
    assert [event["event"] for event in logged].count("passkey_counted_back") == 3
    assert Passkey.objects.get().sign_count == 7
    assert enter(client, authenticator, sign_count=8).status_code == 303


def test_whether_a_passkey_is_backed_up_is_kept_up_to_date(client, passkey, authenticator):
    flags = PRESENT | VERIFIED | CAN_BACK_UP | BACKED_UP
    assert enter(client, authenticator, flags=flags).status_code == 303
    assert Passkey.objects.get().backed_up


@pytest.mark.usefixtures("windows_just_begun")
def test_one_network_address_gets_a_limited_number_of_challenges(client, db, monkeypatch):
    limit = replace(sign_in_pages.CHALLENGES_PER_CLIENT, most=2)
    monkeypatch.setattr(sign_in_pages, "CHALLENGES_PER_CLIENT", limit)
    codes = [client.post(reverse("wallet_passkey_options")).status_code for _try in range(3)]
    assert codes == [200, 200, 429]
    assert PasskeyChallenge.objects.count() == 2


def test_forms_of_other_sites_are_refused(passkey, authenticator):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("wallet_passkey_options")).status_code == 403
    assert strict.post(reverse(FRONT_DOOR), {"passkey": "{}"}).status_code == 403


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_concurrent_uses_of_one_challenge_one_counts(now):
    for _round in range(5):
        made = assertion.make_challenge(Purpose.SIGN_IN, bound_to="b", now=now)
        use = partial(assertion.use_challenge, made, Purpose.SIGN_IN, bound_to="b", now=now)
        results = together(lambda _number, use=use: use())
        assert results.count(None) == 1
        assert sum(getattr(result, "code", "") == "too_late" for result in results) == 7


# --- the offer


def test_an_enrolled_holder_is_offered_a_passkey_until_they_answer(holder):
    assert "Sign in faster next time" in holder.get(reverse("wallet_home")).content.decode()
    response = holder.post(reverse("wallet_passkey_close_offer"))
    assert (response.status_code, response.url) == (303, reverse("wallet_home"))
    assert "Sign in faster next time" not in holder.get(response.url).content.decode()


def test_who_has_no_identity_or_had_a_passkey_is_not_offered_one(client, alice, nora, sign_in, settings):
    sign_in(nora)
    assert "Sign in faster" not in client.get(reverse("wallet_home")).content.decode()
    sign_in(alice)
    add(client, Authenticator(settings.BASE_URL))
    Passkey.objects.all().delete()
    assert "Sign in faster" not in client.get(reverse("wallet_home")).content.decode()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_requests_that_race_do_not_add_more_passkeys_than_a_wallet_may_have(now, settings):
    wallet = Wallet.objects.create(email=ALICE, created_at=now)
    for number in range(registration.MOST - 1):
        stored(wallet, f"id{number}", now)
    session = session_of(wallet, now)
    devices = [Authenticator(settings.BASE_URL) for _number in range(4)]
    made = [device.create(to_sign(Purpose.ADD, session, now)) for device in devices]
    results = together(lambda number: registration.add(made[number], session, user_agent="", now=now), 4)
    assert sum(getattr(result, "code", "") == "too_many" for result in results) == 3
    assert Passkey.objects.count() == registration.MOST


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_racing_signatures_with_one_count_one_signs_in(now, settings):
    wallet = Wallet.objects.create(email=ALICE, created_at=now)
    session = session_of(wallet, now)
    device = Authenticator(settings.BASE_URL)
    asked = partial(to_sign, session=session, now=now)
    registration.add(device.create(asked(Purpose.ADD)), session, user_agent="", now=now)
    posted = [device.changed(sign_count=5).get(asked(Purpose.SIGN_IN)) for _number in range(6)]
    prove = partial(assertion.prove, purpose=Purpose.SIGN_IN, bound_to=session.digest, now=now)
    results = together(lambda number: prove(posted[number]), 6)
    assert sum(isinstance(result, Passkey) for result in results) == 1
    assert sum(getattr(result, "code", "") == "copied" for result in results) == 5
