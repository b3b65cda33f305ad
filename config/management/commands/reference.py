"""Writes docs/reference.md, the tables for operators, and the alert rules for Prometheus, from the code."""

import re
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, no_translations
from prometheus_client.core import Metric

from config import alert_rules, limits
from config.metrics import REGISTRY
from infra import retention, runs
from infra.alarms.alarm import SEVERITIES, State
from infra.alarms.table import ALARMS
from infra.counts.counting import FAMILIES
from infra.gauges import LABELS
from infra.moments import in_words
from presentation.jobs import DUE

HEAD = """# Reference

`ENVIRONMENT=sandbox manage.py reference > docs/reference.md` writes this file; a test compares the two.
[settings.md](settings.md#how-often-something-may-be-done) explains the limits, and
[operate.md](operate.md#alerts) metrics and alerts. "Sealed" means encrypted under `KEY_SEALING_KEYS` and
bound to its row.
"""
Rows = Iterable[tuple[object, ...]]


class Command(BaseCommand):
    """Reads some metrics from the database; the tables do not depend on what is in it."""

    help = "Print docs/reference.md: limits, metrics, alarms, stored data and regular jobs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--rules", action="store_true", help="print deploy/prometheus/rules.yml instead")

    @no_translations
    def handle(self, *args: Any, **options: Any) -> None:
        if options["rules"]:
            self.stdout.write(alert_rules.text(), ending="")
            return
        self.stdout.write(HEAD)
        heads = "limit | default | changed by | in | what is limited | shared client address"
        self._table("Limits", heads, _limits())
        self._table("Metrics", "metric | kind | what it says", _metrics())
        heads = "what | SOON | NOW | told by the doctor as | alerts of Prometheus | what to do"
        self._table("Alarms", heads, alarms())
        self._table("Alerts", "alert | severity | fires when | what to do", alerts())
        self._table("What is stored", "what | table | how | why | for how long", _kept())
        self._table("Regular jobs", "job | every | while it does not run", _jobs())

    def _table(self, title: str, heads: str, rows: Rows) -> None:
        lines = [" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows]
        rule = "|".join("---" for _head in heads.split("|"))
        table = "\n".join(f"| {line} |" for line in lines)
        self.stdout.write(f"\n## {title}\n\n| {heads} |\n|{rule}|\n{table}")


def _limits() -> Rows:
    for setting in limits.SETTINGS:
        number = (setting.most, setting.changed_by, in_words(setting.window))
        yield f"`{setting.purpose}`", *number, setting.what, setting.shared


def _metrics() -> Rows:
    """Each with its labels, also while it has no sample."""
    families = {family.name: family for family in REGISTRY.collect()}
    if "signing_keys" not in families:
        raise CommandError("The database does not answer, so its metrics are missing.")
    for family in families.values():
        labels = ",".join(_labels_of(family))
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"`{name}{{{labels}}}`" if labels else f"`{name}`", family.type, family.documentation


def _labels_of(family: Metric) -> Sequence[str]:
    """The names of its labels, as we gave them to the counter or gauge."""
    if family.name in FAMILIES:
        return FAMILIES[family.name].labels
    return LABELS.get(family.name, ())


def alarms() -> Rows:
    """The table from which everything that tells operators takes its limits."""
    for alarm in ALARMS.values():
        told = f"`{alarm.name}`" if alarm.checked else "–"
        names = ", ".join(f"`{rule.alert}`" for rule in alarm.rules) or (
            "by the finding" if alarm.checked else "–"
        )
        yield alarm.fact, alarm.limit(State.SOON), alarm.limit(State.NOW), told, names, alarm.todo


def alerts() -> Rows:
    for alarm, rule in alert_rules.every_rule():
        summary = re.sub(r"\{\{.*?\}\}", "…", rule.summary)
        yield f"`{rule.alert}`", SEVERITIES[rule.state], summary, rule.todo or alarm.todo


def _kept() -> Rows:
    for entry in retention.entries():
        yield entry.what, f"`{entry.model}`", entry.how, entry.why, entry.how_long


def _jobs() -> Rows:
    for job in DUE:
        yield f"`{job.name}`", in_words(job.every), runs.COMMANDS[job.name]
