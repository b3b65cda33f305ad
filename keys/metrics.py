"""Metrics of the signing keys, computed from the database, so that all workers report the same."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from keys.models import SigningKey
from keys.rotation.plan import plan, spare
from keys.rotation.states import State


class KeyCollector(Collector):
    """docs/keys.md documents the metrics and the alerts."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        moment = now()
        keys = list(SigningKey.objects.exclude(state=State.WITHDRAWN))
        withdrawn = SigningKey.objects.filter(state=State.WITHDRAWN).count()
        yield _states(Counter({State.WITHDRAWN: withdrawn}) + Counter(key.state for key in keys))
        yield _certificates(keys, moment)
        yield from _steps(moment)
        yield _spare(moment)


def _spare(moment: datetime) -> GaugeMetricFamily:
    """Without SIGNING_KEY_SPARE it has no sample, so that no alert on it fires."""
    family = GaugeMetricFamily(
        "signing_key_spare", "1 when a staged key with valid certificates could sign at once, else 0."
    )
    if settings.SIGNING_KEY_SPARE:
        family.add_metric([], 1.0 if spare(now=moment) else 0.0)
    return family


def _states(counts: Counter[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily("signing_keys", "Signing keys by state.", labels=["state"])
    for state in State:
        family.add_metric([state.value], counts[state])
    return family


def _certificates(keys: list[SigningKey], moment: datetime) -> GaugeMetricFamily:
    """The certificates of the active and the staged key."""
    family = GaugeMetricFamily(
        "signing_key_certificate_ends_seconds",
        "Seconds until a certificate in use ends; negative once it has.",
        labels=["kid", "certificate"],
    )
    for key in keys:
        chain = key.certified_chain if key.state in (State.ACTIVE, State.STAGED) else None
        for name, certificate in chain.by_name().items() if chain else ():
            family.add_metric([str(key), name], (certificate.not_valid_after_utc - moment).total_seconds())
    return family


def _steps(moment: datetime) -> Iterator[GaugeMetricFamily]:
    until = GaugeMetricFamily(
        "signing_key_next_step_seconds",
        "Seconds until a step of the rotation is due; negative once it is. `certify` waits for an operator.",
        labels=["step"],
    )
    steps = plan(now=moment)
    for what in dict.fromkeys(step.what for step in steps):
        soonest = min(step.at for step in steps if step.what == what)
        until.add_metric([what.value], (soonest - moment).total_seconds())
    yield until
    overdue = [(moment - step.at).total_seconds() for step in steps if step.due(moment)]
    yield GaugeMetricFamily(
        "signing_key_step_overdue_seconds",
        "For how long the step that has waited longest for rotate_signing_keys has been due; 0: none is.",
        value=max(overdue, default=0.0),
    )
