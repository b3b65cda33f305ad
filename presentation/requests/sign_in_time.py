"""When the holder signed in, as `auth_time` says it (OpenID Connect Core 1.0 §2, §3.1.2.1). Pure.

One session answers many relying parties for hours. To the second, its beginning would be the same in all
their ID tokens, and would join what the random `sub` keeps apart. So they are told the hour. Where that is
too long ago for `max_age`, the holder proves a factor in this request, and its time is told for this request
alone (`sessions.tell_time`).
"""

from datetime import datetime, timedelta

HOUR = timedelta(hours=1)
CODE_LIVES = timedelta(seconds=60)  # until then the relying party exchanges the code
# With a shorter `max_age` nobody could read the question and answer before the sign-in is too old again.
SHORTEST = timedelta(seconds=10)


def hour_of(time: datetime) -> datetime:
    """The beginning of its hour."""
    return time.replace(minute=0, second=0, microsecond=0)


def hour_will_do(signed_in_at: datetime, longest: timedelta | None, *, collected_by: datetime) -> bool:
    """Whether the hour satisfies a client that checks `max_age` when it has exchanged the code.

    longest: how long ago the sign-in may be; None if that does not matter. collected_by: when the code ends
    that would be made now.
    """
    return longest is None or collected_by - hour_of(signed_in_at) <= longest


def auth_time(signed_in_at: datetime, longest: timedelta | None, *, collected_by: datetime) -> datetime:
    """The `auth_time` of a sign-in that is not before `earliest` (OpenID Connect Core 1.0 §2)."""
    if hour_will_do(signed_in_at, longest, collected_by=collected_by):
        return hour_of(signed_in_at)
    return signed_in_at.replace(microsecond=0)


def earliest(longest: timedelta, *, began: datetime, now: datetime, collected_by: datetime) -> datetime:
    """The holder must have signed in at or after this moment: a sign-in whose hour will do, or one in this
    request.

    began: when the request arrived. For the second kind, a client with a short `max_age` is given half of it
    to collect the code, and with one below `SHORTEST` any sign-in in this request will do.
    """
    whole_hour = hour_of(collected_by - longest)
    by_hour = whole_hour if whole_hour == collected_by - longest else whole_hour + HOUR
    in_this_request = began
    if longest >= SHORTEST:
        margin = min(collected_by - now, longest / 2)
        second = timedelta(seconds=1)  # `auth_time` leaves out the fraction
        in_this_request = max(began, now + margin - longest + second)
    return min(by_hour, in_this_request)
