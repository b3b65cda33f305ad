"""Sends webhooks: signed, retried at growing intervals, one instance at a time."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from infra import jobs
from infra.outbound import calls
from infra.outbound.calls import Outbound, OutboundError
from keys.sealed_columns import sealed_columns
from presentation.jobs import JOBS
from presentation.models import RelyingParty
from presentation.relying_parties import registration
from presentation.webhooks import delivery, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent, WebhookSecret
from tests.failing_rows import refusing
from tests.people import register
from tests.presentation.far_ends import answers, far_end
from tests.presentation.webhooks import Receiver, deliver, opted_in, receiving, waiting
from tests.processes import Commands, environment
from tests.wallet.conftest import together

pytestmark = pytest.mark.django_db
WAITING, DELIVERED, GIVEN_UP = "waiting", "delivered", "given up"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def secret(acme_bank: RelyingParty, receiver: Receiver) -> str:
    """Acme Bank gets every event at the receiver."""
    return opted_in(acme_bank, receiver.url)


@pytest.fixture
def bank(acme_bank: RelyingParty, secret: str) -> RelyingParty:
    """Acme Bank, which gets every event at the receiver."""
    return acme_bank


def log() -> list[tuple[str, int, int | None]]:
    events = WebhookEvent.objects.order_by("created_at", "subject")
    return [(event.state, event.attempts, event.response_status) for event in events]


def test_what_is_due_is_sent_as_the_standards_library_takes_it(
    acme_bank: RelyingParty, receiver: Receiver, secret: str
) -> None:
    (event,) = waiting(acme_bank)

    assert deliver() == 1

    ((headers, body),) = receiver.received
    assert receiver.verified(secret) == [json.loads(event.body)]
    assert UUID(headers["webhook-id"]) == event.pk
    assert headers["content-type"] == "application/json"
    assert "cookie" not in headers
    assert body == event.body.encode()
    assert log() == [(DELIVERED, 1, 204)]
    assert deliver() == 0


def test_what_fails_is_tried_again_later_with_the_same_id_and_a_time_of_its_own(
    bank: RelyingParty, receiver: Receiver
) -> None:
    start = timezone.now() - timedelta(minutes=2)
    receiver.statuses = [500, 429, 200]
    (event,) = waiting(bank, now=start)

    sent = [deliver(now=start + timedelta(seconds=seconds)) for seconds in (0, 3, 7, 50, 80)]

    assert sent == [0, 0, 0, 0, 1]
    assert receiver.ids == [str(event.pk)] * 3
    times = [int(headers["webhook-timestamp"]) for headers, _ in receiver.received]
    assert times == [int(start.timestamp()) + seconds for seconds in (0, 7, 80)]
    assert log() == [(DELIVERED, 3, 200)]
    assert WebhookEndpoint.objects.get().failures == 0


@pytest.mark.parametrize(
    ("status", "reached"),
    [(200, DELIVERED), (202, DELIVERED), (302, WAITING), (400, WAITING), (410, WAITING)],
)
def test_only_an_answer_of_2xx_means_that_it_arrived(
    bank: RelyingParty, receiver: Receiver, status: int, reached: str
) -> None:
    receiver.statuses = [status]
    waiting(bank)
    deliver()

    assert WebhookEvent.objects.get().state == reached
    assert len(receiver.received) == 1


def test_nothing_of_an_answers_body_is_kept(bank: RelyingParty, receiver: Receiver) -> None:
    receiver.statuses, receiver.body = [500], b"alice@example.org was not found"
    waiting(bank)
    deliver()

    assert WebhookEvent.objects.get().problem == "It answered with status 500."
    assert "alice" not in str(WebhookEvent.objects.values().get())


def test_after_three_days_it_is_given_up(bank: RelyingParty, receiver: Receiver) -> None:
    start = timezone.now()
    receiver.statuses = [500]
    waiting(bank, now=start)

    for hours in range(80):
        deliver(now=start + timedelta(hours=hours))

    ((state, attempts, status),) = log()
    assert (state, status) == (GIVEN_UP, 500)
    assert 36 <= attempts <= 76
    assert len(receiver.received) == attempts


def test_an_address_that_is_down_is_not_called_for_every_event(
    bank: RelyingParty, receiver: Receiver
) -> None:
    start = timezone.now()
    receiver.statuses = [503]
    waiting(bank, 50, now=start)

    for seconds in range(0, 3600, 10):
        deliver(now=start + timedelta(seconds=seconds))

    assert 8 <= len(receiver.received) <= 16


def test_when_it_is_back_everything_that_waits_is_sent_at_once(
    bank: RelyingParty, receiver: Receiver
) -> None:
    start = timezone.now()
    receiver.statuses = [503]
    waiting(bank, 5, now=start)
    for minutes in range(0, 600, 10):
        deliver(now=start + timedelta(minutes=minutes))
    receiver.statuses = [204]

    assert deliver(now=start + timedelta(minutes=620)) == 5
    assert {state for state, *_ in log()} == {DELIVERED}


def test_an_event_that_is_never_accepted_delays_no_other(bank: RelyingParty, receiver: Receiver) -> None:
    start = timezone.now()
    first, *_ = waiting(bank, 4, now=start)
    receiver.refused = str(first.pk)

    delivered = [deliver(now=start + timedelta(seconds=seconds)) for seconds in (0, 7, 100)]

    assert delivered == [0, 3, 0]
    assert log() == [(WAITING, 3, 400)] + [(DELIVERED, 1, 204)] * 3


def test_a_party_that_does_not_answer_holds_up_no_other(
    acme_bank: RelyingParty, corner_shop: RelyingParty, receiver: Receiver
) -> None:
    opted_in(acme_bank, f"http://127.0.0.1:{silent_port()}/")
    opted_in(corner_shop, receiver.url)
    waiting(acme_bank, 30)
    waiting(corner_shop, 30)

    assert deliver() == 30
    assert len(receiver.received) == 30
    assert WebhookEvent.objects.filter(attempts__gt=0, relying_party=acme_bank).count() == 1
    assert WebhookEvent.objects.get(attempts=1, state=WAITING).problem.startswith("The connection failed")


def silent_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_the_lease_of_a_killed_worker_expires_and_no_event_is_lost(
    bank: RelyingParty, receiver: Receiver
) -> None:
    now = timezone.now()
    (event,) = waiting(bank, now=now)
    assert delivery._take_lease(now)  # and the worker dies

    assert deliver(now=now + timedelta(seconds=30)) == 0
    assert deliver(now=now + timedelta(seconds=61)) == 1
    assert receiver.ids == [str(event.pk)]


def test_nothing_is_sent_to_a_suspended_party_until_it_is_reinstated(bank: RelyingParty) -> None:
    registration.suspend(bank, "Under review")
    waiting(bank)
    assert deliver() == 0

    registration.reinstate(bank)
    assert deliver() == 1


def test_without_a_secret_nothing_is_sent(acme_bank: RelyingParty, receiver: Receiver) -> None:
    acme_bank.webhook_url, acme_bank.webhook_events = receiver.url, ["presentation.completed"]
    acme_bank.save()
    waiting(acme_bank)
    assert deliver() == 0

    signing_secrets.rotate(acme_bank, now=timezone.now())
    assert deliver() == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "https://localhost:{port}/"]
)
def test_in_production_our_own_network_is_out_of_reach(
    acme_bank: RelyingParty, receiver: Receiver, url: str
) -> None:
    opted_in(acme_bank, url.format(port=receiver.url.split(":")[2].split("/")[0]))
    waiting(acme_bank)

    assert deliver(outbound=Outbound()) == 0
    assert receiver.received == []
    problem = WebhookEvent.objects.get().problem
    assert problem in (
        "Enter an address that begins with https://.",
        "The host is not on the public Internet.",
    )


def test_in_the_sandbox_only_this_machine_is_spoken_to_without_tls(
    acme_bank: RelyingParty, receiver: Receiver
) -> None:
    opted_in(acme_bank, "http://shop.example/")
    waiting(acme_bank)
    assert deliver() == 0

    acme_bank.webhook_url = receiver.url.replace("127.0.0.1", "localhost")
    acme_bank.save()
    elsewhere = Outbound(loopback=True, resolve=lambda host, port: ["192.0.2.1"])
    assert deliver(now=timezone.now() + timedelta(hours=1), outbound=elsewhere) == 0
    assert WebhookEvent.objects.get().problem == "The host is not on the public Internet."


def test_it_goes_out_by_tls(acme_bank: RelyingParty) -> None:
    with far_end(answers(b"", status="204 No Content")) as far:
        secret = opted_in(acme_bank, far.url("/told"))
        (event,) = waiting(acme_bank)
        assert deliver(outbound=far.outbound()) == 1

    head, _, body = far.requests[0].decode().partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    assert head.startswith("POST /told HTTP/1.1")
    assert Webhook(secret).verify(body, headers) == json.loads(event.body)


# --- Responses of an address ------------------------------------------------------------------------------


def test_an_address_that_is_gone_is_not_called_until_there_is_another(
    bank: RelyingParty, receiver: Receiver
) -> None:
    now = timezone.now()
    receiver.statuses = [410]
    waiting(bank, 2, now=now)
    for hours in range(5):
        deliver(now=now + timedelta(hours=hours))
    assert len(receiver.received) == 1
    receiver.statuses = [204]
    bank.webhook_url = f"{receiver.url}&again"
    bank.save()

    assert deliver(now=now + timedelta(hours=6)) == 2


def test_an_address_that_is_gone_is_called_when_an_operator_sends_again(
    bank: RelyingParty, receiver: Receiver
) -> None:
    receiver.statuses = [410, 204]
    waiting(bank)
    deliver()

    delivery.send_again(WebhookEvent.objects.all(), now=timezone.now())

    assert deliver() == 1


@pytest.mark.parametrize(("status", "said", "waits"), [(429, "600", 600), (503, "86400", 3600)])
def test_who_asks_to_wait_is_left_alone_within_bounds(
    bank: RelyingParty, receiver: Receiver, status: int, said: str, waits: int
) -> None:
    now = timezone.now()
    receiver.statuses, receiver.retry_after = [status, 204], said
    waiting(bank, 2, now=now)
    deliver(now=now)

    sent = [deliver(now=now + timedelta(seconds=seconds)) for seconds in (60, waits - 1, waits)]

    assert sent == [0, 0, 2]


def test_a_short_wait_is_no_shorter_than_our_own(bank: RelyingParty, receiver: Receiver) -> None:
    now = timezone.now()
    receiver.statuses, receiver.retry_after = [503], "0"
    waiting(bank, now=now)
    deliver(now=now)

    assert deliver(now=now + timedelta(seconds=3)) == 0
    assert len(receiver.received) == 1


@pytest.mark.parametrize("wanted", [[], ["credential.revoked"]])
def test_what_is_no_longer_wanted_is_not_sent(
    bank: RelyingParty, receiver: Receiver, wanted: list[str]
) -> None:
    waiting(bank, 2)
    bank.webhook_events = wanted
    bank.save()

    assert deliver() == 0
    assert receiver.received == []
    assert {state for state, *_ in log()} == {"unwanted"}
    assert delivery.send_again(WebhookEvent.objects.all(), now=timezone.now()) == 0


def test_what_is_still_wanted_is_sent(bank: RelyingParty, receiver: Receiver) -> None:
    waiting(bank, 2)
    denied, completed = WebhookEvent.objects.order_by("pk")
    WebhookEvent.objects.filter(pk=denied.pk).update(type="presentation.denied")
    bank.webhook_events = ["presentation.completed"]
    bank.save()

    assert deliver() == 1
    assert receiver.ids == [str(completed.pk)]


def test_dropping_what_is_unwanted_does_not_call_a_failing_address_well(bank: RelyingParty) -> None:
    WebhookEndpoint.objects.update(failures=5, failing_since=timezone.now())
    waiting(bank)
    bank.webhook_events = []
    bank.save()

    deliver()

    assert WebhookEndpoint.objects.get().failures == 5


def test_the_log_names_an_event_that_was_not_sent(
    bank: RelyingParty, receiver: Receiver, settings: Any, logged: list[dict[str, Any]]
) -> None:
    settings.LOOPBACK_CALLS = True
    receiver.statuses = [500]
    waiting(bank, 2)

    call_command("worker", once=True, jobs=["webhooks"])

    event = WebhookEvent.objects.get(attempts=1)
    (said,) = [each for each in logged if each["event"] == "webhook_not_sent"]
    assert said["log_level"] == "warning"
    assert str(event.pk) in str(said)


# --- Secrets ----------------------------------------------------------------------------------------------


def test_for_a_week_both_secrets_verify(acme_bank: RelyingParty, receiver: Receiver, secret: str) -> None:
    now = timezone.now()
    new = signing_secrets.rotate(acme_bank, now=now)
    waiting(acme_bank)
    deliver()
    assert receiver.verified(secret) == receiver.verified(new)

    kept = len(signing_secrets.signing(acme_bank, now=now + signing_secrets.OVERLAP))
    assert (len(signing_secrets.signing(acme_bank, now=now)), kept) == (2, 1)


def test_a_secret_that_leaked_ends_at_once(acme_bank: RelyingParty, receiver: Receiver, secret: str) -> None:
    new = signing_secrets.rotate(acme_bank, now=timezone.now(), overlap=timedelta(0))
    waiting(acme_bank)
    deliver()

    assert len(receiver.verified(new)) == 1
    with pytest.raises(WebhookVerificationError):
        receiver.verified(secret)
    assert WebhookSecret.objects.count() == 1


def test_a_secret_is_kept_sealed(acme_bank: RelyingParty) -> None:
    made = signing_secrets.rotate(acme_bank, now=timezone.now())

    (plain,) = signing_secrets.signing(acme_bank, now=timezone.now())
    stored = WebhookSecret.objects.get()
    row = WebhookSecret.objects.values().get()
    assert plain not in bytes(row["sealed_secret"])
    assert made not in repr(stored) + str(stored)
    assert "presentation_webhooksecret.sealed_secret" in {str(column) for column in sealed_columns()}


def test_sealed_anew_it_signs_as_before(
    acme_bank: RelyingParty, receiver: Receiver, secret: str, settings: Any
) -> None:
    settings.KEY_SEALING_KEYS = ["a-new-sealing-key-of-32-characters", *settings.KEY_SEALING_KEYS]
    call_command("reseal", verbosity=0)
    settings.KEY_SEALING_KEYS = settings.KEY_SEALING_KEYS[:1]
    waiting(acme_bank)
    deliver()

    assert len(receiver.verified(secret)) == 1


def test_a_secret_that_does_not_unseal_is_logged_and_nothing_is_sent_unsigned(
    bank: RelyingParty, receiver: Receiver, settings: Any
) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-32-characters"]
    waiting(bank)

    assert deliver() == 0
    assert receiver.received == []
    assert WebhookEvent.objects.get().problem == "There is no secret to sign with."


def test_a_damaged_secret_does_not_silence_the_one_that_replaces_it(
    bank: RelyingParty, receiver: Receiver
) -> None:
    WebhookSecret.objects.update(sealed_secret=b"damaged")
    new = signing_secrets.rotate(bank, now=timezone.now())
    waiting(bank)

    assert deliver() == 1
    assert len(receiver.verified(new)) == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_secrets_made_at_once_one_has_no_end(acme_bank: RelyingParty) -> None:
    now = timezone.now()
    made = together(lambda _: signing_secrets.rotate(acme_bank, now=now), 6)

    assert not [each for each in made if isinstance(each, Exception)]
    assert WebhookSecret.objects.filter(ends_at=None).count() == 1


# --- Concurrency ------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_however_many_instances_deliver_each_event_is_sent_once() -> None:
    with receiving() as receiver:
        parties = [register(f"Party {number}") for number in range(4)]
        for party in parties:
            opted_in(party, receiver.url)
            waiting(party, 25)

        delivered = together(lambda _: deliver(), 8)

        assert sum(delivered) == 100
        assert len(receiver.ids) == len(set(receiver.ids)) == 100
        assert {state for state, *_ in log()} == {DELIVERED}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_killed_before_each_of_its_writes_it_loses_nothing(
    acme_bank: RelyingParty, settings: Any, tmp_path: Path
) -> None:
    with receiving() as receiver, Commands(on_this_machine(settings, tmp_path)) as hands:
        opted_in(acme_bank, receiver.url)
        events = {str(event.pk) for event in waiting(acme_bank, 2)}
        for write in count(1):
            WebhookEndpoint.objects.update(next_call_at=timezone.now())  # a minute later
            if not hands.kill("worker", "--once", "--jobs", "webhooks", at_write=write):
                break

        assert write > 4  # at least one write was interrupted
        assert set(receiver.ids) == events
        assert set(WebhookEvent.objects.values_list("state", flat=True)) == {DELIVERED}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_it_stays_and_looks_again_also_after_the_database_was_away(
    acme_bank: RelyingParty, settings: Any, tmp_path: Path
) -> None:
    with receiving() as receiver:
        opted_in(acme_bank, receiver.url)
        command = [sys.executable, "manage.py", "worker", "--jobs", "webhooks"]
        staying = subprocess.Popen(command, cwd=settings.BASE_DIR, env=on_this_machine(settings, tmp_path))
        try:
            for expected in (1, 2):
                waiting(acme_bank)
                until(lambda: WebhookEvent.objects.filter(state=DELIVERED).count() == expected)  # noqa: B023
                cut_others_off()
        finally:
            staying.terminate()
            assert staying.wait(30) == 0


def on_this_machine(settings: Any, folder: Path) -> dict[str, str]:
    """A sandbox that may call loopback, because it is itself reached on loopback."""
    return environment(settings, folder) | {"BASE_URL": "http://localhost:8000"}


def until(there: Callable[[], bool]) -> None:
    """Waits until it is true, much longer than the lease that a broken connection leaves behind."""
    for _ in range(2400):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def cut_others_off() -> None:
    """Ends every other connection to the test's database, as a restart of the server does."""
    with connection.cursor() as cursor:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_a_call_is_made(acme_bank: RelyingParty) -> None:
    opted_in(acme_bank, "https://bank.example/")
    waiting(acme_bank)
    open_then: list[bool] = []

    def allowed(_: Any) -> bool:
        open_then.append(connection.in_atomic_block)
        return False

    deliver(outbound=Outbound(resolve=lambda host, port: ["192.0.2.1"], allowed=allowed))

    assert open_then == [False]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_worker_calls_several_addresses_at_the_same_time(
    acme_bank: RelyingParty, corner_shop: RelyingParty, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(calls, "CONNECT_WITHIN", 60.0)
    monkeypatch.setattr(calls, "DONE_WITHIN", 60.0)
    with receiving() as bank, receiving() as shop:
        meeting = threading.Barrier(2, timeout=50)  # neither answers before both are called
        for party, receiver in ((acme_bank, bank), (corner_shop, shop)):
            opted_in(party, receiver.url)
            waiting(party)
            receiver.before = meeting.wait
        stopped = threading.Event()
        threads = jobs.start([JOBS["webhooks"]], stopped)
        until(lambda: {state for state, *_ in log()} == {DELIVERED})
        stopped.set()
        for thread in threads:
            thread.join()

    assert log() == [(DELIVERED, 1, 204)] * 2


# --- Again ------------------------------------------------------------------------------------------------


def test_sent_again_it_has_the_same_id_and_three_days_more(bank: RelyingParty, receiver: Receiver) -> None:
    start = timezone.now() - timedelta(days=10)
    receiver.statuses = [500]
    waiting(bank, now=start)
    deliver(now=start)
    deliver(now=start + delivery.TRIED_FOR)
    assert log() == [(GIVEN_UP, 1, 500)]
    receiver.statuses = [204]
    now = timezone.now()

    assert delivery.send_again(WebhookEvent.objects.all(), now=now) == 1
    assert WebhookEvent.objects.get().give_up_at == now + delivery.TRIED_FOR
    assert deliver(now=now) == 1
    assert len(set(receiver.ids)) == 1
    assert len(receiver.ids) == 2


def test_sent_again_it_does_not_wait_for_an_address_that_rests(
    bank: RelyingParty, receiver: Receiver
) -> None:
    now = timezone.now()
    receiver.statuses = [500]
    waiting(bank, now=now)
    for minutes in range(0, 600, 10):
        deliver(now=now + timedelta(minutes=minutes))
    receiver.statuses = [204]
    now += timedelta(minutes=591)

    delivery.send_again(WebhookEvent.objects.all(), now=now)

    assert deliver(now=now) == 1


# --- What fails in the service itself ---------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_endpoint_whose_row_fails_keeps_no_other_from_its_webhooks(
    bank: RelyingParty, corner_shop: RelyingParty, receiver: Receiver
) -> None:
    opted_in(corner_shop, receiver.url)
    (damaged,) = waiting(bank)
    (other,) = waiting(corner_shop)

    with refusing(damaged), pytest.raises(CommandError, match=r"webhooks_not_sent \(1\)"):
        call_command("worker", once=True, jobs=["webhooks"])

    assert WebhookEvent.objects.get(pk=other.pk).state == DELIVERED
    assert WebhookEvent.objects.get(pk=damaged.pk).state == WAITING


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_without_the_table_of_statuses_what_waits_is_sent_all_the_same(bank: RelyingParty) -> None:
    waiting(bank)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE wallet_statusentry RENAME TO away")
    try:
        with pytest.raises(CommandError, match=r"revocations_not_collected \(1\)"):
            call_command("worker", once=True, jobs=["revocations", "webhooks"])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE away RENAME TO wallet_statusentry")
    assert WebhookEvent.objects.get().state == DELIVERED


