"""A person who needs more time gets it, up to a limit; the request stays what it was."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone

from consent import decisions
from consent.decisions import AlreadyDecidedError, ExpiredError
from consent.models import Consent
from presentation.models import Interaction, PushedRequest, RelyingParty
from presentation.requests import interactions, more_time
from presentation.requests.interactions import LIFETIME
from presentation.requests.more_time import LONGEST, LONGEST_WITH_PAYMENT
from tests.people import ALICE, enroll, register
from tests.presentation.clients import basic, with_secret
from tests.presentation.payloads import WIRE, value
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import ask
from tests.presentation.requests.pushing import go, pushed
from wallet.models import Credential, RedirectTask, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
SOON = timedelta(minutes=2)


def age(by: timedelta) -> None:
    """Let the only interaction, its question and its redirect task be that much older."""
    for model, names in (
        (Credential, ("issued_at",)),
        (Interaction, ("created_at", "expires_at")),
        (Consent, ("asked_at", "expires_at", "extendable_until")),
        (RedirectTask, ("created_at", "expires_at", "extendable_until")),
    ):
        for row in model.objects.all():
            changes = {name: moment - by for name in names if (moment := getattr(row, name))}
            model.objects.filter(pk=row.pk).update(**changes)


def more(client: Client, follow: bool = False, **fields: str) -> Any:
    address = f"/verifiable-credentials/v1/presentation/interactions/{Interaction.objects.get().id}/"
    return client.post(address, {"decision": "more_time", **fields}, follow=follow)


def left(model: Any = Interaction) -> timedelta:
    end: timedelta = model.objects.get().expires_at - timezone.now()
    return end


def shows_the_notice(page: str) -> bool:
    """Whether the notice beside the button says that there is more time; scripts find it hidden."""
    (notice,) = re.findall('<p class="notice notice-good" role="status"[^>]*>', page)
    return "hidden" not in notice


def test_more_time_gives_half_an_hour_from_now_and_the_page_again(
    holder: Client, acme_bank: RelyingParty
) -> None:
    page = ask(holder, acme_bank)
    age(LIFETIME - SOON)
    assert "I need more time" in holder.get(page).content.decode()

    response = more(holder, follow=True)

    assert response.redirect_chain == [(f"{page}?more_time=1", 303)]
    assert shows_the_notice(response.content.decode())
    assert not shows_the_notice(holder.get(page).content.decode())
    for model in (Interaction, Consent):
        assert LIFETIME - timedelta(minutes=1) < left(model) <= LIFETIME
    answer = holder.post(Consent.objects.get().return_to, {"decision": "share"})
    assert "vp_token" in fragment(answer.headers["Location"])


@pytest.mark.parametrize("payment", [False, True])
def test_more_time_ends_at_the_limit_and_the_page_says_so(
    holder: Client, acme_bank: RelyingParty, payment: bool
) -> None:
    page = ask(holder, acme_bank, **({"transaction_data": value(WIRE)} if payment else {}))
    longest = LONGEST_WITH_PAYMENT if payment else LONGEST
    began, times = Interaction.objects.get().created_at, 0
    while "I need more time" in holder.get(page).content.decode():
        age(LIFETIME - SOON)
        began -= LIFETIME - SOON
        more(holder)
        times += 1
        assert times < 10
    ends = {Interaction.objects.get().expires_at, Consent.objects.get().expires_at}
    assert ends == {began + longest}
    assert "It can’t be extended again." in holder.get(page).content.decode()

    more(holder)

    assert Interaction.objects.get().expires_at == began + longest


def test_nobody_gets_more_time_for_a_request_that_has_expired(
    holder: Client, acme_bank: RelyingParty
) -> None:
    ask(holder, acme_bank)
    age(LIFETIME)
    before = Interaction.objects.get().expires_at

    response = more(holder)

    assert response.status_code == 410
    assert "This request has expired" in response.content.decode()
    assert Interaction.objects.get().expires_at == before


def test_another_browser_cannot_extend_a_request(holder: Client, acme_bank: RelyingParty) -> None:
    ask(holder, acme_bank)
    age(LIFETIME - SOON)
    stranger = Client()

    assert more(stranger).status_code == 410
    assert left() < LIFETIME - timedelta(minutes=20)


def test_another_site_cannot_extend_a_request(alice: Wallet, acme_bank: RelyingParty, sign_in: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=browser)
    ask(browser, acme_bank)
    age(LIFETIME - SOON)

    assert more(browser).status_code in (303, 403)
    assert left() < LIFETIME - timedelta(minutes=20)


def test_a_request_that_the_registration_does_not_allow_any_more_ends_with_its_error(
    holder: Client, acme_bank: RelyingParty
) -> None:
    ask(holder, acme_bank)
    age(LIFETIME - SOON)
    RelyingParty.objects.update(allowed_scopes=[])

    response = more(holder)

    assert fragment(response.headers["Location"])["error"] == "invalid_scope"
    assert Interaction.objects.get().outcome == Interaction.Outcome.ERROR


def test_a_question_that_is_answered_is_not_extended(
    holder: Client, alice: Wallet, acme_bank: RelyingParty
) -> None:
    ask(holder, acme_bank)
    age(LIFETIME - SOON)
    decisions.decline(Consent.objects.get().id, alice, now=timezone.now())

    more(holder)

    assert left() < LIFETIME - timedelta(minutes=20)


def test_a_sign_in_on_the_way_gets_more_time_too(client: Client, db: None, acme_bank: RelyingParty) -> None:
    page = ask(client, acme_bank)
    assert "/wallet/" in page
    age(LIFETIME - SOON)

    response = more(client, follow=True)

    assert response.redirect_chain[-1][0] == page
    assert left(RedirectTask) > LIFETIME - timedelta(minutes=1)


def test_the_pages_of_a_sign_in_offer_more_time_up_to_the_limit_and_say_so(
    client: Client, acme_bank: RelyingParty
) -> None:
    page, times = ask(client, acme_bank), 0
    while "I need more time" in (body := client.get(page).content.decode()):
        assert "You can answer until" in body
        age(LIFETIME - SOON)
        more(client)
        times += 1
        assert times < 10
    assert times > 2
    assert "It can’t be extended again." in body
    assert RedirectTask.objects.get().expires_at == Interaction.objects.get().expires_at


def test_more_time_without_a_script_leads_back_to_the_page_it_was_asked_on(
    client: Client, acme_bank: RelyingParty
) -> None:
    page = ask(client, acme_bank)
    code = client.post(page).headers["Location"]
    age(LIFETIME - SOON)
    RedirectTask.objects.update(code_sent_at=timezone.now())
    assert f'<input type="hidden" name="page" value="{code}">' in client.get(code).content.decode()

    response = more(client, follow=True, page=code)

    assert response.redirect_chain == [(f"{code}?more_time=1", 303)]
    assert shows_the_notice(response.content.decode())
    assert "The code in it works for ten minutes" in response.content.decode()


@pytest.mark.parametrize(
    "page",
    [
        "https://attacker.example/",
        "//attacker.example/wallet/",
        "/wallet/security/",
        "/wallet/errands/00000000-0000-4000-8000-000000000000/code/",
        "{redirect_task}/sign-out/",
        "{redirect_task}/identity/cancel/",
        "{redirect_task}/code/?next=//attacker.example",
        "\\r\\nLocation: x",
        "\0",
    ],
)
def test_more_time_leads_to_no_page_but_those_of_its_own_request(
    client: Client, acme_bank: RelyingParty, page: str
) -> None:
    ask(client, acme_bank)
    own = f"/wallet/errands/{RedirectTask.objects.get().id}"

    response = more(client, page=page.replace("{redirect_task}", own))

    assert response.status_code == 303
    assert response.headers["Location"].startswith("/verifiable-credentials/v1/presentation/interactions/")


def test_a_sign_in_that_nobody_waits_for_has_no_deadline(client: Client, alice: Wallet) -> None:
    body = client.post("/wallet/sign-in/", {"email": ALICE}, follow=True).content.decode()

    assert "The code in it works for ten minutes" in body
    assert "You can answer until" not in body
    assert "time-warning" not in body


def test_a_page_that_only_leads_back_has_no_deadline(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any
) -> None:
    page = ask(client, acme_bank)
    signed_out = page.replace("sign-in", "signed-out")
    assert "time-warning" in client.get(signed_out).content.decode()  # "Sign in again and go on"
    RedirectTask.objects.update(expires_at=timezone.now())
    assert "time-warning" not in client.get(signed_out).content.decode()


def test_a_pushed_request_is_still_known_when_an_extended_one_is_answered(holder: Client) -> None:
    party, secret = with_secret()
    go(holder, pushed(holder, (party, basic(party.client_id, secret))), party)
    age(LIFETIME - SOON)
    more(holder)
    for _ in range(3):
        age(LIFETIME - SOON)
        PushedRequest.objects.update(expires_at=F("expires_at") - (LIFETIME - SOON))
        more(holder)
        call_command("clear_expired")

    answer = holder.post(Consent.objects.get().return_to, {"decision": "share"})

    assert "vp_token" in fragment(answer.headers["Location"])


def test_the_nonce_of_an_extended_request_counts_once(holder: Client, acme_bank: RelyingParty) -> None:
    ask(holder, acme_bank, nonce="used-once-and-for-all-0123456789")
    first = Consent.objects.get().return_to
    more(holder)
    assert "vp_token" in fragment(holder.post(first, {"decision": "share"}).headers["Location"])

    again = ask(Client(), acme_bank, nonce="used-once-and-for-all-0123456789")

    assert fragment(again)["error"] == "invalid_request"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", ["decision", "expiry"])
def test_more_time_and_a_rival_never_both_win(rival: str) -> None:
    """An answer that counts is not extended; an extension that counts is whole: both rows or none."""
    party = register("Acme Bank", "https://bank.example/callback")
    alice = Wallet.objects.filter(email=ALICE).first() or _alice()
    for _ in range(8):
        Interaction.objects.all().delete()
        consent = _question(party, alice)
        now = timezone.now()
        if rival == "expiry":
            late = Consent.objects.get(id=consent.id).expires_at
            clocks = [late - timedelta(microseconds=1), late, late + timedelta(seconds=1)]
        else:
            clocks = [now, now, now]
        start, failed = threading.Barrier(4), []
        opened = [_opened() for _ in clocks]

        def run(work: Any, start: Any = start, failed: Any = failed) -> None:
            try:
                connection.ensure_connection()
                start.wait()
                work()
            except (AlreadyDecidedError, ExpiredError):
                pass
            except Exception as error:  # returned to the test
                failed.append(error)
            finally:
                connection.close()

        works = [
            lambda one=one, clock=clock: more_time.give(one, now=clock)
            for one, clock in zip(opened, clocks, strict=True)
        ]
        works.append(lambda consent=consent, now=now: decisions.grant(consent.id, alice, now=now))
        threads = [threading.Thread(target=run, args=[work]) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failed == []
        row = Interaction.objects.select_related("consent").get()
        assert row.consent is not None
        assert row.expires_at == row.consent.expires_at
        assert row.consent.decision == "granted"


def _alice() -> Wallet:
    from datetime import date

    return enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=date(1990, 4, 1))


def _question(party: RelyingParty, alice: Wallet) -> Consent:
    """A question of an interaction that ends soon."""
    from tests.consent.questions import put

    now = timezone.now()
    ends, began = now + SOON, now + SOON - LIFETIME
    consent = put(alice, expires_at=ends, extendable_until=began + LONGEST)
    Interaction.objects.create(
        relying_party=party,
        redirect_uri="https://bank.example/callback",
        browser="b" * 64,
        parameters={"scope": "openid", "client_id": party.client_id},
        request_hash="a" * 64,
        nonce_digest="c" * 64,
        consent=consent,
        created_at=began,
        expires_at=ends,
    )
    return consent


def _opened() -> interactions.OpenInteraction:
    row = Interaction.objects.select_related("relying_party", "consent").get()
    opened = interactions.OpenInteraction(row, interactions.return_address_of(row), registered_uris=None)

    class Without:
        transaction_data = ()

    opened.__dict__["request"] = Without()
    return opened
