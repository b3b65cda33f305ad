"""The rules for Prometheus, written from the table of alarms."""

import json
from collections.abc import Iterator

from infra.alarms.alarm import SEVERITIES, Alarm, Rule, State
from infra.alarms.table import ALARMS

_HEAD = """# Alerts for Prometheus, written by
#   ENVIRONMENT=sandbox manage.py reference --rules > deploy/prometheus/rules.yml
# from infra/alarms/table.py; docs/reference.md has the same as a table.
#
# Every instance is scraped at its own port with job="presentation". Figures from the database are the same on
# every instance, so the rules take their maximum; what an instance counts itself is added up.
# severity: page wakes somebody up; ticket is for the next working day; none is for a watcher of Prometheus.
groups:
- name: presentation
  rules:
"""


def every_rule() -> Iterator[tuple[Alarm, Rule]]:
    """The rules of all rows, and two for what the doctor finds and no rule tells."""
    for alarm in ALARMS.values():
        for rule in alarm.rules:
            yield alarm, rule
    for state, alert in ((State.NOW, "DoctorSaysNow"), (State.SOON, "DoctorSaysSoon")):
        yield _FINDINGS, _of_findings(state, alert)


_FINDINGS = Alarm(
    "findings",
    "what else manage.py doctor finds",
    "`manage.py doctor` says what was found and what to do; run it again afterwards, and this ends",
    soon="SOON",
    now="NOW",
    checked=False,
)


def _of_findings(state: State, alert: str) -> Rule:
    """The checks that are left out have alerts of their own."""
    told = sorted(alarm.name for alarm in ALARMS.values() if alarm.checked and alarm.alerts_by_itself(state))
    query = f'max by (check) (doctor_state{{check!~"{"|".join(told)}"}}) == {state.value}'
    return Rule(alert, state, query, f"manage.py doctor: the check {{{{ $labels.check }}}} says {state.name}")


def text() -> str:
    """The file."""
    return _HEAD + "".join(_lines(alarm, rule) for alarm, rule in every_rule())


def _lines(alarm: Alarm, rule: Rule) -> str:
    """A rule. A text in JSON is one in YAML as well."""
    lasts = f"    for: {rule.lasts}\n" if rule.lasts else ""
    return (
        f"  - alert: {rule.alert}\n"
        f"    expr: {_quoted(alarm.expression(rule))}\n{lasts}"
        f"    labels: {{severity: {SEVERITIES[rule.state]}}}\n"
        "    annotations:\n"
        f"      summary: {_quoted(rule.summary)}\n"
        f"      action: {_quoted(rule.todo or alarm.todo)}\n"
    )


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)
