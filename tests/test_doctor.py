"""The doctor: each check finds its fault, and no finding repeats what an exception or a person says."""

import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from smtplib import SMTPServerDisconnected
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from config import health
from infra import base64url, diagnosis, doctor, runs
from infra.alarms import telling
from infra.alarms.alarm import State
from infra.audit.recording import record
from infra.database import diagnosis as of_database
from infra.mail import outbox
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent, content
from infra.models import DatabaseMark, Diagnosis, LastRun
from infra.outbound.calls import NotReachedError, Response
from keys import diagnosis as of_keys
from keys import issuer_key
from keys.endpoints import key_set
from keys.models import SigningKey, StatementKey
from keys.rotation.plan import outlook
from presentation import diagnosis as of_presentation
from presentation.jobs import DUE, JOBS
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent
from tests.infra.audit.days_on_record import tamper
from tests.ports import free_port
from tests.presentation.far_ends import answers, far_end
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.wallet import mail_server
from tests.wallet.attempts import attempt_in
from wallet import diagnosis as of_wallet
from wallet.credential.trust_policy import TrustPolicy
from wallet.models import StatusEntry, Wallet
from wallet.sd_jwt.parsing import parse

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OK, SOON, NOW = State.OK, State.SOON, State.NOW
PRIVATE = "nora@example.org"


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture(autouse=True)
def _published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public address answers with the key set of the test's database. Nothing is waited for."""
    monkeypatch.setattr(doctor, "PAUSE", 0)
    _publish(monkeypatch, key_set)


def _publish(monkeypatch: pytest.MonkeyPatch, body: Any) -> None:
    answered = lambda url, accept: Response(200, "application/json", body())  # noqa: E731
    monkeypatch.setattr(of_presentation, "outbound", SimpleNamespace(get=answered))


@pytest.fixture
def well(monkeypatch: pytest.MonkeyPatch, settings: Any, signing_key: Any) -> None:
    """A service, and no sandbox, in which every check passes."""
    settings.ENVIRONMENT_BANNER = ""
    settings.AUDIT_FOLDER = "/nowhere"
    for name in (runs.BACKUP, runs.WORKER, *runs.COMMANDS):
        runs.record(name, now=timezone.now())


def found(name: str) -> Diagnosis:
    return next(each for each in doctor.examine(now=timezone.now()) if each.name == name)


