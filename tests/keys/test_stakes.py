"""The credentials of a key are counted by apps that register for it."""

from uuid import uuid4

import pytest
from django.utils import timezone

from keys.rotation import states


@pytest.fixture(autouse=True)
def no_counters(monkeypatch):
    monkeypatch.setattr(states, "_counters", [])


def test_without_counters_a_key_has_no_credentials():
    assert states.unexpired_credentials(uuid4(), now=timezone.now()) == 0


def test_every_registered_counter_is_asked_once_with_the_key_and_the_moment():
    kid, now, asked = uuid4(), timezone.now(), []

    def seven(*question):
        asked.append(question)
        return 7

    states.register_stake(seven)
    states.register_stake(seven)
    states.register_stake(lambda kid, now: 3)

    assert states.unexpired_credentials(kid, now=now) == 10
    assert asked == [(kid, now)]
