"""The doctor's check of identity checks that wait for an operator."""

from datetime import datetime, timedelta

from infra.doctor import Check, State, graded
from wallet.metrics import promised_by, waiting_reviews

HOUR = timedelta(hours=1)


def reviews(now: datetime) -> tuple[State, str]:
    count, oldest = waiting_reviews()
    if oldest is None:
        return State.OK, "No identity check waits for an operator."
    waited, allowed = (now - oldest) / HOUR, (promised_by(oldest) - oldest) / HOUR
    return graded(waited, 4, allowed), f"Identity checks that wait: {count}, the oldest {waited:.0f} hours."


CHECKS: dict[str, Check] = {
    "reviews": (reviews, "decide them: people were promised an answer by the end of the next working day")
}
