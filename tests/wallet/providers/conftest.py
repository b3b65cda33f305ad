"""Fixtures for checks by Stripe."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wallet.providers.stripe_play import NAME, StripePlay
from wallet.identity import attempts, progress


@pytest.fixture
def play(settings: Any) -> Iterator[StripePlay]:
    """A running server that speaks Stripe's interface; it is the only identity provider."""
    play = StripePlay()
    with play.running():
        settings.IDENTITY_PROVIDERS = {NAME: play.settings}
        yield play


@pytest.fixture
def begun(play, nora, redirect_task, now):
    """Nora has begun; the address is where her browser goes."""
    verification = attempts.attempt(nora, redirect_task, NAME, now=now)
    return verification, progress.begin(verification, now=now)


@pytest.fixture
def verification(begun):
    return begun[0]


@pytest.fixture
def address(begun):
    return begun[1]
