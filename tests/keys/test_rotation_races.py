"""Several instances rotate at once: threads on PostgreSQL."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from keys.issuer_key import active_issuer_key
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import RotationRefusedError, State, in_state

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
THREADS, ROUNDS = 8, 6


def states() -> Counter[str]:
    return Counter(SigningKey.objects.values_list("state", flat=True))


def errors(results: list[Any]) -> list[Any]:
    return [result for result in results if isinstance(result, Exception)]


def test_instances_that_start_together_make_one_key(now: datetime, at_once: Any) -> None:
    for _round in range(ROUNDS):
        SigningKey.objects.all().delete()
        assert errors(at_once(*[lambda: due_steps.rotate(now=now)] * THREADS)) == []
        assert states() == {"active": 1}


def test_instances_that_rotate_together_move_each_key_once(now: datetime, at_once: Any) -> None:
    due_steps.rotate(now=now)
    for _round in range(ROUNDS):
        active = in_state(State.ACTIVE)
        assert active
        assert active.activated_at
        due = active.activated_at + timedelta(days=88)
        assert errors(at_once(*[lambda due=due: due_steps.rotate(now=due)] * THREADS)) == []
        assert states()["staged"] == 1
        later = due + timedelta(days=2)
        assert errors(at_once(*[lambda later=later: due_steps.rotate(now=later)] * THREADS)) == []
        assert (states()["active"], states()["staged"], states()["retired"]) == (1, 0, 1)
        ended = later + timedelta(days=2)
        assert errors(at_once(*[lambda ended=ended: due_steps.rotate(now=ended)] * THREADS)) == []
        assert states()["retired"] == 0
    assert states() == {"active": 1, "withdrawn": ROUNDS}


def test_staging_together_stages_one(now: datetime, at_once: Any) -> None:
    for _round in range(ROUNDS):
        SigningKey.objects.all().delete()
        results = at_once(*[lambda: transitions.stage(now=now)] * THREADS)
        assert len(errors(results)) == THREADS - 1
        assert all(isinstance(error, RotationRefusedError) for error in errors(results))
        assert states() == {"staged": 1}


def test_activating_together_activates_once_and_retires_once(now: datetime, at_once: Any) -> None:
    due_steps.rotate(now=now)
    for round_ in range(1, ROUNDS + 1):
        moment = now + timedelta(days=round_)
        staged, later = transitions.stage(now=moment), moment + timedelta(hours=2)

        def activate(kid: Any = staged.pk, later: datetime = later) -> SigningKey:
            return transitions.activate(kid, now=later)

        assert errors(at_once(*[activate] * THREADS)) == []
        assert states() == {"active": 1, "retired": round_}
        assert SigningKey.objects.get(state="active").pk == staged.pk


def test_a_withdrawal_wins_against_activation_at_the_same_moment(now: datetime, at_once: Any) -> None:
    due_steps.rotate(now=now)
    for round_ in range(1, ROUNDS + 1):
        moment = now + timedelta(days=round_)
        staged, later = transitions.stage(now=moment), moment + timedelta(hours=2)

        def activate(kid: Any = staged.pk, later: datetime = later) -> SigningKey:
            return transitions.activate(kid, now=later)

        def withdraw(kid: Any = staged.pk, later: datetime = later) -> SigningKey:
            return transitions.withdraw(kid, reason="compromised", now=later)

        results = at_once(*[activate, withdraw] * (THREADS // 2))
        assert all(isinstance(error, RotationRefusedError) for error in errors(results))
        assert errors(results[1::2]) == []
        assert SigningKey.objects.get(pk=staged.pk).state == State.WITHDRAWN
        assert states()["active"] <= 1
        due_steps.rotate(now=later)


def test_signatures_during_a_rotation_are_by_a_key_published_long_enough(now: datetime, at_once: Any) -> None:
    due_steps.rotate(now=now)
    first = in_state(State.ACTIVE)
    staged, later = transitions.stage(now=now), now + timedelta(hours=2)
    signed: list[str] = []

    def sign() -> None:
        for _again in range(30):
            signed.append(active_issuer_key(now=later).kid)

    results = at_once(sign, sign, sign, lambda: transitions.activate(staged.pk, now=later))
    assert errors(results) == []
    assert set(signed) <= {str(first), str(staged)}
    assert active_issuer_key(now=later, fresh=True).kid == str(staged)
