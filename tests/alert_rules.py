"""The alert rules of deploy/prometheus, and promtool, which evaluates them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.own_databases import ROOT
from tests.programs import promtool

FOLDER = ROOT / "deploy" / "prometheus"
RULES = [
    rule for group in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"] for rule in group["rules"]
]


def fires(alert: str, before: str, after: str, folder: Path) -> bool:
    """Whether the alert fires in the hour after scrapes went from `before` to `after`, on a working day."""
    (rule,) = [rule for rule in RULES if rule["alert"] == alert]
    earlier = dict(_series(before, rule))
    values = {name: f"{earlier.get(name, '_')}x540 {value}x60" for name, value in _series(after, rule)}
    firing = f'group(max_over_time(ALERTS{{alertname="{alert}", alertstate="firing"}}[1h]))'
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": steps} for name, steps in values.items()],
        "promql_expr_test": [
            {"expr": firing, "eval_time": "10h", "exp_samples": [{"labels": "{}", "value": 1}]}
        ],
    }
    (folder / "rule.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}))
    file = folder / "fault_test.yml"
    file.write_text(yaml.safe_dump({"rule_files": ["rule.yml"], "tests": [test]}))
    run = subprocess.run([str(promtool()), "test", "rules", file], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 or "got: nil" in run.stderr, run.stdout + run.stderr
    return run.returncode == 0


def _series(text: str, rule: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """The series that the rule names, and their values."""
    for family in text_string_to_metric_families(text):
        for sample in [sample for sample in family.samples if sample.name in rule["expr"]]:
            labels = {**sample.labels, "instance": "a", "job": "presentation"}
            written = ", ".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
            yield f"{sample.name}{{{written}}}", sample.value