def said(*words: str) -> tuple[int, str]:
    """The status of the command, and what it printed."""
    out = StringIO()
    try:
        call_command("doctor", *words, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


# --- The command ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("well")
def test_each_check_has_a_line_and_the_status_is_that_of_the_worst(settings: Any, alice: Wallet) -> None:
    status, text = said()
    assert (status, {line.split()[0] for line in text.splitlines()}) == (0, {"ok"})
    assert "ok    presentation: One was signed, and verified with the published keys." in text

    settings.AUDIT_FOLDER = ""
    status, text = said()
    assert status == 1
    assert "SOON  audit_record: AUDIT_FOLDER is not set" in text
    assert "To do: `verify_audit_record` names the lines" in text

    attempt_in("review", alice, timezone.now() - 9 * DAY)
    status, text = said()
    assert status == 2
    assert "NOW   reviews: Identity checks that wait: 1, the oldest 216 hours. To do: decide them" in text


@pytest.mark.usefixtures("well")
def test_machines_read_json(settings: Any) -> None:
    settings.AUDIT_FOLDER = ""
    status, text = said("--json")
    facts = json.loads(text)
    assert (status, facts["state"]) == (1, "SOON")
    assert facts["at"].endswith("Z")
    assert [each["check"] for each in facts["checks"] if each["state"] != "ok"] == ["audit_record"]
    assert all(bool(each["todo"]) == (each["state"] != "ok") for each in facts["checks"])


def test_a_sandbox_signs_no_record(settings: Any) -> None:
    assert (found("audit_record").state, settings.AUDIT_FOLDER) == (OK, "")


@pytest.mark.usefixtures("well")
def test_an_exception_is_a_finding_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(_now: datetime) -> Any:
        raise ValueError(PRIVATE)

    monkeypatch.setitem(diagnosis.CHECKS, "disk", raises)
    status, text = said()
    assert status == 2
    assert "NOW   disk: This check fails: ValueError. To do: make room there." in text
    assert PRIVATE not in text + str(list(Diagnosis.objects.values_list()))


def test_the_database_may_be_away(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """What needs no database is checked all the same, and the findings are printed."""

    def away(*_: Any) -> Any:
        raise OperationalError(PRIVATE)

    with connection.execute_wrapper(away):
        status, text = said()
    assert status == 2
    assert "NOW   database: This check fails: OperationalError." in text
    assert "ok    tls:" in text
    assert text.count("see the check database first") == text.count("OperationalError") - 1 > 5
    assert PRIVATE not in text
    assert not Diagnosis.objects.exists()


@pytest.mark.usefixtures("well")
def test_the_worker_keeps_the_last_findings(settings: Any) -> None:
    assert JOBS["doctor"].every == doctor.EVERY
    settings.AUDIT_FOLDER = ""
    call_command("worker", once=True, jobs=["doctor"])
    assert Diagnosis.objects.get(name="audit_record").state == SOON
    settings.AUDIT_FOLDER = "/nowhere"
    call_command("worker", once=True, jobs=["doctor"])
    assert Diagnosis.objects.get(name="audit_record").state == OK
    assert LastRun.objects.get(command="doctor").failures == 0


# --- A presentation for nobody ----------------------------------------------------------------------------


@pytest.mark.usefixtures("signing_key")
def test_it_is_for_the_issuer_valid_for_a_minute_and_stored_nowhere(
    monkeypatch: pytest.MonkeyPatch, settings: Any, now: datetime
) -> None:
    verified: list[str] = []
    verify = TrustPolicy.verify

    def noted(policy: TrustPolicy, token: str, **facts: Any) -> Any:
        verified.append(token)
        return verify(policy, token, **facts)

    monkeypatch.setattr(TrustPolicy, "verify", noted)
    assert of_presentation.presentation(now)[0] == OK
    received = parse(verified[0])
    payload, binding = (
        json.loads(_segment(jwt)) for jwt in (received.jwt, received.key_binding) if jwt is not None
    )
    assert (payload["iss"], binding["aud"]) == (settings.BASE_URL, settings.BASE_URL)
    assert payload["exp"] - int(now.timestamp()) == 60
    assert "status" not in payload
    assert not StatusEntry.objects.exists()
    assert not Wallet.objects.exists()


def _segment(jwt: str) -> bytes:
    return base64url.decode(jwt.split(".")[1])


def test_it_needs_a_key_that_signs() -> None:
    assert (found("presentation").state, found("presentation").seen) == (
        NOW,
        "This check fails: NoSigningKeyError.",
    )


@pytest.mark.usefixtures("signing_key")
def test_it_needs_the_sealing_key(settings: Any) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-more-than-32-characters"]
    issuer_key.forget()
    assert found("presentation").seen == "This check fails: SealError."


@pytest.mark.usefixtures("signing_key")
@pytest.mark.parametrize("body", [b'{"keys": []}', b"<html>502 Bad Gateway</html>"])
def test_it_needs_the_key_in_the_published_set(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    _publish(monkeypatch, lambda: body)
    assert found("presentation").state == NOW


@pytest.mark.usefixtures("signing_key")
def test_it_needs_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> bytes:
        raise NotReachedError("It took too long.")

    _publish(monkeypatch, unreachable)
    assert found("presentation").seen == "This check fails: NotReachedError."


@pytest.mark.usefixtures("signing_key")
@pytest.mark.parametrize(("failures", "state"), [(1, OK), (2, NOW)])
@pytest.mark.parametrize("error", [NotReachedError("It took too long."), SMTPServerDisconnected(PRIVATE)])
def test_one_failure_of_the_network_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, error: Exception, failures: int, state: State
) -> None:
    outcomes = [error] * failures

    def check(_now: datetime) -> tuple[State, str]:
        if outcomes:
            raise outcomes.pop()
        return OK, "Reached."

    monkeypatch.setitem(diagnosis.CHECKS, "mail", check)
    assert (found("mail").state, outcomes) == (state, [])


@pytest.mark.usefixtures("signing_key")
def test_the_key_set_is_fetched_over_the_public_address(
    service: Any, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    monkeypatch.undo()
    assert of_presentation.presentation(now)[0] == OK
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("django.conf.settings.BASE_URL", f"http://localhost:{free_port()}")
        with pytest.raises(NotReachedError):
            of_presentation.presentation(now)


# --- The other checks -------------------------------------------------------------------------------------


@pytest.fixture
def read_only(transactional_db: None) -> Iterator[None]:
    """A database that takes no writes."""
    if connection.vendor == "postgresql":
        refuse, accept = (f"SET default_transaction_read_only = {value}" for value in ("on", "off"))
    else:
        refuse, accept = (f"PRAGMA query_only = {value}" for value in ("on", "off"))
    with connection.cursor() as cursor:
        cursor.execute(refuse)
    yield
    with connection.cursor() as cursor:
        cursor.execute(accept)


def test_a_database_that_takes_no_writes_is_found(read_only: None) -> None:
    assert found("database").state == NOW


def test_a_database_that_takes_writes_keeps_nothing_of_the_check(now: datetime) -> None:
    assert diagnosis.database(now)[0] == OK
    assert "doctor_writes" not in connection.introspection.table_names()


@pytest.mark.postgresql
def test_any_role_may_ask_postgresql(now: datetime) -> None:
    """tests/infra/test_doctor_faults.py has servers with faults."""
    assert of_database.standby(now) == (OK, "DATABASE_STANDBYS expects none.")
    assert of_database.replication_lag(now)[0] == OK
    assert of_database.archive(now)[0] == OK
    assert of_database.clock(now)[0] == OK
    assert {"standby", "replication_lag", "archive", "clock", "backup"} <= diagnosis.CHECKS.keys()


@pytest.mark.parametrize(("seconds", "state"), [(2, OK), (-8, SOON), (70, NOW)])
def test_a_clock_that_is_off_is_found(
    monkeypatch: pytest.MonkeyPatch, now: datetime, seconds: float, state: State
) -> None:
    monkeypatch.setattr(of_database.clocks, "ahead", lambda raw: seconds)
    assert of_database.clock(now)[0] == state


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        ("echo no", SOON, "NTP does not keep it."),
        ("echo yes", OK, "NTP keeps it."),
        ("exit 1", OK, "This machine does not say whether NTP keeps it."),
    ],
)
@pytest.mark.usefixtures("well")
def test_a_clock_that_nobody_keeps_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime, said: str, state: State, words: str
) -> None:
    """Comparing it with that of a database on the same machine says nothing."""
    program = tmp_path / "timedatectl"
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(of_database.clocks, "ahead", lambda raw: 0.0)
    found, seen = of_database.clock(now)
    assert found == state
    assert seen.endswith(words)


