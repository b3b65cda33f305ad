"""The metrics, and who may read them."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from config import health
from infra.models import DatabaseMark, LastRun
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, in_state
from presentation.models import RelyingParty
from presentation.relying_parties.authentication.client_secrets import end, rotate
from tests.config.reading_metrics import TOKEN, numbers, scrape
from tests.keys.chains import chain_for
from tests.people import register
from tests.wallet.attempts import attempt_in
from wallet.metrics import promised_by
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DAY = timedelta(days=1).total_seconds()


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def test_the_keys_are_counted_and_their_certificates_and_next_steps_are_timed(client: Client) -> None:
    due_steps.rotate(now=timezone.now())
    active = str(in_state(State.ACTIVE))
    found = numbers(client)
    assert {state: found["signing_keys", state] for state in State.values} == {
        "staged": 0,
        "active": 1,
        "retired": 0,
        "withdrawn": 0,
    }
    chain = SigningKey.objects.get().certified_chain
    assert chain
    for name, certificate in zip(("leaf", "issuing CA", "root"), chain.certificates, strict=True):
        left = (certificate.not_valid_after_utc - timezone.now()).total_seconds()
        assert abs(found["signing_key_certificate_ends_seconds", name, active] - left) < 60
    assert abs(found["signing_key_next_step_seconds", "stage"] - 88 * DAY) < 60
    assert found[("signing_key_step_overdue_seconds",)] == 0


def test_a_rotation_that_does_not_run_is_visible(client: Client) -> None:
    due_steps.rotate(now=timezone.now() - timedelta(days=90))
    found = numbers(client)
    assert abs(found["signing_key_next_step_seconds", "stage"] + 2 * DAY) < 60
    assert abs(found[("signing_key_step_overdue_seconds",)] - 2 * DAY) < 60
    due_steps.rotate(now=timezone.now())
    assert numbers(client)[("signing_key_step_overdue_seconds",)] == 0


def test_a_key_that_waits_for_its_certificate_is_the_operators_step(client: Client, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    before, now = timezone.now() - timedelta(days=2), timezone.now()
    first = transitions.stage(now=before)
    transitions.certify(first.pk, chain_for(first, before, ends=now - timedelta(days=1)), now=before)
    transitions.activate(first.pk, now=before)
    transitions.stage(now=now - timedelta(days=1))
    found = numbers(client)
    assert abs(found["signing_key_next_step_seconds", "certify"] + DAY) < 60
    assert found[("signing_key_step_overdue_seconds",)] == 0
    assert abs(found["signing_key_certificate_ends_seconds", "leaf", str(first)] + DAY) < 60


def test_before_the_first_key_there_are_numbers_too(client: Client) -> None:
    assert numbers(client)["signing_keys", "active"] == 0


def test_the_answer_is_prometheus_text_and_is_not_kept(client: Client) -> None:
    answer = scrape(client)
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert answer["Cache-Control"] == "no-store"
    assert re.search(r"^# HELP signing_keys ", answer.content.decode(), re.MULTILINE)
    openmetrics = scrape(client, Accept="application/openmetrics-text; version=1.0.0")
    assert openmetrics["Content-Type"].startswith("application/openmetrics-text")
    assert openmetrics.content.decode().endswith("# EOF\n")


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer é",
    ],
)
def test_without_the_token_there_are_no_metrics(client: Client, authorization: str) -> None:
    answer = client.get("/metrics", headers={"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.content == b""
    assert answer["WWW-Authenticate"] == 'Bearer realm="metrics"'
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("authorization", ["", f"Bearer {TOKEN}", "Bearer "])
def test_while_no_token_is_set_there_is_no_such_address(
    client: Client, settings: Any, authorization: str
) -> None:
    settings.METRICS_TOKEN = ""
    for ask in (client.get, client.post):
        assert ask("/metrics", headers={"Authorization": authorization}).status_code == 404


def test_metrics_are_read_and_nothing_else(client: Client) -> None:
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


def test_the_queue_of_reviews_is_counted_and_its_oldest_is_timed(client: Client) -> None:
    before = numbers(client)
    assert before[("identity_reviews_waiting",)] == before[("identity_review_oldest_seconds",)] == 0
    now = timezone.now()
    for hours in (5, 1):
        wallet = Wallet.objects.create(email=f"person{hours}@example.org", created_at=now)
        attempt_in("review", wallet, now - timedelta(hours=hours))
    found = numbers(client)
    assert found[("identity_reviews_waiting",)] == 2
    assert abs(found[("identity_review_oldest_seconds",)] - 5 * 3600) < 60


def test_open_checks_and_those_that_ended_today_are_counted_by_state(client: Client) -> None:
    now = timezone.now()
    nora = Wallet.objects.create(email="nora@example.org", created_at=now)
    attempt_in("started", nora, now - timedelta(days=3))
    for state, hours in (("declined", 30), ("declined", 2), ("approved", 2), ("approved", 3)):
        attempt_in(state, nora, now - timedelta(hours=hours))
    found = numbers(client)
    assert found["identity_verifications_open", "started"] == 1
    assert found["identity_verifications_open", "processing"] == 0
    assert found["identity_verifications_ended", "approved"] == 2
    assert found["identity_verifications_ended", "declined"] == 1
    assert ("identity_verifications_ended", "review") not in found


@pytest.mark.parametrize(
    ("begun", "promised"),
    [
        ("2026-11-23 09:00", "2026-11-25 00:00"),  # Monday: by the end of Tuesday
        ("2026-11-26 23:59", "2026-11-28 00:00"),  # Thursday: by the end of Friday
        ("2026-11-27 09:00", "2026-12-01 00:00"),  # Friday: by the end of Monday
        ("2026-11-28 09:00", "2026-12-01 00:00"),
        ("2026-11-29 23:59", "2026-12-01 00:00"),
    ],
)
def test_a_review_is_promised_by_the_end_of_the_next_working_day(begun: str, promised: str) -> None:
    assert promised_by(datetime.fromisoformat(f"{begun}+00:00")) == datetime.fromisoformat(
        f"{promised}+00:00"
    )


def test_a_review_that_waits_longer_than_promised_is_visible(client: Client) -> None:
    now = timezone.now()
    nora = Wallet.objects.create(email="nora@example.org", created_at=now)
    review = attempt_in("review", nora, now)
    assert numbers(client)[("identity_review_overdue_seconds",)] == 0
    review.changed_at = now - timedelta(days=9)
    review.save()
    late = (now - promised_by(review.changed_at)).total_seconds()
    assert abs(numbers(client)[("identity_review_overdue_seconds",)] - late) < 60


def test_the_last_secret_of_each_active_relying_party_is_timed(
    client: Client, acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    now = timezone.now()
    for party, ages in ((acme_bank, (364, 1)), (corner_shop, (367,))):
        for age in ages:
            rotate(party, now=now - timedelta(days=age))
    suspended, long_ended = register("Suspended", state="suspended", suspension_reason="x"), register("Ended")
    rotate(suspended, now=now)
    rotate(long_ended, now=now - timedelta(days=400))
    end(rotate(register("Gone"), now=now).row, now=now)

    found = {key[1]: left for key, left in numbers(client).items() if key[0] == "client_secret_ends_seconds"}

    assert found.keys() == {acme_bank.client_id, corner_shop.client_id}
    assert abs(found[acme_bank.client_id] - 364 * DAY) < 60
    assert abs(found[corner_shop.client_id] + 2 * DAY) < 60


def test_each_check_of_readiness_is_a_metric(client: Client) -> None:
    health.readiness.forget()
    found = numbers(client)
    assert found["instance_ready", "database"] == found["instance_ready", "database_writes"] == 1
    assert found["instance_ready", "signing_key"] == 0


def test_refused_writes_are_reported_as_0_from_the_start(client: Client) -> None:
    found = {key[1]: count for key, count in numbers(client).items() if key[0].startswith("database_refused")}
    assert found.keys() == {"read_only", "disk_full", "out_of_memory"}


@pytest.mark.parametrize("command", ["clear_expired", "send_share_emails", "sweep_identity_verifications"])
@pytest.mark.usefixtures("signing_key")
def test_a_command_that_does_not_run_is_visible(client: Client, command: str) -> None:
    DatabaseMark.objects.update(marked_at=timezone.now() - timedelta(days=9))
    assert abs(numbers(client)["last_run_seconds", command] - 9 * DAY) < 60, "it never ran"
    call_command("worker", once=True, jobs=[command])
    assert numbers(client)["last_run_seconds", command] < 60
    LastRun.objects.update(at=timezone.now() - timedelta(days=2))
    assert abs(numbers(client)["last_run_seconds", command] - 2 * DAY) < 60


@pytest.mark.parametrize("version", ["x", "1.x", "", "1.0.0.0.0"])
def test_a_version_that_is_no_number_is_no_error(client: Client, version: str) -> None:
    response = scrape(client, Accept=f"application/openmetrics-text; version={version}")
    assert response.status_code == 200