class Overtaken(Outbound):
    """A client whose call takes so long that the lease ends and another instance sends the event."""

    def post(self, url: str, body: bytes, **facts: Any) -> Any:
        WebhookEndpoint.objects.update(next_call_at=timezone.now())
        assert deliver(now=timezone.now()) == 1
        raise OutboundError("It took too long.")


def test_an_instance_whose_lease_has_ended_does_not_write_its_failure_over_a_delivery(
    bank: RelyingParty,
) -> None:
    waiting(bank)

    assert deliver(now=timezone.now(), outbound=Overtaken(loopback=True)) == 0

    event = WebhookEvent.objects.get()
    assert (event.state, event.problem, event.attempts) == (DELIVERED, "", 1)
    assert WebhookEndpoint.objects.get().failures == 0


class MistakenOutbound(Outbound):
    """A client with a mistake that one event meets."""

    refuses = ""

    def post(self, url: str, body: bytes, **facts: Any) -> Any:
        if facts["headers"]["webhook-id"] == self.refuses:
            raise ZeroDivisionError
        return super().post(url, body, **facts)


def test_an_event_that_the_service_cannot_send_is_tried_later_and_delays_no_other(bank: RelyingParty) -> None:
    start = timezone.now()
    damaged, other = waiting(bank, 2, now=start)
    outbound = MistakenOutbound(loopback=True)
    outbound.refuses = str(damaged.pk)
    for seconds in (1, 30, 120):
        deliver(now=start + timedelta(seconds=seconds), outbound=outbound)
    assert WebhookEvent.objects.get(pk=other.pk).state == DELIVERED
    assert WebhookEvent.objects.get(pk=damaged.pk).problem == "An error in the service, whose log says why."