@pytest.mark.parametrize(("hours", "state"), [(29, OK), (31, SOON), (73, NOW)])
def test_an_old_backup_is_found(now: datetime, settings: Any, hours: int, state: State) -> None:
    assert of_database.backup(now) == (OK, "A sandbox needs none.")
    settings.ENVIRONMENT_BANNER = ""
    assert of_database.backup(now) == (NOW, "No backup is known.")
    runs.record(runs.BACKUP, now=now - hours * HOUR)
    assert of_database.backup(now) == (state, f"The last one ended {hours} hours ago.")


@pytest.mark.parametrize(("free", "state"), [(11, OK), (9, SOON), (2, NOW)])
def test_a_full_disk_is_found(monkeypatch: pytest.MonkeyPatch, free: int, state: State) -> None:
    usage = SimpleNamespace(free=free, total=100)
    monkeypatch.setattr(diagnosis.shutil, "disk_usage", lambda path: usage)
    assert diagnosis.disk(timezone.now()) == (state, f"The disk of STATE_DIRECTORY has {free} % left.")


@pytest.mark.parametrize(("days", "state"), [(0, NOW), (10, SOON), (30, OK)])
def test_a_certificate_of_the_host_that_ends_is_found(
    monkeypatch: pytest.MonkeyPatch, settings: Any, now: datetime, days: int, state: State
) -> None:
    """The certificate ends a day after the test; the check is told an earlier time."""
    with far_end(answers(b""), name="127.0.0.1") as server:
        trusting = ssl.create_default_context(cadata=server.trusted)
        monkeypatch.setattr(diagnosis.ssl, "create_default_context", lambda: trusting)
        settings.BASE_URL = server.url("", "127.0.0.1")
        assert diagnosis.tls(now - days * DAY)[0] == state


