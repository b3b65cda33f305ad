"""The table of alarms and all that is written from it say the same."""

import re
from importlib import import_module
from io import StringIO

import pytest
import yaml
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.utils.module_loading import module_has_submodule

from config import alert_rules
from infra.alarms.alarm import Alarm, Rule, State
from infra.alarms.table import ALARMS
from tests.own_databases import ROOT

FOLDER = ROOT / "deploy" / "prometheus"
OK, SOON, NOW = State.OK, State.SOON, State.NOW
OF_POSTGRESQL = {"standby", "replication_lag", "archive", "backup", "clock"}


def test_each_check_of_the_doctor_has_a_row_and_each_row_its_check() -> None:
    having = [app for app in apps.get_app_configs() if module_has_submodule(app.module, "diagnosis")]
    checks = {name for app in having for name in import_module(f"{app.name}.diagnosis").CHECKS}
    rows = {alarm.name for alarm in ALARMS.values() if alarm.checked}
    assert checks | OF_POSTGRESQL == rows
    assert connection.vendor != "postgresql" or checks >= OF_POSTGRESQL


def test_the_shipped_rules_are_those_of_the_table() -> None:
    out = StringIO()
    call_command("reference", "--rules", stdout=out)
    assert (FOLDER / "rules.yml").read_text() == out.getvalue()


def test_each_alert_is_seen_to_fire_in_the_shipped_scenarios() -> None:
    scenarios = yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]
    expected = [
        sample["labels"]
        for scenario in scenarios
        for moment in scenario["promql_expr_test"]
        for sample in moment.get("exp_samples", ())
    ]
    fired = {name for labels in expected for name in re.findall(r'alertname="(\w+)"', labels)}
    assert fired == {rule.alert for _alarm, rule in alert_rules.every_rule()}


@pytest.mark.parametrize("alarm", ALARMS.values(), ids=ALARMS.keys())
def test_a_row_says_something_for_each_state_in_which_it_is_told(alarm: Alarm) -> None:
    assert alarm.limit(SOON) != "–" or alarm.limit(NOW) != "–" or alarm.name == "alarms"
    assert alarm.checked or alarm.rules
    for rule in alarm.rules:
        assert rule.state == OK or alarm.limit(rule.state) != "–", rule.alert
        assert "LIMIT" not in alarm.expression(rule)
        number = alarm.now if rule.state == NOW else alarm.soon
        assert not isinstance(number, str) or "LIMIT" not in rule.query
    assert not alarm.todo.endswith(".")


@pytest.mark.parametrize("alarm", [each for each in ALARMS.values() if each.soon is not None], ids=str)
def test_soon_comes_before_now(alarm: Alarm) -> None:
    if isinstance(alarm.soon, int | float) and isinstance(alarm.now, int | float):
        assert alarm.soon > alarm.now if alarm.low else alarm.soon < alarm.now


def test_a_limit_is_the_same_number_for_the_doctor_and_for_prometheus() -> None:
    rule = Rule("TooOld", NOW, "max(age_seconds) > LIMIT", "it is old")
    alarm = Alarm("age", "its age", "renew it", soon=2, now=3, unit="hours", rules=(rule,))
    assert [alarm.state(hours) for hours in (2, 2.1, 3, 3.1)] == [OK, SOON, SOON, NOW]
    assert alarm.expression(rule) == "max(age_seconds) > 10800"
    assert alarm.limit(NOW) == "over 3 hours"


def test_of_a_low_alarm_the_small_values_are_bad() -> None:
    alarm = Alarm("left", "what is left", "make room", soon=10, now=3, unit="%", low=True)
    assert [alarm.state(share) for share in (10, 9.9, 3, 2.9)] == [OK, SOON, SOON, NOW]
    assert alarm.limit(SOON) == "under 10 %"


def test_what_the_doctor_finds_and_no_rule_tells_is_an_alert_of_its_own() -> None:
    told = {rule.alert: alarm.expression(rule) for alarm, rule in alert_rules.every_rule()}
    for alert, state in (("DoctorSaysNow", NOW), ("DoctorSaysSoon", SOON)):
        (left_out,) = re.findall(r'check!~"([^"]+)"', told[alert])
        by_rule = {each.name for each in ALARMS.values() if each.checked and each.alerts_by_itself(state)}
        assert set(left_out.split("|")) == by_rule
        assert "tls" not in by_rule
