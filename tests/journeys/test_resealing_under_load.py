"""Sealed values are sealed anew under a running service without disturbing requests."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from keys.rotation import due_steps
from keys.sealed_columns import sealed_columns
from tests.journeys.load import JWKS, Load
from tests.processes import environment
from tests.warm_start import WarmSite, run
from tools.benchmarks import holders
from tools.benchmarks.browsers import ORIGIN

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
OLD, NEW = (secrets.token_urlsafe(32) for _ in range(2))
NEIGHBOURS = 150  # so many that resealing takes as long as many presentations
Surroundings = Callable[..., dict[str, str]]


@pytest.fixture
def surroundings(settings: Any, tmp_path: Path, transactional_db: None) -> Surroundings:
    """The environment of a process with these sealing keys."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"

    def surroundings(*keys: str) -> dict[str, str]:
        told = environment(settings, tmp_path)
        return {**told, "KEY_SEALING_KEYS": ",".join(keys), "WEB_CONCURRENCY": "2"}

    return surroundings


@pytest.fixture
def instances(surroundings: Surroundings, settings: Any) -> Iterator[list[int]]:
    """An instance that knows a new sealing key while everything is sealed under the old one."""
    settings.KEY_SEALING_KEYS = [OLD]
    due_steps.rotate(now=timezone.now())
    for number in range(NEIGHBOURS):
        holders.sign_in(f"neighbour{number}@example.org", timezone.now())
    with WarmSite("config.wsgi", surroundings(NEW, OLD), ready=JWKS) as site:
        yield [site.port]


def test_resealing_disturbs_no_request(load: Load, surroundings: Surroundings, settings: Any) -> None:
    with load:
        load.pause(0.5)
        before = len(load.tokens)
        words = ("reseal", "--batch", "1", "--reason", "January")
        done = run(surroundings(NEW, OLD), "manage.py", *words)
        during = load.tokens[before:]
        load.pause(0.5)
    assert done.returncode == 0, done.stderr
    assert f"wallet_credential.sealed_identity: {NEIGHBOURS + 3} moved." in done.stdout
    assert load.failed == []
    assert len(during) > 3
    for token in during[-20:]:
        load.believe(token)
    settings.KEY_SEALING_KEYS = [NEW]
    assert [column.lost() for column in sealed_columns() if column.lost()] == []
    with WarmSite("config.wsgi", surroundings(NEW), ready=JWKS) as without_the_old:
        load.ports[:] = [without_the_old.port]
        load.tokens.clear()
        load.over.clear()
        with load:
            load.pause(1)
    assert load.failed == []
    assert load.tokens
