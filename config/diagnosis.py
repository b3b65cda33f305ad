"""The doctor's check of the migrations."""

from datetime import datetime

from config import health
from infra.alarms.alarm import State
from infra.doctor import Examination


def migrations(now: datetime) -> tuple[State, str]:
    health.migrations()
    return State.OK, "All migrations of this release are applied."


CHECKS: dict[str, Examination] = {"migrations": migrations}
