"""Metrics of the signing keys, computed from the database, so that all workers report the same."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from infra.gauges import gauge, gauges
from keys.models import Key, SigningKey
from keys.rotation.plan import in_use, overdue, plan, spare
from keys.rotation.states import State


def key_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/keys.md documents the metrics and the alerts."""
    moment = now()
    keys = list(SigningKey.objects.exclude(state=State.WITHDRAWN))
    withdrawn = SigningKey.objects.filter(state=State.WITHDRAWN).count()
    counts = Counter({State.WITHDRAWN: withdrawn}) + Counter(key.state for key in keys)
    yield gauges("signing_keys", "Signing keys by state.", "state", {s.value: counts[s] for s in State})
    kinds = (kind._default_manager.exclude(state=State.WITHDRAWN) for kind in in_use())
    yield _certificates([key for rows in kinds for key in rows], moment)
    yield from _steps(moment)
    yield _spare(moment)


def _spare(moment: datetime) -> GaugeMetricFamily:
    """Without SIGNING_KEY_SPARE it has no sample, so that no alert on it fires."""
    text = "With SIGNING_KEY_SPARE: 1 when a staged key with valid certificates could sign at once, else 0."
    family = GaugeMetricFamily("signing_key_spare", text)
    if settings.SIGNING_KEY_SPARE:
        family.add_metric([], 1.0 if all(spare(now=moment, kind=kind) for kind in in_use()) else 0.0)
    return family


def _certificates(keys: list[Key], moment: datetime) -> GaugeMetricFamily:
    """The certificates of the active and the staged keys."""
    text = "Seconds until a certificate in use ends; negative once it has."
    family = gauge("signing_key_certificate_ends_seconds", text, "kid", "certificate")
    for key in keys:
        chain = key.certified_chain if key.state in (State.ACTIVE, State.STAGED) else None
        for name, certificate in chain.by_name().items() if chain else ():
            family.add_metric([str(key), name], (certificate.not_valid_after_utc - moment).total_seconds())
    return family


def _steps(moment: datetime) -> Iterator[GaugeMetricFamily]:
    until: dict[str, float] = {}
    steps = [step for kind in in_use() for step in plan(now=moment, kind=kind)]
    for what in dict.fromkeys(step.what for step in steps):
        soonest = min(step.at for step in steps if step.what == what)
        until[what.value] = (soonest - moment).total_seconds()
    text = "Seconds until a step of the rotation is due; negative afterwards. An operator has to `certify`."
    yield gauges("signing_key_next_step_seconds", text, "step", until)
    text = "For how long the step that has waited longest for rotate_signing_keys has been due; 0: none is."
    yield GaugeMetricFamily(
        "signing_key_step_overdue_seconds", text, value=overdue(now=moment).total_seconds()
    )
