"""Transactions lock the rows of a person in one order, so that none of them waits for another in a circle."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import StringIO
from threading import Thread
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory

from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.presentation.requests.deciding import ask, decide
from tests.wallet.attempts import attempt_in
from tests.wallet.authenticator import Authenticator
from tests.wallet.conftest import code_in
from tests.wallet.operators import claimed, reviewer
from tests.wallet.recovering import DAY, PASSPORT, PERSON, recover, wait
from wallet.account.address import undoing
from wallet.account.closing import closures
from wallet.account.closing import sweeping as closing
from wallet.account.recovery import moving
from wallet.credential import revocation
from wallet.identity import recoveries, review
from wallet.identity.settling import settle
from wallet.identity.state_machine import to_review
from wallet.models import Credential, HolderSession, Recovery, StatusEntry, Wallet
from wallet.operations import suspension
from wallet.providers.findings import Verified
from wallet.sign_in import sessions

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql,
    pytest.mark.usefixtures("signing_key"),
]
FIRST = ["wallet_identityverification", "wallet_credential", "wallet_wallet"]
BELONGING = ["wallet_holdersession", "wallet_recovery", "wallet_walletclosure", "wallet_statusentry"]
BELONGING += ["wallet_passkey", "wallet_formeraddress", "consent_consent"]
RANKS = {table: min(rank, len(FIRST)) for rank, table in enumerate(FIRST + BELONGING)}
# The deletion of one of these begins with what refers to it, and nothing works on what is deleted.
_DELETED = re.compile(r'^DELETE FROM "wallet_(wallet|identityverification)"')
SIGN_IN_OPTIONS = "/wallet/passkeys/options/sign-in/"
BY = {"actor": "The tests", "reason": "a test"}

_WRITES = re.compile(r'\b(?:UPDATE|DELETE FROM)\s+"?(\w+)"?', re.I)
_READS = re.compile(r'\b(?:FROM|JOIN)\s+"?(\w+)"?', re.I)
_LOCKING = re.compile(r'\bFOR (?:NO KEY )?(?:UPDATE|SHARE)\b(?: OF "(\w+)")?', re.I)


def locked_by(statement: str) -> list[str]:
    """The tables of RANKS whose rows the statement locks, in its order."""
    text = re.sub(r"\bDO UPDATE\b", "", statement)
    locking = _LOCKING.search(text)
    tables = [locking[1]] if locking and locking[1] else (_READS if locking else _WRITES).findall(text)
    return [table for table in tables if table in RANKS and not _DELETED.match(text)]


def order_of(statements: list[str]) -> list[str]:
    """The tables in the order in which the transaction locked them first."""
    return list(dict.fromkeys(table for statement in statements for table in locked_by(statement)))


@contextmanager
def transactions() -> Iterator[dict[str, list[str]]]:
    """The statements of each transaction, by its number in PostgreSQL."""
    found: dict[str, list[str]] = {}

    def note(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        if connection.in_atomic_block:
            number = connection.connection.execute("SELECT txid_current()").fetchone()[0]
            found.setdefault(number, []).append(sql)
        return result

    with connection.execute_wrapper(note):
        yield found


@contextmanager
def in_order(*expected: str) -> Iterator[None]:
    """Each transaction of the block locks in the order; one of them just these tables of FIRST, if named."""
    with transactions() as found:
        yield
    orders = [order_of(statements) for statements in found.values()]
    assert orders == [sorted(order, key=RANKS.__getitem__) for order in orders]
    first = [[table for table in order if table in FIRST] for order in orders]
    assert not expected or [f"wallet_{name}" for name in expected] in first, orders


def verified_anew(wallet: Wallet, now: datetime) -> None:
    settle(attempt_in("processing", wallet, now), Verified(PERSON, PASSPORT), now=now)


def test_an_approval(new: Wallet, now: datetime) -> None:
    with in_order("identityverification", "credential", "wallet"):
        verified_anew(new, now)


def test_a_renewal(old: Wallet, now: datetime) -> None:
    with in_order("identityverification", "credential", "wallet"):
        verified_anew(old, now)


def test_a_move(old: Wallet, new: Wallet, now: datetime) -> None:
    recover(new, now)
    wait(now, 6.5)
    with in_order("identityverification", "credential", "wallet"):
        moving.move(Recovery.objects.get(), now=now + 7 * DAY)


def test_a_closing(alice: Wallet, now: datetime) -> None:
    with in_order("wallet"):
        closures.ask(alice, now=now - DAY)
        closures.undo(alice, now=now)
    closures.ask(alice, now=now - 2 * DAY)
    with in_order("credential", "wallet"):
        closing.sweep(now=now)
        closing.sweep(now=now + DAY)


def test_what_operators_do(alice: Wallet, now: datetime) -> None:
    credential = Credential.objects.get()
    with in_order("wallet"):
        suspension.suspend(alice, **BY, now=now)
        suspension.reinstate(alice, **BY, now=now)
    with in_order("credential"):
        revocation.suspend(credential, **BY, now=now)
        revocation.reinstate(credential, **BY, now=now)
        revocation.revoke(credential, **BY, now=now)


def test_a_change_of_the_address_and_its_undoing(holder: Client, now: Any) -> None:
    with in_order("wallet"):
        holder.post("/wallet/security/address/", {"email": "alice@example.net"})
        holder.post("/wallet/security/address/confirm/", {"code": code_in(str(mail.outbox[-1].body))})
    (secret,) = re.findall(
        r"/wallet/address-undo/([\w-]+)/", " ".join(str(each.body) for each in mail.outbox)
    )
    with in_order("wallet"):
        undoing.undo(secret, now=now + timedelta(minutes=1))


@pytest.mark.parametrize("steps", [1, 2], ids=["in one statement", "step by step"])
def test_sharing_and_taking_back(holder: Client, acme_bank: RelyingParty, steps: int) -> None:
    with in_order():
        decided = ask(holder, acme_bank)
        page = path_of(Interaction.objects.get())
        answer = (
            holder.get(decide(holder, decided)) if steps == 2 else holder.post(page, {"decision": "share"})
        )
    assert "vp_token" in answer.headers["Location"]
    with in_order():
        holder.post(f"/wallet/history/{Interaction.objects.get().consent_id}/invalidate/")
    assert StatusEntry.objects.get().status


def test_signing_in_adding_a_passkey_and_signing_out(client: Client, alice: Wallet) -> None:
    key = Authenticator("http://localhost:8000")
    with in_order("wallet"):
        page = client.post("/wallet/sign-in/", {"email": alice.email}).url
        client.post(page, {"code": code_in(str(mail.outbox[-1].body))})
        options = client.post("/wallet/passkeys/options/add/").json()
        client.post("/wallet/passkeys/add/", {"passkey": key.create(options)})
    assert alice.passkeys.count() == 1
    with in_order():
        client.post("/wallet/passkeys/sign-in/", {"passkey": key.get(client.post(SIGN_IN_OPTIONS).json())})
        client.post("/wallet/sign-out/")
    assert not HolderSession.objects.exists()


def test_a_recovery_that_is_asked_for_and_stopped(old: Wallet, new: Wallet, now: datetime) -> None:
    with in_order("wallet"):
        recoveries.stop(recover(new, now), by="holder", reason="", now=now)
        recoveries.ask(new, "other@example.org", now=now)


@pytest.mark.parametrize("approves", [True, False])
def test_a_review(alice: Wallet, now: datetime, approves: bool) -> None:
    attempt = attempt_in("processing", alice, now)
    decided = {"operator": reviewer(), "reason": "seen", "now": now}
    with in_order(
        *(("identityverification", "credential", "wallet") if approves else ["identityverification"])
    ):
        to_review(attempt, "doubt", PERSON, PASSPORT, now=now)
        claimed(attempt)
        if approves:
            assert review.approve(attempt, *review.claims(attempt), **decided)
        else:
            review.decline(attempt, **decided)


def test_the_regular_commands(old: Wallet, new: Wallet, bob: Wallet, now: datetime) -> None:
    recover(new, now - 8 * DAY)
    attempt_in("started", bob, now - DAY)
    closures.ask(bob, now=now - 2 * DAY)
    with in_order("credential", "wallet"):
        call_command("sweep_identity_verifications", stdout=StringIO())
        call_command("clear_expired", stdout=StringIO())
        call_command("worker", once=True, jobs=["send_share_emails"])


# --- Races --------------------------------------------------------------------------------------------------


def until_waiting(count: int) -> None:
    """Returns once that many statements wait for a lock."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    deadline = time.monotonic() + 60
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(waiting)
            if cursor.fetchone()[0] >= count:
                return
    raise AssertionError(f"Fewer than {count} wait for a lock.")


