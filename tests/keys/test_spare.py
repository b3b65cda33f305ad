"""The spare: with SIGNING_KEY_SPARE the next key stands certified at all times, or it shows."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from keys.checks import spare_key
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.plan import outlook
from keys.rotation.states import State, in_state
from tests.config.reading_metrics import TOKEN, numbers
from tests.keys.chains import chain_for

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _spare(settings: Any) -> None:
    settings.SIGNING_KEY_SPARE = True
    settings.METRICS_TOKEN = TOKEN


def problems(now: datetime) -> list[str]:
    return [entry.what for entry in outlook(now=now).problems]


def test_the_next_key_is_staged_as_soon_as_one_signs_and_waits_for_its_time(now: datetime) -> None:
    due_steps.rotate(now=now)
    first, spare = in_state(State.ACTIVE), in_state(State.STAGED)
    assert first
    assert spare

    for days in (1, 30, 89):
        due_steps.rotate(now=now + days * DAY)
        assert (in_state(State.ACTIVE), in_state(State.STAGED)) == (first, spare)
    due_steps.rotate(now=now + 90 * DAY)

    assert in_state(State.ACTIVE) == spare
    another = in_state(State.STAGED)
    assert another
    assert another not in (first, spare)


def test_when_the_key_that_signs_is_withdrawn_the_spare_signs_and_another_is_made(now: datetime) -> None:
    due_steps.rotate(now=now)
    first, spare = in_state(State.ACTIVE), in_state(State.STAGED)
    assert first

    transitions.withdraw(first.pk, reason="stolen", now=now + DAY)
    assert in_state(State.ACTIVE) == spare
    due_steps.rotate(now=now + DAY)

    assert in_state(State.STAGED)
    assert problems(now + DAY) == []


def test_it_shows_everywhere_when_none_stands_ready(client: Client, settings: Any) -> None:
    now = timezone.now()
    due_steps.rotate(now=now)
    assert numbers(client)["signing_key_spare",] == 1
    assert (spare_key(None), problems(now)) == ([], [])

    settings.SELF_CERTIFYING_AUTHORITY = False
    transitions.withdraw(SigningKey.objects.get(state=State.STAGED).pk, reason="a test", now=now)
    due_steps.rotate(now=now)  # stages one that waits for its certificate

    assert numbers(client)["signing_key_spare",] == 0
    assert [message.id for message in spare_key(None)] == ["keys.I005"]
    assert problems(now) == ["no_spare_key"]
    waiting = SigningKey.objects.get(state=State.STAGED)
    transitions.certify(waiting.pk, chain_for(waiting, now), now=now)
    assert numbers(client)["signing_key_spare",] == 1
    assert problems(now) == []


def test_a_spare_whose_certificates_have_ended_is_none(now: datetime, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    key = transitions.stage(now=now)
    transitions.certify(key.pk, chain_for(key, now, ends=now + 20 * DAY), now=now)

    assert "no_spare_key" not in problems(now + 19 * DAY)
    assert "no_spare_key" in problems(now + 21 * DAY)


def test_without_the_setting_nobody_is_told(client: Client, settings: Any) -> None:
    settings.SIGNING_KEY_SPARE = False
    due_steps.rotate(now=timezone.now())

    assert in_state(State.STAGED) is None
    assert ("signing_key_spare",) not in numbers(client)
    assert (spare_key(None), problems(timezone.now())) == ([], [])


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_instances_that_rotate_at_once_make_one_spare(now: datetime, at_once: Any) -> None:
    for round_ in range(4):
        at = now + round_ * 90 * DAY
        results = at_once(*[lambda at=at: due_steps.rotate(now=at)] * 6)

        assert [result for result in results if isinstance(result, Exception)] == []
        living = SigningKey.objects.filter(state__in=[State.ACTIVE, State.STAGED])
        assert sorted(living.values_list("state", flat=True)) == ["active", "staged"]
    assert SigningKey.objects.count() == 5
