"""The alert rules of deploy/prometheus: promtool accepts them, and they name metrics that exist."""

import re
import subprocess
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from config.metrics import _registry
from tests.own_databases import ROOT
from tests.programs import promtool

FOLDER = ROOT / "deploy" / "prometheus"
RULES = [
    rule for group in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"] for rule in group["rules"]
]
TOKEN = "a-token-of-at-least-thirty-two-characters"
OF_PROMETHEUS = {"up"}
_NAME = re.compile(r"\b[a-z][a-z_]+\b(?=[{\[)]| ==| >| <)")


def names(expression: str) -> set[str]:
    """The metrics that an expression names, without functions and labels."""
    without_labels = re.sub(r'"[^"]*"|by \([^)]*\)', '""', expression)
    return set(_NAME.findall(without_labels)) - {"unless", "by"}


@pytest.mark.promtool
@pytest.mark.parametrize("words", ["check rules rules.yml", "test rules rules_test.yml"])
def test_promtool_accepts_the_rules_and_their_tests_pass(words: str) -> None:
    run = subprocess.run(
        [str(promtool()), *words.split()], cwd=FOLDER, capture_output=True, text=True, timeout=60
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
def test_rules_name_only_metrics_that_exist() -> None:
    existing = set(OF_PROMETHEUS)
    for family in _registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}.get(family.type, [""])
        existing |= {family.name + suffix for suffix in suffixes}
    named = {rule["alert"]: names(rule["expr"]) for rule in RULES}

    assert all(named.values())
    assert {alert: found - existing for alert, found in named.items() if found - existing} == {}


def test_each_rule_is_a_page_or_a_ticket_and_the_document_says_what_to_do() -> None:
    document = (ROOT / "docs" / "operate.md").read_text()
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert f"| `{rule['alert']}` |" in document, rule["alert"]


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_the_document_lists_each_metric(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    document = (ROOT / "docs" / "operate.md").read_text()
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()

    missing = [family.name for family in text_string_to_metric_families(text) if family.name not in document]

    assert missing == []