def test_a_certificate_of_another_host_is_found(settings: Any) -> None:
    with far_end(answers(b"")) as server:
        settings.BASE_URL = server.url("", "127.0.0.1")
        assert found("tls").seen == "This check fails: SSLCertVerificationError."


def test_a_changed_audit_record_is_found() -> None:
    record(None, "seen", "wallet.wallet:1")
    tamper("UPDATE infra_auditline SET operator_id = 99")
    with pytest.raises(CommandError):
        call_command("sign_audit_record")
    assert (found("audit_record").state, found("audit_record").seen) == (
        NOW,
        "It is not as it was written: faults 1. Secure the machine first.",
    )


def test_a_mail_server_that_is_away_is_found(settings: Any) -> None:
    mail_server.point_at(settings, port=free_port())
    assert found("mail").seen == "This check fails: ConnectionRefusedError."


@pytest.mark.slow
@pytest.mark.parametrize(("refused", "sent", "state"), [(20, 0, OK), (21, 100, SOON), (21, 450, OK)])
def test_refused_emails_are_found_if_they_are_many_and_a_large_part(
    now: datetime, refused: int, sent: int, state: State
) -> None:
    """Strangers write wrong addresses; those of last week do not count."""
    for number in range(refused + sent):
        email = outbox.put(EmailContent(f"n{number}@example.org", "s", "t"), purpose="code")
        ended = OutgoingEmail.State.REFUSED if number < refused else OutgoingEmail.State.SENT
        OutgoingEmail.objects.filter(id=email).update(state=ended, ended_at=now)
    assert diagnosis.mail(now)[0] == state


@pytest.fixture
def all_ran(now: datetime) -> None:
    for job in DUE:
        runs.record(job.name, now=now)


@pytest.mark.usefixtures("all_ran")
@pytest.mark.parametrize(
    ("job", "late", "state"),
    [
        ("clear_expired", 3 * HOUR, OK),
        ("clear_expired", 4 * HOUR, SOON),
        ("clear_expired", 25 * HOUR, NOW),
        ("send_share_emails", timedelta(minutes=7), OK),
        ("send_share_emails", timedelta(minutes=9), SOON),
        ("send_share_emails", timedelta(minutes=31), NOW),
    ],
)
def test_a_job_that_does_not_run_is_found_by_its_own_period(
    now: datetime, job: str, late: timedelta, state: State
) -> None:
    runs.record(job, now=now - late)
    found, seen = of_presentation.jobs(now)
    assert found == state
    assert (f"{job}: {runs.COMMANDS[job]}" in seen) is (state > OK)


