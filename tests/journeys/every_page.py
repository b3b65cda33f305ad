"""The way through every page of a holder, in real Chromium. `look` is called on each page that is open."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from consent import decisions, statements
from consent.receipts import Receipt
from keys.models import StatementKey
from keys.rotation import due_steps
from presentation.transaction_data.entries import display, parse
from tests.code_page import enter_code
from tests.consent.questions import ACME, BASIC, put
from tests.people import NORA, register
from tests.presentation.payloads import FULL, value
from tests.relying_party import RelyingParty
from tests.wallet.statuses import presented
from wallet.account import pairwise
from wallet.credential.claims import SUBJECT
from wallet.models import IdentityVerification, Wallet

Look = Callable[[], None]
OF_A_HOLDER = (
    *(
        "wallet_home",
        "consent_history",
        "consent_requesters",
        "wallet_security",
        "wallet_passkey_add",
        "wallet_email_change",
    ),
    *("wallet_data", "wallet_close", "what_is_kept", "wallet_recovery", "home", "wallet_signed_out"),
)


def request_of_a_bank(service: Any) -> Callable[[str], str]:
    """Registers Acme Bank; gives the address of its request to the person with an e-mail address."""
    callback = f"{service.url}/"
    party = register("Acme Bank", callback, purpose="To open your account.")
    bank = RelyingParty(party.client_id, callback, service.url)
    return lambda email: bank.authorize_url(login_hint=email)


def press(page: Any, selector: str) -> None:
    page.wait_for_load_state()
    page.locator(selector).first.click()
    page.wait_for_load_state()


def signing_in_and_the_identity_check(page: Any, look: Look, request_of: Callable[[str], str]) -> None:
    page.goto(request_of(NORA))
    look()  # the address to confirm
    press(page, "main form .button")
    look()  # the code
    code = page.locator(".banner-code").inner_text()
    enter_code(page, f"{(int(code) + 1) % 1_000_000:06}")
    page.locator(".error-summary").wait_for()
    look()  # a wrong code
    enter_code(page, code)
    page.wait_for_url("**/identity/")
    look()  # what happens in the check
    here = page.url
    press(page, "main form[action$='/start/'] button")
    look()  # the simulated check
    page.goto(here)
    look()  # a check that goes on
    for outcome in ("resubmit", "declined"):
        page.goto(here)
        press(page, "main a.button, main form[action$='/start/'] button")
        page.locator(f"input[name=outcome][value={outcome}]").check()
        press(page, "main form .button")
        look()
    IdentityVerification.objects.update(state="review")
    page.goto(here)
    look()


def the_question_and_what_comes_after_it(page: Any, look: Look, alice: Wallet, service: Any) -> None:
    """page: where Alice is signed in."""
    now = timezone.now()
    parameter = " ".join(value(urn) for urn in FULL)
    shown = [display(each) for each in parse(parameter, credential_ids=["basic"], allowed_types=list(FULL))]
    bank = replace(ACME, sector="acme", recognised_by="Acme Bank\nAcme Loans")
    consent = put(alice, transactions=shown, claims=[*BASIC, SUBJECT], requester=bank)
    pairwise.of(alice, bank.sector, now=now)
    page.goto(f"{service.url}/consent/{consent.id}/")
    look()
    decisions.grant(consent.id, alice, now=now)
    presented(alice, reference=consent.id)
    page.reload()
    look()  # answered
    decisions.decline(put(alice).id, alice, now=now)
    for name in OF_A_HOLDER:
        page.goto(service.url + reverse(name))
        look()
    due_steps.rotate(now=now, kind=StatementKey)
    for name in ("consent_receipt", "consent_invalidate", "consent_new_number"):
        page.goto(service.url + reverse(name, args=[consent.id]))
        look()
    for name in ("consent_requester", "consent_deletion", "consent_report"):
        page.goto(service.url + reverse(name, args=[consent.requester_id]))
        look()
    consent.refresh_from_db()
    check = service.url + reverse("receipt_check")
    page.goto(check)
    look()
    for statement in (statements.of(Receipt.of(consent, now=now), now=now), "a.b.c"):
        page.goto(f"{check}#{statement}")
        page.locator("[role=status], [role=alert]").wait_for()
        look()  # genuine, and not
        page.goto(check)


def pages_without_a_session_and_errors(
    page: Any, look: Look, service: Any, request_of: Callable[[str], str]
) -> None:
    page.goto(service.url + reverse("wallet_front_door"))
    look()
    page.locator("input[name=email]").fill("x")
    press(page, "main form .button")
    look()  # an address that is none
    for path in (
        "/",
        "/nowhere/",
        "/wallet/link/" + "a" * 43 + "/",
        request_of(NORA).partition("?")[0][len(service.url) :],
    ):
        page.goto(service.url + path)
        look()
    page.goto(request_of(NORA))
    resume = page.locator("main a").last.get_attribute("href").replace("leave/", "")
    page.context.clear_cookies(name=settings.BROWSER_COOKIE_NAME)
    page.goto(service.url + resume)
    look()  # a request that another browser began
