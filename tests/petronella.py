"""Petronella Quicksilver, of whom everything is stored that can be, and where the database has it."""

import hashlib
import json
from datetime import date, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core import mail
from django.db import connection
from django.test import Client, RequestFactory, override_settings
from django.utils import timezone

from consent.models import Consent
from infra import browser as browsers
from infra.audit.recording import record
from infra.mail import outbox
from infra.mail.queue import EmailContent
from infra.sealing import SealError, seal_column, sha256_hex, unseal
from keys.sealed_columns import sealed_columns
from presentation.models import Delivery, Interaction, PushedRequest, RelyingParty
from presentation.requests import revocations
from presentation.scopes import catalogue
from tests.people import enroll, evidence_of
from tests.personal_data import TRANSACTION_DATA, plain
from tests.presentation.clients import FORM, basic, with_secret
from tests.presentation.requests.authorization_requests import IDENTITY, asked
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.presentation.requests.pushing import PAR
from tests.wallet.authenticator import Authenticator
from tests.wallet.conftest import code_in
from tests.wallet.operators import reviewer
from wallet.account.address import changes
from wallet.account.closing import closures, sweeping
from wallet.credential.claims import Identity
from wallet.identity import duplicates, pictures, recoveries, state_machine
from wallet.models import (
    IdentityVerification,
    Passkey,
    PasskeyChallenge,
    Recovery,
    StatusEntry,
    StopLink,
    Wallet,
)
from wallet.sign_in import known_browsers, links

ADDRESS = "petronella.quicksilver@example.org"
BEFORE, NEXT = "petronella.before@example.net", "petronella.next@example.com"
DOCUMENT_NUMBER = "X4RTZ0087"
JPEG = b"\xff\xd8 a picture that shows Petronella"
DIGESTS = {
    digest(address.encode()).hexdigest()
    for address in (ADDRESS, BEFORE, NEXT)
    for digest in (hashlib.sha256, partial(hashlib.md5, usedforsecurity=False))
}
PERSON = {
    ADDRESS,
    BEFORE,
    NEXT,
    "Petronella",
    "Quicksilver",
    "1979-11-23",
    DOCUMENT_NUMBER,
    "identity-reference-55310",
    "said that her phone was stolen",
    "the phone of her sister",
    "a move that nobody else knows of",
    *DIGESTS,
}
DAY = timedelta(days=1)


def in_the_database(wanted: set[str]) -> dict[str, set[str]]:
    """Which of the texts stand in which table; sealed columns are opened with the keys."""
    texts = {plain(text) for text in wanted}
    hits: dict[str, set[str]] = {}
    for place, content in (*_tables(), *_opened()):
        if here := {text for text in texts if text in content}:
            hits.setdefault(place, set()).update(here)
    return hits


def _tables() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
        found = []
        for table in names:
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            found += [(table, _text(value)) for row in cursor.fetchall() for value in row]
    return found


def _opened() -> list[tuple[str, str]]:
    found = []
    for column in sealed_columns():
        for row in column.rows():
            try:
                opened = unseal(getattr(row, column.name), context=column.context(row.pk))
            except SealError:
                continue
            found.append((row._meta.db_table, _text(opened)))
    return found


def _text(value: Any) -> str:
    if isinstance(value, memoryview | bytes):
        raw = bytes(value)
        return plain(raw.decode("latin-1") + raw.decode("utf-8", "ignore"))
    return plain(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))


def everything_stored(client: Client, bank: RelyingParty, sign_in: SignIn) -> Wallet:
    """Her wallet, with all that can be stored of somebody."""
    wallet = enroll(BEFORE, given_name="Petronella", family_name="Quicksilver", birth_date=date(1979, 11, 23))
    _changed_the_address(client, bank, wallet)
    _two_checks(wallet)
    Wallet.objects.filter(id=wallet.id).update(suspension_reason="She said that her phone was stolen")
    Wallet.objects.filter(id=wallet.id).update(share_emails=True, passkey_offered_at=timezone.now())
    _signs_in(client)
    _may_be_moved(wallet)
    links.send(ADDRESS, client=None, now=timezone.now())
    _shares(client, bank)
    _asked_and_pushed(client, bank)
    _adds_a_passkey(client)
    _is_written_to()
    wallet.refresh_from_db()
    return wallet


def _changed_the_address(client: Client, bank: RelyingParty, wallet: Wallet) -> None:
    """From BEFORE, with which a browser signed in and another was asked, to ADDRESS; now it is to be NEXT."""
    now = timezone.now()
    _signs_in(client, address=BEFORE)
    ask(Client(), bank, login_hint=BEFORE, nonce="nonce-of-the-address-before")
    known = browsers.digest(_with_cookies(client))
    for to in (ADDRESS, NEXT):
        wallet.refresh_from_db()
        changes.ask(wallet, to, browser=known or "", client="192.0.2.7", now=now)
        now += timedelta(minutes=2)
        if to == ADDRESS:
            code = code_in(str(mail.outbox[-1].body))
            changes.confirm(wallet, code, browser=known, client="192.0.2.7", now=now)
    known_browsers.remember(known or "", BEFORE, now=now)  # as a release before this one left it


