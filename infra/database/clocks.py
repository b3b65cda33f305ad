"""Refuses to work while the clock of this machine differs from that of the database.

With a wrong clock, relying parties refuse our answers, people are signed out, and what is still valid is
cleared away. Nothing tells us which of the two clocks is right, so a person has to look.
"""

import time
from typing import Any

import structlog
from django.db import OperationalError

log = structlog.get_logger(__name__)

MOST = 60.0  # seconds by which the clocks may differ


class WrongClockError(OperationalError):
    """The clocks of this machine and of the database differ by more than MOST; the text says by how much."""


def refuse_wrong_clock(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`, which asks each new connection once; raises WrongClockError.

    Requests then answer as if the database were away. A connection is kept for CONN_MAX_AGE at most.
    """
    if connection.vendor != "postgresql":
        return
    off = ahead(connection.connection)
    if abs(off) <= MOST:
        return
    connection.close()
    log.error("clock_is_off", seconds_ahead_of_the_database=round(off))
    raise WrongClockError(f"The clocks of this machine and of the database differ by {abs(off):.0f} s.")


def ahead(raw: Any) -> float:
    """By how many seconds our clock is certainly ahead of the database's; negative if it is behind.

    However long the answer takes, the database read its clock between our two readings.
    """
    before = time.clock_gettime(time.CLOCK_REALTIME)
    query = "SELECT extract(epoch FROM clock_timestamp())::float8"
    (said,) = raw.execute(query, prepare=False).fetchone()
    after = time.clock_gettime(time.CLOCK_REALTIME)
    return float(max(before - said, 0.0) + min(after - said, 0.0))