def test_jobs_that_never_ran_are_late_since_the_database_was_made(now: datetime) -> None:
    made = {"environment": "sandbox", "marked_at": now - 30 * HOUR}
    DatabaseMark.objects.update_or_create(only=True, defaults=made)
    assert of_presentation.jobs(now)[0] == NOW


@pytest.mark.usefixtures("all_ran")
def test_a_job_that_failed_is_found(now: datetime) -> None:
    assert of_presentation.jobs(now)[0] == OK
    runs.record("clear_expired", now=now, failures=1)
    assert of_presentation.jobs(now)[0] == SOON


@pytest.mark.parametrize(("seconds", "state"), [(100, OK), (130, NOW)])
def test_a_worker_that_is_away_is_found_although_no_job_is_late_yet(
    now: datetime, seconds: int, state: State
) -> None:
    runs.record(runs.WORKER, now=now - timedelta(seconds=seconds))
    assert diagnosis.worker(now)[0] == state


@pytest.mark.parametrize(("urgent", "minutes", "state"), [(True, 2, NOW), (False, 2, OK), (False, 20, SOON)])
def test_an_email_that_waits_is_found(
    now: datetime, settings: Any, urgent: bool, minutes: int, state: State
) -> None:
    settings.EMAILS_SENT_AT_ONCE = False
    email = outbox.put(EmailContent("nora@example.org", "s", "t"), purpose="code", urgent=urgent)
    OutgoingEmail.objects.filter(id=email).update(due_at=now - timedelta(minutes=minutes))
    assert (diagnosis.urgent_emails if urgent else diagnosis.emails)(now)[0] == state
    assert (diagnosis.emails if urgent else diagnosis.urgent_emails)(now)[0] == OK


def test_more_codes_than_should_ever_wait_are_found(now: datetime, settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = False
    for number in range(51):
        assert diagnosis.urgent_emails(now)[0] == OK
        outbox.put(EmailContent(f"n{number}@example.org", "s", "t"), purpose="code", urgent=True)
    assert diagnosis.urgent_emails(timezone.now())[0] == NOW


@pytest.mark.parametrize(("minutes", "state"), [(9, OK), (11, SOON)])
def test_a_webhook_that_waits_is_found(
    acme_bank: RelyingParty, now: datetime, minutes: int, state: State
) -> None:
    acme_bank.webhook_url, acme_bank.webhook_events = "https://bank.example/hook", ["credential.revoked"]
    acme_bank.save()
    WebhookEndpoint.objects.create(relying_party=acme_bank, next_call_at=now - HOUR)
    WebhookEvent.objects.create(
        relying_party=acme_bank,
        type="credential.revoked",
        body="{}",
        created_at=now,
        due_at=now - timedelta(minutes=minutes),
        give_up_at=now + DAY,
    )
    assert of_presentation.webhooks(now)[0] == state


@pytest.mark.parametrize(("hours", "state"), [(2, OK), (4, SOON), (25, NOW)])
def test_data_that_is_kept_too_long_is_found(
    monkeypatch: pytest.MonkeyPatch, now: datetime, hours: int, state: State
) -> None:
    monkeypatch.setattr(diagnosis.retention, "overdue", lambda now: {"e-mails": hours * HOUR, "other": HOUR})
    found, seen = diagnosis.clearing(now)
    assert found == state
    assert ("e-mails" in seen) is (state > OK)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "state"),
    [(1, "192.0.2.1", OK), (1, "_hidden", NOW), (2, "192.0.2.1", NOW), (0, "_hidden", OK)],
)
def test_a_client_address_that_limits_cannot_read_is_found(
    client: Client, acme_bank: RelyingParty, settings: Any, proxies: int, forwarded: str, state: State
) -> None:
    settings.TRUSTED_PROXY_COUNT = proxies

    client.get(PATH, asked(acme_bank), headers={"X-Forwarded-For": forwarded})

    assert diagnosis.client_addresses(timezone.now())[0] == state


