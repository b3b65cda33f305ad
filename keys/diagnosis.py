"""The doctor's checks of signing keys and their certificates: what the calendar of the keys says."""

from datetime import datetime, timedelta

from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.doctor import Examination
from keys.certificates.watch import ending_certificates
from keys.rotation.plan import NO_ACTIVE_KEY, What, in_use, outlook, overdue, plan
from keys.rotation.report import together

HOUR = timedelta(hours=1)


def signing_keys(now: datetime) -> tuple[State, str]:
    problems = together([outlook(now=now, kind=kind) for kind in in_use()]).problems
    if not problems:
        return State.OK, "A key signs."
    cannot_sign = any(entry.what == NO_ACTIVE_KEY for entry in problems)
    return (State.NOW if cannot_sign else State.SOON), " ".join(entry.text for entry in problems)


def certificates(now: datetime) -> tuple[State, str]:
    alarm = ALARMS["certificates"]
    near = [ending for ending in ending_certificates(now=now) if alarm.state(ending.days_left(now))]
    if not near:
        return State.OK, "No certificate ends soon."
    return max(alarm.state(ending.days_left(now)) for ending in near), " ".join(map(str, near))


def certificate_request(now: datetime) -> tuple[State, str]:
    steps = [step for kind in in_use() for step in plan(now=now, kind=kind) if step.by_operator]
    waits = max(((now - step.at) / HOUR for step in steps if step.what == What.CERTIFY), default=0.0)
    state = ALARMS["certificate_request"].state(waits)
    return (
        state,
        f"A staged key has waited {waits:.0f} hours for its certificate." if waits else "No key waits.",
    )


def rotation(now: datetime) -> tuple[State, str]:
    hours = overdue(now=now) / HOUR
    return ALARMS["rotation"].state(hours), f"The step that waits longest has been due for {hours:.0f} hours."


CHECKS: dict[str, Examination] = {
    "signing_keys": signing_keys,
    "certificates": certificates,
    "certificate_request": certificate_request,
    "rotation": rotation,
}
