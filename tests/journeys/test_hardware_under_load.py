"""A running service with two workers whose signing key is in a hardware module (PKCS#11)."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.utils import timezone

from keys.models import SigningKey
from keys.rotation import due_steps
from tests.journeys.load import JWKS, Load, patiently
from tests.processes import environment
from tests.relying_party import demand
from tests.softhsm import Token
from tests.warm_start import WarmSite
from tools.benchmarks.browsers import ORIGIN, Browser
from tools.benchmarks.sites import children

pytestmark = [pytest.mark.softhsm, pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def site(settings: Any, tmp_path: Path, token: Token, transactional_db: None) -> Iterator[WarmSite]:
    """One instance, loaded before it forks, whose only key is in the module."""
    settings.BASE_URL = ORIGIN
    settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME = "__Host-holder", "__Host-browser"
    settings.SIGNING_KEY_STORE = "pkcs11"
    due_steps.rotate(now=timezone.now())
    told = {**environment(settings, tmp_path), **token.environment, **token.settings, "WEB_CONCURRENCY": "2"}
    with WarmSite("config.wsgi", told, ready=JWKS) as site:
        yield site


@pytest.fixture
def instances(site: WarmSite) -> list[int]:
    """The ports of the load."""
    return [site.port]


def present_in_peace(load: Load, seconds: float) -> set[str]:
    """The keys that sign during this time. Fails if a request or a verification fails."""
    load = replace(load, tokens=[], key_sets=[], failed=[], over=Event())
    with load:
        load.pause(seconds)
    assert load.failed == []
    for token in load.tokens:
        load.believe(token)
    return {token.kid for token in load.tokens}


def troubles(load: Load, seconds: float) -> list[BaseException]:
    """What failed in this time. The load uses every worker; requests one after the other may all meet one."""
    load = replace(load, tokens=[], key_sets=[], failed=[], over=Event())
    with load:
        load.over.wait(seconds)
    return load.failed


def has_opened_the_module(process: int) -> bool:
    return "libsofthsm2" in Path(f"/proc/{process}/maps").read_text()


def test_every_worker_signs_in_the_module_with_a_session_of_its_own(site: WarmSite, load: Load) -> None:
    kid = str(SigningKey.objects.get(store="pkcs11"))
    assert present_in_peace(load, 2) == {kid}
    first, second = children(site.process.pid)
    assert has_opened_the_module(first)
    assert has_opened_the_module(second)
    assert not has_opened_the_module(site.process.pid)  # no process did before the fork
    os.kill(first, signal.SIGKILL)
    patiently(lambda: demand(len(set(children(site.process.pid)) - {first}) == 2, "worker", "no other yet"))
    assert present_in_peace(load, 2) == {kid}


def test_while_the_module_is_away_requests_end_as_they_should_and_then_it_goes_on(
    site: WarmSite, load: Load, token: Token
) -> None:
    party, email, cookies = load.parties[0]

    def present() -> str:
        """Uses its own connection, so that any worker may accept it."""
        with Browser(site.port, cookies) as browser:
            asked = party.authorize_url(login_hint=email).removeprefix(ORIGIN)
            answer = party.read(browser.give(asked, ("decision", "share")))
        return "presented" if answer.presentation else str(answer.error)

    assert present_in_peace(load, 1)
    token.take_away()
    assert {present() for _ in range(4)} == {"temporarily_unavailable"}
    token.put_back()
    patiently(lambda: demand(not troubles(load, 1), "answer", "not every worker has opened the module again"))
    assert present_in_peace(load, 1)
