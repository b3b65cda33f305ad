"""The doctor's check of identity checks that wait for an operator."""

from datetime import datetime, timedelta

from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.doctor import Examination
from wallet.metrics import promised_by, waiting_reviews

HOUR = timedelta(hours=1)


def reviews(now: datetime) -> tuple[State, str]:
    count, oldest = waiting_reviews()
    if oldest is None:
        return State.OK, "No identity check waits for an operator."
    waited = (now - oldest) / HOUR
    state = State.NOW if now > promised_by(oldest) else ALARMS["reviews"].state(waited)
    return state, f"Identity checks that wait: {count}, the oldest {waited:.0f} hours."


CHECKS: dict[str, Examination] = {"reviews": reviews}
