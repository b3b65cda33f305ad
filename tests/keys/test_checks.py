"""The system checks report settings that cannot work."""

from datetime import timedelta
from typing import Any

import pytest

from keys.checks import certificate_subject, schedule, sealing_keys

LONG, OTHER = "0123456789" * 4, "abcdefghij" * 4


@pytest.mark.parametrize(
    ("keys", "ids"),
    [
        ([LONG], []),
        ([LONG, OTHER[:32]], []),
        ([LONG, "b" * 32], []),  # values may still be sealed under it
        (["b" * 32, LONG], ["keys.E002"]),
        ([], ["keys.E001"]),
        ([LONG, "short"], ["keys.E002"]),
        ([LONG, LONG], ["keys.E003"]),
    ],
)
def test_sealing_keys_are_checked_and_never_shown(keys: list[str], ids: list[str], settings: Any) -> None:
    settings.KEY_SEALING_KEYS = keys
    found = sealing_keys(None)
    assert [message.id for message in found] == ids
    assert "short" not in " ".join(message.msg for message in found)


def test_a_certificate_subject_that_is_none_is_reported(settings: Any) -> None:
    assert certificate_subject(None) == []
    settings.CERTIFICATE_SUBJECT = "O=Example Ltd,C=GB"
    assert certificate_subject(None) == []
    settings.CERTIFICATE_SUBJECT = "Example Ltd"
    assert [message.id for message in certificate_subject(None)] == ["keys.E004"]


@pytest.mark.parametrize(
    ("hours", "days", "found"),
    [
        (48, 90, []),
        (48, 3, []),
        (48, 2, ["keys.E007"]),
    ],
)
def test_a_key_that_signs_for_a_shorter_time_than_the_next_one_waits_is_refused(
    settings: Any, hours: int, days: int, found: list[str]
) -> None:
    settings.SIGNING_KEY_STAGED_FOR, settings.SIGNING_KEY_PERIOD = (
        timedelta(hours=hours),
        timedelta(days=days),
    )
    assert [error.id for error in schedule(None)] == found
