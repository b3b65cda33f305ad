"""The e-mails to the operator: each change of a finding is told, and what stays open once a day."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from infra.alarms import telling
from infra.alarms.alarm import State
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent, content
from infra.models import Diagnosis

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OK, SOON, NOW = State.OK, State.SOON, State.NOW
ADDRESS = "ops@example.org"


@pytest.fixture(autouse=True)
def _address(settings: Any) -> None:
    settings.OPERATOR = replace(settings.OPERATOR, alerts=ADDRESS)
    settings.EMAILS_SENT_AT_ONCE = False


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def emails() -> Iterator[EmailContent]:
    """The oldest first."""
    yield from map(content, OutgoingEmail.objects.order_by("created_at", "id"))


def subjects() -> list[str]:
    return [email.subject.partition(": ")[2] for email in emails()]


def run(at: datetime, **states: State) -> None:
    """A run of the doctor that finds this."""
    telling.tell(
        [
            Diagnosis(name=name, state=state, seen=f"{name} it is.", todo="look" if state else "", at=at)
            for name, state in states.items()
        ],
        now=at,
    )


def test_what_is_well_is_not_told(now: datetime) -> None:
    run(now, disk=OK, mail=OK)
    run(now + DAY, disk=OK, mail=OK)
    assert subjects() == []


def test_each_change_is_told_with_what_to_do_and_the_mending_too(now: datetime) -> None:
    run(now, disk=SOON, mail=OK)
    run(now + HOUR, disk=NOW, mail=OK)
    run(now + 2 * HOUR, disk=SOON, mail=NOW)
    run(now + 3 * HOUR, disk=OK, mail=NOW)
    assert subjects() == ["SOON disk", "NOW disk", "NOW mail, SOON disk", "mended disk"]
    first, *_ = emails()
    assert first.to == ADDRESS
    assert "SOON disk: disk it is. To do: look." in first.text


def test_a_new_installation_is_told_of_at_once(now: datetime) -> None:
    run(now, signing_keys=NOW, backup=NOW)
    run(now + HOUR, signing_keys=OK, backup=NOW)
    assert subjects() == ["NOW backup, NOW signing_keys", "mended signing_keys"]


def test_a_second_outage_of_a_check_within_a_day_is_told_as_well(now: datetime) -> None:
    for hours, state in enumerate([NOW, OK, NOW, OK]):
        run(now + hours * HOUR, mail=state)
    assert subjects() == ["NOW mail", "mended mail", "NOW mail", "mended mail"]


def test_one_that_comes_and_goes_is_told_once_an_hour_and_at_last_as_it_is(now: datetime) -> None:
    minute = timedelta(minutes=1)
    for number in range(13):  # two hours, every ten minutes
        run(now + 10 * number * minute, mail=NOW if number % 2 == 0 else OK)
    assert len(subjects()) <= 3
    run(now + 200 * minute, mail=OK)
    run(now + 400 * minute, mail=OK)
    assert subjects()[-1] == "mended mail"
    assert len(subjects()) <= 4


def test_others_are_told_meanwhile(now: datetime) -> None:
    run(now, mail=NOW, disk=OK)
    run(now + timedelta(minutes=10), mail=OK, disk=NOW)
    assert subjects() == ["NOW mail", "NOW disk"]


def test_what_stays_open_is_told_once_a_day_in_one_email(now: datetime) -> None:
    for hours in range(73):
        run(now + hours * HOUR, backup=NOW, mail=SOON, disk=OK)
    assert subjects() == ["NOW backup, SOON mail", *["still open: NOW backup, SOON mail"] * 3]


def test_when_all_is_mended_the_summaries_end(now: datetime) -> None:
    run(now, backup=NOW)
    run(now + HOUR, backup=OK)
    for days in range(1, 4):
        run(now + days * DAY, backup=OK)
    assert subjects() == ["NOW backup", "mended backup"]


def test_without_an_address_nothing_counts_as_told(now: datetime, settings: Any) -> None:
    settings.OPERATOR = replace(settings.OPERATOR, alerts="")
    run(now, backup=NOW)
    assert subjects() == []
    settings.OPERATOR = replace(settings.OPERATOR, alerts=ADDRESS)
    run(now + HOUR, backup=NOW)
    assert subjects() == ["NOW backup"]


def test_an_email_that_cannot_be_written_is_written_the_next_time(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(telling.outbox, "put", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(now, backup=NOW)
    run(now + HOUR, backup=NOW)
    assert subjects() == ["NOW backup"]