def _with_cookies(client: Client) -> Any:
    request = RequestFactory().get("/")
    request.COOKIES = {name: cookie.value for name, cookie in client.cookies.items()}
    return request


def _may_be_moved(wallet: Wallet) -> None:
    """Somebody wants the wallet moved away, and its holder wants another one moved here."""
    now = timezone.now()
    moving = Recovery.objects.create(
        old=wallet,
        state="waiting",
        reason="A move that nobody else knows of",
        asked_at=now,
        matched_at=now,
        due_at=now + 7 * DAY,
    )
    StopLink.objects.create(digest=sha256_hex("stop"), recovery=moving, expires_at=now + 14 * DAY)
    recoveries.ask(wallet, "petronella.lost@example.org", now=now)


def _adds_a_passkey(client: Client) -> None:
    """In the browser that is signed in; further numbers wait to be signed there."""
    device = Authenticator(settings.BASE_URL)
    asked_for = client.post("/wallet/passkeys/options/add/").json()
    client.post("/wallet/passkeys/add/", {"passkey": device.create(asked_for)})
    Passkey.objects.update(name="the phone of her sister")
    client.post("/wallet/passkeys/options/add/")
    client.post("/wallet/passkeys/options/sign-in/")
    assert (Passkey.objects.count(), PasskeyChallenge.objects.count()) == (1, 2)


def _is_written_to() -> None:
    """An e-mail waits, because its sender does not run."""
    with override_settings(EMAILS_SENT_AT_ONCE=False):
        outbox.put(EmailContent(ADDRESS, "Shared again", "Hello Petronella"), purpose="shared")


def _two_checks(wallet: Wallet) -> None:
    now = timezone.now()
    first = IdentityVerification.objects.get(wallet=wallet)
    IdentityVerification.objects.update(provider_reference="identity-reference-55310")
    pictures.store(first, {"front": JPEG, "face": JPEG}, now=now)
    identity = Identity("Petronella", "Quicksilver", date(1979, 11, 23))
    evidence = evidence_of(document_number=DOCUMENT_NUMBER, document_expires_on=date(2031, 5, 17))
    duplicates.remember(wallet.credential, identity, evidence)
    second = IdentityVerification.objects.create(
        wallet=wallet, state="processing", provider="in_person", created_at=now, changed_at=now
    )
    second.provider_reference = "identity-reference-55310"
    second.save()
    pictures.store(second, {"front": JPEG}, now=now)
    state_machine.to_review(second, "unsure", identity, evidence, now=now)
    record(reviewer(), "claims_seen", second, now=now)
    record(reviewer(), "claims_seen", wallet, now=now)


def _signs_in(client: Client, address: str = ADDRESS) -> None:
    """In two browsers; the second is a new one, of which an e-mail tells."""
    for browser in (client, Client(headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0"})):
        to = browser.post("/wallet/sign-in/", {"email": address}).headers["Location"]
        browser.post(to, {"code": code_in(str(mail.outbox[-1].body))})


def _shares(client: Client, bank: RelyingParty) -> None:
    for number, decision in enumerate(["share", "decline", "share"]):
        page = ask(
            client,
            bank,
            login_hint=ADDRESS,
            nonce=f"nonce-of-many-characters-{number}",
            transaction_data=TRANSACTION_DATA,
        )
        client.get(decide(client, page, decision))
    answered = Interaction.objects.filter(outcome="token")
    assert answered.count() == 2
    _shares_what_may_be_left_out(client, bank)
    waiting = Delivery(interaction=answered[0], expires_at=timezone.now() + DAY)
    waiting.sealed_body = seal_column(waiting, "sealed_body", b"vp_token=about+Petronella")
    waiting.save(force_insert=True)


def _shares_what_may_be_left_out(client: Client, bank: RelyingParty) -> None:
    bank.allowed_scopes = list(catalogue.current())
    bank.save()
    page = ask(client, bank, login_hint=ADDRESS, nonce="nonce-of-optional-claims", scope=IDENTITY)
    assert client.get(page).status_code == 200
    consent = Consent.objects.get(id=page.split("/consent/")[1].split("/")[0])
    client.post(consent.return_to, {"decision": "share", "optional": "nationalities"})
    assert Consent.objects.get(id=consent.id).switched_on == [["nationalities"]]


def _asked_and_pushed(client: Client, bank: RelyingParty) -> None:
    ask(client, bank, login_hint=ADDRESS.upper(), transaction_data=TRANSACTION_DATA)
    ask(Client(), bank, login_hint=ADDRESS, nonce="nonce-of-a-stranger-1", transaction_data=TRANSACTION_DATA)
    party, secret = with_secret("Corner Shop")
    form = urlencode(asked(party, login_hint=ADDRESS, transaction_data=TRANSACTION_DATA))
    client.post(PAR, form, content_type=FORM, headers=basic(party.client_id, secret))
    assert PushedRequest.objects.count() == 1


def closed(wallet: Wallet) -> None:
    """Asked for, closed a day later, and finished when what was presented has been forgotten."""
    then = timezone.now() + DAY
    closures.ask(wallet, now=then - DAY)
    sweeping.sweep(now=then)
    revocations.collect(now=timezone.now())
    StatusEntry.objects.update(credential=None, signing_key=None, expires_at=None, reference=None, status=0)
    sweeping.sweep(now=then + DAY)
