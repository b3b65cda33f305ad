"""Two instances with two workers each follow a rotation and a withdrawal during presentations.

Time is shortened: keys are staged as if two days ago, and a relying party's copy of the key set
is valid for MAX_AGE instead of an hour. The times that instances need are not shortened.
"""

from datetime import timedelta
from io import StringIO
from time import monotonic

import pytest
from django.core.management import call_command
from django.utils import timezone

from keys.rotation import transitions
from keys.rotation.states import State, find, in_state
from tests.journeys.load import Load, Signed, patiently
from tests.relying_party import RejectedError

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
MAX_AGE = 2.0  # seconds
PUBLISHED_WITHIN = 5.0 + 3.0  # the promised time, and three seconds for a busy machine
TWO_DAYS_AGO = timedelta(hours=49)


def stage_two_days_ago() -> str:
    return str(transitions.stage(now=timezone.now() - TWO_DAYS_AGO))


def test_a_rotation_disturbs_no_request_and_a_withdrawn_key_signs_nothing_more(load: Load) -> None:
    first = str(in_state(State.ACTIVE))
    with load:
        load.pause(1)
        second = stage_two_days_ago()
        load.pause(PUBLISHED_WITHIN + MAX_AGE)
        call_command("rotate_signing_keys", stdout=StringIO())
        assert (find(first).state, find(second).state) == (State.RETIRED, State.ACTIVE)
        load.follow(second)
        third = stage_two_days_ago()
        load.pause(PUBLISHED_WITHIN + MAX_AGE)
        call_command("withdraw_signing_key", "--reason", "stolen", "--yes", stdout=StringIO())
        withdrawn = monotonic()
        load.pause(PUBLISHED_WITHIN + 1)
    assert load.failed == []
    assert {token.kid for token in load.tokens} == {first, second, third}
    assert [token.kid for token in load.tokens if token.begun > withdrawn and token.kid != third] == []
    assert missing(load) == []
    at_the_end = {kids for at, kids in load.key_sets if at > withdrawn + PUBLISHED_WITHIN}
    assert at_the_end == {frozenset({first, third})}
    newest = {token.kid: token for token in load.tokens}
    patiently(lambda: [load.believe(newest[kid]) for kid in (first, third)])
    with pytest.raises(RejectedError, match=f"kid: '{second}' is not in the key set"):
        load.believe(newest[second])
    patiently(lambda: load.demand_invalid(newest[second]))


def missing(load: Load) -> list[tuple[Signed, frozenset[str]]]:
    """Tokens whose key was missing in a key set that was served within MAX_AGE before they were signed."""
    return [
        (token, kids)
        for token in load.tokens
        for at, kids in load.key_sets
        if token.ended - MAX_AGE <= at <= token.begun and token.kid not in kids
    ]
