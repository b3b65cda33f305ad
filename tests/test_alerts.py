"""The alert rules of deploy/prometheus: promtool accepts them, and they name metrics that exist."""

import re
import subprocess
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from config import health
from config.metrics import REGISTRY
from consent.models import Report
from infra import doctor
from infra.audit.recording import record
from infra.models import Diagnosis
from keys import issuer_key
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import client_secrets
from tests.alert_rules import FOLDER, RULES, fires
from tests.infra.audit.days_on_record import tamper
from tests.programs import promtool
from tests.wallet.attempts import attempt_in
from wallet.models import Recovery, Wallet

TOKEN = "a-token-of-at-least-thirty-two-characters"
OF_OTHERS = {"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"}
_NAME = re.compile(r"\b[a-z][a-z_]+\b(?=[{\[)]| ==| >| <)")


def names(expression: str) -> set[str]:
    """The metrics that an expression names, without functions and labels."""
    without_labels = re.sub(r'"[^"]*"|by \([^)]*\)', '""', expression)
    return set(_NAME.findall(without_labels)) - {"unless", "by"}


def scraped(client: Client) -> str:
    health.readiness.forget()
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.promtool
@pytest.mark.parametrize("words", ["check rules rules.yml", "test rules rules_test.yml"])
def test_promtool_accepts_the_rules_and_their_tests_pass(words: str) -> None:
    run = subprocess.run(
        [str(promtool()), *words.split()], cwd=FOLDER, capture_output=True, text=True, timeout=180
    )

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.promtool
@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_promtool_accepts_the_metrics(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    client.get("/")
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content

    run = subprocess.run([str(promtool()), "check", "metrics"], input=text, capture_output=True, timeout=60)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_rules_name_only_metrics_that_exist(settings: Any) -> None:
    settings.SIGNING_KEY_SPARE = True  # otherwise there is no metric of it
    existing = set(OF_OTHERS)
    for family in REGISTRY.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(family.type, [""])
        existing |= {family.name + suffix for suffix in suffixes}
    named = {rule["alert"]: names(rule["expr"]) for rule in RULES if rule["alert"] != "Watchdog"}

    assert all(named.values())
    assert {alert: found - existing for alert, found in named.items() if found - existing} == {}


def test_each_rule_is_a_page_or_a_ticket_and_says_what_to_do() -> None:
    for rule in RULES:
        expected = ("none",) if rule["alert"] == "Watchdog" else ("page", "ticket")
        assert rule["labels"]["severity"] in expected, rule["alert"]
        assert rule["annotations"].keys() == {"summary", "action"}, rule["alert"]


# --- Faults that are produced -----------------------------------------------------------------------------


def _another_sealing_key(settings: Any, tmp_path: Path) -> None:
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-more-than-32-characters"]
    issuer_key.forget()


def _changed_line(settings: Any, tmp_path: Path) -> None:
    tamper("UPDATE infra_auditline SET operator_id = 99 WHERE seq = 1")
    with pytest.raises(CommandError):
        call_command("sign_audit_record")


def _command_without_its_key(settings: Any, tmp_path: Path) -> None:
    settings.AUDIT_FOLDER, settings.AUDIT_KEY_FILE = str(tmp_path), str(tmp_path / "nowhere.pem")
    with pytest.raises(CommandError):
        call_command("sign_audit_record")


def _old_secret(settings: Any, tmp_path: Path) -> None:
    party = RelyingParty.objects.get()
    client_secrets.rotate(party, now=timezone.now() - timedelta(days=340), overlap=timedelta(0))


def _old_review(settings: Any, tmp_path: Path) -> None:
    attempt_in("review", Wallet.objects.get(), timezone.now() - timedelta(days=6))


def _refused_second_factors(settings: Any, tmp_path: Path) -> None:
    for _ in range(11):
        record(None, "second_factor_refused")


def _reports(settings: Any, tmp_path: Path) -> None:
    for _ in range(6):
        Report.objects.create(requester_id="x", reason="other", reported_at=timezone.now())


def _refused_recoveries(settings: Any, tmp_path: Path) -> None:
    now = timezone.now()
    for _ in range(6):
        Recovery.objects.create(new=Wallet.objects.get(), state="refused", asked_at=now, ended_at=now)


def _finding(settings: Any, tmp_path: Path) -> None:
    doctor.store([Diagnosis(name="disk", state=2, seen="Full.", todo="make room", at=timezone.now())])


@pytest.mark.promtool
@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
@pytest.mark.parametrize(
    ("alert", "fault", "others"),
    [
        ("InstanceNotReady", _another_sealing_key, []),
        ("AuditRecordHasFaults", _changed_line, ["InstanceNotReady"]),
        ("RegularCommandFails", _command_without_its_key, ["AuditRecordHasFaults"]),
        ("ClientSecretEnds", _old_secret, ["ReviewsWait"]),
        ("ReviewsWait", _old_review, ["ClientSecretEnds"]),
        ("SecondFactorsRefused", _refused_second_factors, []),
        ("RequestersAreReported", _reports, []),
        ("RecoveriesRefused", _refused_recoveries, []),
        ("DoctorSaysNow", _finding, []),
    ],
)
def test_an_alert_fires_when_its_fault_is_there_and_not_before(
    client: Client,
    settings: Any,
    tmp_path: Path,
    acme_bank: RelyingParty,
    alert: str,
    fault: Callable[[Any, Path], None],
    others: list[str],
) -> None:
    settings.METRICS_TOKEN = TOKEN
    Wallet.objects.create(email="nora@example.org", created_at=timezone.now())
    client_secrets.rotate(acme_bank, now=timezone.now())
    record(None, "seen", "wallet.wallet:1")
    call_command("sign_audit_record", stdout=StringIO())
    before = scraped(client)

    fault(settings, tmp_path)

    after = scraped(client)
    assert not fires(alert, before, before, tmp_path)
    assert fires(alert, before, after, tmp_path)
    assert [other for other in others if fires(other, before, after, tmp_path)] == []