@pytest.mark.parametrize(("age", "state"), [(2 * HOUR, OK), (5 * HOUR, SOON), (6 * DAY, NOW)])
def test_a_review_that_waits_is_found(alice: Wallet, now: datetime, age: timedelta, state: State) -> None:
    attempt_in("review", alice, now - age)
    assert of_wallet.reviews(now)[0] == state


@pytest.mark.parametrize(("days", "state"), [(300, OK), (340, SOON), (370, NOW)])
def test_a_client_secret_that_ends_is_found(
    acme_bank: RelyingParty, now: datetime, days: int, state: State
) -> None:
    client_secrets.rotate(acme_bank, now=now - days * DAY)
    found, seen = of_presentation.client_secrets(now)
    assert found == state
    assert (acme_bank.client_id in seen) is (state > OK)


def test_a_key_that_is_missing_and_certificates_that_end_are_found(now: datetime) -> None:
    assert of_keys.signing_keys(now)[0] == NOW
    call_command("rotate_signing_keys", stdout=StringIO())
    key = SigningKey.objects.get()
    ends = key.chain(at=timezone.now()).not_after
    assert of_keys.signing_keys(timezone.now())[0] == OK
    states = [of_keys.certificates(moment)[0] for moment in (timezone.now(), ends - 20 * DAY, ends - 5 * DAY)]
    assert states == [OK, SOON, NOW]
    assert str(key) in of_keys.certificates(ends - 5 * DAY)[1]


@pytest.mark.usefixtures("signing_key")
def test_a_missing_spare_and_a_late_step_are_found(settings: Any, now: datetime) -> None:
    assert of_keys.rotation(now)[0] == OK
    assert of_keys.rotation(now + 95 * DAY)[0] == NOW
    settings.SIGNING_KEY_SPARE = True
    state, seen = of_keys.signing_keys(now)
    assert state == SOON
    assert "No spare stands ready" in seen


def test_a_missing_spare_for_statements_is_not_said_to_stop_issuing(settings: Any, now: datetime) -> None:
    settings.SIGNING_KEY_SPARE = True

    problems = [entry.text for entry in outlook(now=now, kind=StatementKey).problems]

    assert any("No spare for statements stands ready" in text for text in problems)
    assert not any("nothing can be issued" in text for text in problems)


def test_a_missing_migration_is_found() -> None:
    newest = max(name for app, name in health._newest_migrations() if app == "wallet")
    MigrationRecorder(connection).migration_qs.filter(app="wallet", name=newest).delete()
    assert found("migrations").state == NOW
    assert found("migrations").todo == "run manage.py migrate"


# --- E-mails to the operator ------------------------------------------------------------------------------


@pytest.fixture
def alerts(settings: Any) -> str:
    settings.OPERATOR = replace(settings.OPERATOR, alerts="ops@example.org")
    settings.EMAILS_SENT_AT_ONCE = False
    return "ops@example.org"


def messages(address: str) -> list[str]:
    """The subjects, the oldest first."""
    rows = OutgoingEmail.objects.order_by("created_at", "id")
    return [message.subject.partition(": ")[2] for message in map(content, rows) if message.to == address]


@pytest.mark.usefixtures("well")
def test_without_an_address_nobody_gets_one(alice: Wallet, now: datetime) -> None:
    attempt_in("review", alice, now - 6 * DAY)
    doctor.store(doctor.examine(now=now))
    assert not OutgoingEmail.objects.exists()


@pytest.mark.usefixtures("well")
def test_an_email_that_cannot_be_written_does_not_lose_the_findings(
    alerts: str, monkeypatch: pytest.MonkeyPatch, alice: Wallet, now: datetime
) -> None:
    attempt_in("review", alice, now - 6 * DAY)
    monkeypatch.setattr(telling.outbox, "put", lambda *_, **__: 1 / 0)
    status, text = said()
    assert status == 2
    assert "NOW   reviews" in text
    assert Diagnosis.objects.get(name="reviews").state == NOW
