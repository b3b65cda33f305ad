"""docs/reference.md is what `manage.py reference` prints, in every installation."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import translation
from hypothesis import example, given
from hypothesis import strategies as st

from config import metrics
from config.management.commands.reference import alerts
from infra.moments import in_words
from tests.own_databases import ROOT


def reference() -> str:
    out = StringIO()
    call_command("reference", stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_document_is_what_the_command_prints() -> None:
    assert reference() == (ROOT / "docs" / "reference.md").read_text()


@pytest.mark.django_db
@pytest.mark.usefixtures("signing_key")
def test_the_language_and_the_settings_of_an_installation_change_nothing(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SIGNING_KEY_SPARE, settings.IDENTITY_KEPT_DAYS = True, 1
    settings.TRANSACTION_RETENTION_YEARS = 50
    monkeypatch.setenv("LIMITS", "reported-errors=7")

    with translation.override("es"):
        assert reference() == (ROOT / "docs" / "reference.md").read_text()


def test_without_the_database_nothing_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the metrics that come from it would be missing without a word."""

    def away() -> Any:
        raise OperationalError("connection refused")

    collector = metrics.DatabaseCollector(away)
    monkeypatch.setattr("config.management.commands.reference.REGISTRY", collector)
    with pytest.raises(CommandError, match="database does not answer"):
        reference()


def test_the_rules_are_read_as_yaml_is() -> None:
    groups = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]

    assert [(row[0], row[1], row[3]) for row in alerts()] == [
        (f"`{rule['alert']}`", rule["labels"]["severity"], rule["annotations"]["action"]) for rule in rules
    ]


@pytest.mark.parametrize(
    ("minutes", "words"), [(1, "1 minute"), (360, "6 hours"), (1450, "1 day 10 minutes"), (2880, "2 days")]
)
def test_durations_are_written_in_words(minutes: int, words: str) -> None:
    assert in_words(timedelta(minutes=minutes)) == words


@given(st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=10_000)))
@example(timedelta(days=1, seconds=1))
def test_a_duration_is_written_in_full_or_refused(period: timedelta) -> None:
    if period % timedelta(minutes=1):
        with pytest.raises(ValueError, match=":"):
            in_words(period)
        return
    pairs = in_words(period).split(" ")
    units = {"day": 1440, "hour": 60, "minute": 1}
    total = sum(int(n) * units[u.removesuffix("s")] for n, u in zip(pairs[::2], pairs[1::2], strict=True))
    assert timedelta(minutes=total) == period
