"""The yes and the answer in one statement: the same rows as step by step, and no answer twice."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from consent import decisions
from consent.models import Consent
from keys.models import SigningKey
from presentation.models import Interaction, RedirectURI, RelyingParty
from presentation.requests import answers
from presentation.requests.fast_path.reading import read_interaction_rows
from tests.presentation.dcql.queries import path, query, with_query
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import ask, url_of_interaction
from tests.wallet.statuses import INVALID
from wallet.credential import revocation
from wallet.models import Credential, StatusEntry, StatusList, Wallet
from wallet.status_lists import statuses, upkeep

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.postgresql]
Act = Callable[[], object]
SAID: dict[str, Any] = {"actor": "olga", "reason": "Reported stolen"}


@pytest.fixture
def asked(client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Callable[..., Any]) -> Interaction:
    """An open question to Alice, who is signed in; the status lists are open."""
    upkeep.keep_open(now=timezone.now())
    sign_in(alice)
    ask(client, acme_bank)
    return Interaction.objects.get()


def share(client: Client, interaction: Interaction, **fields: Any) -> dict[str, str]:
    """The answer to Alice's yes; empty for a page."""
    response = client.post(url_of_interaction(interaction), {"decision": "share", **fields})
    return fragment(response.headers["Location"]) if response.status_code == 303 else {}