def one_after_the_other(held: Any, *works: Callable[[], Any]) -> list[Any]:
    """The results or errors of these, which begin while `held` is locked; the first to wait goes on first."""
    results: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        try:
            results[number] = works[number]()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [Thread(target=run, args=(number,)) for number in range(len(works))]
    with transaction.atomic():
        assert list(held.select_for_update())
        for number, thread in enumerate(threads, 1):
            thread.start()
            until_waiting(number)
    for thread in threads:
        thread.join(30)
    return results


@pytest.mark.parametrize("other", ["renewal", "move"])
def test_sharing_beside_it_is_answered(
    client: Client,
    old: Wallet,
    new: Wallet,
    acme_bank: RelyingParty,
    sign_in: Any,
    now: datetime,
    other: str,
) -> None:
    """The wallet was locked first, and sharing the credential: one of the two failed with 503."""
    recover(new, now - 7 * DAY)
    if other == "move":
        wait(now - 7 * DAY, 6.5)
    sign_in(new)
    ask(client, acme_bank, login_hint=new.email)
    page = path_of(Interaction.objects.get())
    work = {
        "renewal": lambda: verified_anew(new, now),
        "move": lambda: moving.move(Recovery.objects.get(), now=now),
    }[other]

    shared, done = one_after_the_other(
        Credential.objects.filter(wallet=new), lambda: client.post(page, {"decision": "share"}), work
    )

    assert (shared.status_code, "vp_token" in shared.headers["Location"]) == (303, True)
    assert not isinstance(done, Exception), done


def test_signing_in_again_beside_a_closing_ends(holder: Client, alice: Wallet, now: Any) -> None:
    """The session before was deleted before the new one locked the wallet, and closing did the opposite."""
    closures.ask(alice, now=now - DAY)
    request = RequestFactory().get("/")
    request.COOKIES = {name: cookie.value for name, cookie in holder.cookies.items()}

    again, closed = one_after_the_other(
        HolderSession.objects.all(),
        lambda: sessions.start(request, HttpResponse(), Wallet.objects.get(), now=now),
        lambda: closing.sweep(now=now),
    )

    assert not isinstance(again, Exception), again
    assert closed["closed wallets"] == 1