@contextmanager
def before_the_statement(act: Act, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Acts after everything was read and signed, and gives whether the one statement did all of it."""
    write, done = answers.write_answer, []

    def later(*arguments: Any, **named: Any) -> bool:
        act()
        done.append(write(*arguments, **named))
        return done[-1]

    with monkeypatch.context() as patched:
        patched.setattr(answers, "write_answer", later)
        yield done


def columns(row: Any, *but: str) -> dict[str, Any]:
    """The columns of a row, except ids, times and what is random."""
    names = [field.attname for field in row._meta.concrete_fields if field.attname not in but]
    return {name: getattr(row, name) for name in names}


def test_the_rows_are_those_of_the_careful_way(
    client: Client, asked: Interaction, acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    with before_the_statement(lambda: None, monkeypatch) as done:
        at_once = share(client, asked)
    ask(client, acme_bank, nonce="another-fresh-nonce")
    other = Interaction.objects.get(outcome="")
    with monkeypatch.context() as patched:
        patched.setattr(answers, "answer_at_once", lambda *_, **__: None)
        carefully = share(client, other)

    assert done == [True]
    assert set(at_once) == set(carefully) == {"vp_token", "state"}
    one, two = Interaction.objects.order_by("created_at")
    own = ("id", "consent_id", "nonce_digest", "request_hash", "created_at", "expires_at", "answered_at")
    assert columns(one, *own) == columns(two, *own)
    assert one.answered_at == one.consent.decided_at
    times = ("asked_at", "expires_at", "extendable_until", "decided_at")
    own = ("id", "request_hash", "return_to", *times)
    assert columns(one.consent, *own) == columns(two.consent, *own)
    entries = {entry.reference: entry for entry in StatusEntry.objects.all()}
    own = ("id", "reference", "status_list_id", "idx", "expires_at")
    assert columns(entries[one.consent.id], *own) == columns(entries[two.consent.id], *own)
    assert len(entries) == 2


def take_every_place(asked: Interaction) -> None:
    """Leaves no free place in the open lists but the last one of each."""
    key, credential = SigningKey.objects.get(), Credential.objects.get()
    for number, size in StatusList.objects.values_list("id", "size"):
        StatusEntry.objects.bulk_create(
            StatusEntry(
                status_list_id=number,
                idx=idx,
                credential=credential,
                signing_key=key,
                expires_at=timezone.now(),
            )
            for idx in range(size - 1)
        )


def test_a_place_that_another_takes_meanwhile_costs_nothing_but_the_careful_way(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    StatusList.objects.update(size=64)
    with before_the_statement(lambda: take_every_place(asked), monkeypatch) as done:
        answer = share(client, asked)

    assert set(answer) == {"vp_token", "state"}
    assert StatusEntry.objects.filter(reference=asked.consent_id).count() == 1
    assert Consent.objects.get().decision == "granted"
    assert len(done) == 1  # almost always False: one place in 64 was left


@pytest.mark.parametrize(
    ("act", "decision"),
    [
        (lambda: revocation.revoke(Credential.objects.get(), now=timezone.now(), **SAID), "granted"),
        (lambda: revocation.suspend(Credential.objects.get(), now=timezone.now(), **SAID), "granted"),
        (lambda: Wallet.objects.update(closes_at=timezone.now()), "granted"),
    ],
    ids=["revoked", "suspended", "closing"],
)
def test_what_is_set_aside_meanwhile_is_not_shared(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch, act: Act, decision: str
) -> None:
    with before_the_statement(act, monkeypatch) as done:
        answer = share(client, asked)

    assert done == [False]
    assert answer["error"] == "access_denied"
    consent = Consent.objects.get()
    assert (consent.decision, consent.undelivered_at is not None) == (decision, True)
    assert not StatusEntry.objects.filter(reference=consent.id).exists()


def test_a_no_from_another_tab_meanwhile_stays_a_no(
    client: Client, asked: Interaction, alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decline() -> None:
        decisions.decline(asked.consent.id, alice, now=timezone.now())  # type: ignore[union-attr]

    with before_the_statement(decline, monkeypatch) as done:
        assert share(client, asked) == {}

    assert done == [False]
    assert Consent.objects.get().decision == "declined"
    assert not StatusEntry.objects.exists()


def test_a_question_that_expires_meanwhile_is_not_answered(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire() -> None:
        Consent.objects.update(expires_at=F("asked_at"))

    with before_the_statement(expire, monkeypatch) as done:
        assert share(client, asked) == {}

    assert done == [False]
    assert Consent.objects.get().decision == "asked"
    assert not StatusEntry.objects.exists()


def test_an_interaction_that_ends_meanwhile_gets_no_second_answer(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end() -> None:
        Interaction.objects.update(outcome="error", answered_at=timezone.now())

    with before_the_statement(end, monkeypatch) as done:
        assert share(client, asked) == {}

    assert done == [False]
    assert Interaction.objects.get().outcome == "error"
    assert Consent.objects.get().undelivered_at is not None


def test_a_yes_that_comes_after_the_refusal_is_not_stored(client: Client, asked: Interaction) -> None:
    client.get(f"{url_of_interaction(asked)}leave/")

    response = client.post(url_of_interaction(asked), {"decision": "share"})

    assert response.status_code == 410
    assert Consent.objects.get().decision == "asked"
    assert Consent.objects.get().expires_at <= timezone.now()


def test_a_refusal_after_a_yes_leaves_a_receipt_that_says_that_nothing_was_shared(
    client: Client, asked: Interaction, alice: Wallet
) -> None:
    decisions.grant(asked.consent_id, alice, now=timezone.now())

    client.get(f"{url_of_interaction(asked)}leave/")

    assert Interaction.objects.get().outcome == "error"
    assert Consent.objects.get().undelivered_at is not None


@contextmanager
def locked_holder(limit: str) -> Iterator[None]:
    """Another connection holds the row of the holder for longer than this connection may wait."""
    connection.ensure_connection()
    raw: Any = connection.connection
    with psycopg.connect(raw.info.dsn, password=raw.info.password) as other, connection.cursor() as cursor:
        other.execute("SELECT 1 FROM wallet_wallet FOR UPDATE")
        cursor.execute(f"SET {limit} = '200ms'")
        try:
            yield
        finally:
            other.rollback()
            cursor.execute(f"RESET {limit}")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("limit", "reason"), [("lock_timeout", "LockNotAvailable"), ("statement_timeout", "QueryCanceled")]
)
def test_an_answer_that_waited_too_long_for_a_lock_is_given_step_by_step(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    write, done = answers.write_answer, []

    def too_late(*arguments: Any, **named: Any) -> bool:
        with locked_holder(limit):
            done.append(write(*arguments, **named))
        return done[-1]

    monkeypatch.setattr(answers, "write_answer", too_late)
    with capture_logs() as logged:
        answer = share(client, asked)

    assert done == [False]
    assert set(answer) == {"vp_token", "state"}
    assert StatusEntry.objects.filter(reference=asked.consent_id).count() == 1
    (line,) = (line for line in logged if line["event"] == "answer_not_written_at_once")
    assert (line["reason"], line["interaction"]) == (reason, str(asked.id))


@pytest.mark.django_db(transaction=True)
def test_an_answer_whose_connection_is_lost_is_in_the_log_and_can_be_given_again(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang_up() -> None:
        raw: Any = connection.connection
        with psycopg.connect(raw.info.dsn, password=raw.info.password) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [raw.info.backend_pid])

    client.raise_request_exception = False
    try:
        with before_the_statement(hang_up, monkeypatch), capture_logs() as logged:
            response = client.post(url_of_interaction(asked), {"decision": "share"})
    finally:
        connection.close()

    assert response.status_code == 503
    (line,) = (line for line in logged if line["event"] == "presentation_failed")
    assert line["interaction"] == str(asked.id)
    assert Interaction.objects.get().outcome == ""
    assert Consent.objects.get().decision == "asked"
    assert set(share(client, asked)) == {"vp_token", "state"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["at once", "step by step"])
def test_a_yes_and_a_refusal_at_the_same_moment_agree_on_what_was_shared(
    client: Client,
    acme_bank: RelyingParty,
    alice: Wallet,
    sign_in: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    upkeep.keep_open(now=timezone.now())
    sign_in(alice)
    if way == "step by step":
        monkeypatch.setattr(answers, "answer_at_once", lambda *_, **__: None)
    for number in range(8):
        ask(client, acme_bank, nonce=f"a-fresh-nonce-{number:04}")
        interaction = Interaction.objects.get(outcome="")
        start, statuses = threading.Barrier(2), []

        def act(
            yes: bool, place: Interaction = interaction, start: Any = start, statuses: Any = statuses
        ) -> None:
            browser = Client()
            browser.cookies = client.cookies
            url = url_of_interaction(place)
            start.wait()
            response = browser.post(url, {"decision": "share"}) if yes else browser.get(f"{url}leave/")
            statuses.append(response.status_code)
            connection.close()

        threads = [threading.Thread(target=act, args=[yes]) for yes in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        interaction.refresh_from_db()
        consent = Consent.objects.get(id=interaction.consent_id)
        shared = consent.decision == "granted" and consent.undelivered_at is None
        assert shared == (interaction.outcome == "token")
        assert set(statuses) <= {303, 410}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["in another browser", "for another request", "in this browser"])
def test_a_nonce_that_gave_a_token_meanwhile_gives_no_other(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Only for the very same request in this browser is no error sent: it would contradict the token."""

    def use_up() -> None:
        twin = Interaction.objects.get(id=asked.id)
        twin.pk, twin.consent, twin.outcome, twin.answered_at = None, None, "token", timezone.now()
        if where == "in another browser":
            twin.browser = "0" * 64
        if where == "for another request":
            twin.request_hash = "0" * 64
        twin._state.adding = True
        twin.save()

    with before_the_statement(use_up, monkeypatch) as done:
        response = client.post(url_of_interaction(asked), {"decision": "share"})

    assert done == [False]
    asked.refresh_from_db()
    assert (asked.outcome, asked.error) == ("error", "invalid_request")
    assert Consent.objects.get().undelivered_at is not None
    if where == "in this browser":
        assert response.status_code == 410
        assert "Location" not in response.headers
    else:
        assert fragment(response.headers["Location"])["error"] == "invalid_request"


def test_a_key_that_is_retired_meanwhile_signs_nothing_that_leaves(
    client: Client, asked: Interaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    def retire() -> None:
        SigningKey.objects.update(state=SigningKey.State.RETIRED, retired_at=timezone.now())

    with before_the_statement(retire, monkeypatch) as done:
        answer = share(client, asked)

    assert done == [False]
    assert answer["error"] == "server_error"
    assert not StatusEntry.objects.exists()


def test_a_redirect_uri_that_was_removed_gets_no_answer(client: Client, asked: Interaction) -> None:
    RedirectURI.objects.all().delete()
    response = client.post(url_of_interaction(asked), {"decision": "share"})
    assert response.status_code == 400
    assert not StatusEntry.objects.exists()
    assert Interaction.objects.get().outcome == ""


def test_without_a_free_place_it_goes_the_careful_way(holder: Client, acme_bank: RelyingParty) -> None:
    ask(holder, acme_bank)
    assert not StatusList.objects.exists()
    assert set(share(holder, Interaction.objects.get())) == {"vp_token", "state"}


def test_places_are_drawn_from_the_whole_list(asked: Interaction) -> None:
    """A place that is free is read from anywhere in either list, not from its beginning."""
    size, now = StatusList.objects.all()[0].size, timezone.now()
    read = [read_interaction_rows(asked.id, wants_index=True, now=now).free_index for _ in range(200)]
    places = [place for place in read if place is not None]
    assert len(places) == 200
    assert len({number for number, _ in places}) == len(upkeep.SLOTS)
    assert len({idx for _, idx in places}) > 190
    assert max(idx for _, idx in places) > size * 3 // 4
    assert min(idx for _, idx in places) < size // 4


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempt", range(4))
@pytest.mark.parametrize("several", [1, 3])
def test_of_a_yes_and_a_revocation_at_the_same_moment_nothing_valid_stays(
    client: Client, asked: Interaction, acme_bank: RelyingParty, several: int, attempt: int
) -> None:
    if several > 1:
        RelyingParty.objects.update(wire_format=RelyingParty.WireFormat.OPENID4VP_1_0)
        queries = [query(path("given_name"), id=f"q{number}") for number in range(several)]
        ask(client, acme_bank, nonce="another-fresh-nonce", **with_query(*queries))
        asked = Interaction.objects.latest("created_at")
    barrier, answers = threading.Barrier(2), []

    def act(number: int) -> None:
        barrier.wait()
        if number:
            revocation.revoke(Credential.objects.get(), now=timezone.now(), **SAID)
        else:
            answers.append(share(client, asked))
        connection.close()

    threads = [threading.Thread(target=act, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (answer,) = answers
    entries = StatusEntry.objects.filter(reference=asked.consent_id)
    if "vp_token" in answer:
        assert entries.count() == several
        for entry in entries:
            assert statuses.not_valid(entry.status_list_id, now=timezone.now())[entry.idx] == INVALID
    else:
        assert answer.get("error") in ("access_denied", None)  # or a redirect to the identity check
        assert not entries.exists()
