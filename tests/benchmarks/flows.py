"""Benches (b) and (d): a signed-in holder's flow beside django-oauth-toolkit's, and the memory flows take."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from urllib.parse import urlencode

from tests.benchmarks.browsers import Browser
from tests.benchmarks.bursts import Contender, alternate
from tests.benchmarks.sites import Site, cpu_seconds, resident_megabytes
from tests.benchmarks.stage import Prepared, Stage
from tests.benchmarks.table import Row

AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
SCOPE = "urn:service:params:scope:verifiable-credentials:basic"
SPEED_TARGET = 1.5
GROWTH_TARGET = 1.03  # what an allocator may keep and not be growing
CROWD = 4  # browsers at once where memory is looked at, so that every thread of the worker has its share


@dataclass(frozen=True)
class Holder:
    """One signed-in browser: where a fresh request leads, what says yes, and how the answer must begin."""

    cookies: dict[str, str]
    request: Callable[[], str]
    yes: tuple[str, str]
    answer: str


def service_holders(site: Prepared) -> list[Holder]:
    facts = site.facts

    def holder(cookies: dict[str, str], email: str) -> Holder:
        def request() -> str:
            parameters = {
                "response_type": "vp_token",
                "client_id": facts["client_id"],
                "redirect_uri": facts["redirect_uri"],
                "scope": SCOPE,
                "nonce": secrets.token_urlsafe(24),
                "state": secrets.token_urlsafe(12),
                "login_hint": email,
            }
            return f"{AUTHORIZE}?{urlencode(parameters)}"

        return Holder(cookies, request, ("decision", "share"), f"{facts['redirect_uri']}#vp_token=ey")

    return [holder(*who) for who in zip(facts["cookies"], facts["emails"], strict=True)]


def toolkit_holders(site: Prepared) -> list[Holder]:
    facts = site.facts

    def request() -> str:
        parameters = {
            "response_type": "code",
            "client_id": facts["client_id"],
            "redirect_uri": facts["redirect_uri"],
            "scope": "read",
            "state": secrets.token_urlsafe(12),
            "code_challenge": secrets.token_urlsafe(32),
            "code_challenge_method": "S256",
        }
        return f"/o/authorize/?{urlencode(parameters)}"

    answer = f"{facts['redirect_uri']}?code="
    return [Holder(cookies, request, ("allow", "Authorize"), answer) for cookies in facts["cookies"]]


def crowd(site: Site, holders: list[Holder], *, at_once: int) -> Callable[[int], None]:
    """A burst: so many flows, by so many browsers at once; raises when one does not end where it should."""

    def passage(holder: Holder, count: int) -> None:
        with Browser(site.port, holder.cookies) as browser:
            for _ in range(count):
                home = browser.give(holder.request(), holder.yes)
                if not home.startswith(holder.answer):
                    raise RuntimeError(f"a flow ended at {home[:300]}")

    chosen = cycle(holders)

    def burst(size: int) -> None:
        shares = [size // at_once + (number < size % at_once) for number in range(at_once)]
        with ThreadPoolExecutor(at_once) as pool:
            passages = zip(islice(chosen, at_once), shares, strict=True)
            for done in [pool.submit(passage, *one) for one in passages]:
                done.result()

    return burst


def speed(stage: Stage, *, bursts: int, size: int) -> list[Row]:
    """Bench (b)."""
    with stage.service.open() as service, stage.toolkit.open() as toolkit:
        ours = crowd(service, service_holders(stage.service), at_once=1)
        theirs = crowd(toolkit, toolkit_holders(stage.toolkit), at_once=1)
        rates = alternate(
            [
                Contender("this service", ours, lambda: cpu_seconds(service.worker)),
                Contender("django-oauth-toolkit", theirs, lambda: cpu_seconds(toolkit.worker)),
            ],
            bursts=bursts,
            size=size,
        )
    unit = "flows per CPU second"
    return [
        Row(
            "b",
            "whole flow, signed-in holder",
            rates[0],
            unit,
            rates[0] / rates[1],
            SPEED_TARGET,
            note="against django-oauth-toolkit",
        ),
        Row("b", "django-oauth-toolkit: authorize, approve, code", rates[1], unit),
    ]


def memory(stage: Stage, *, early: int, late: int) -> list[Row]:
    """Bench (d): the worker's resident memory after `early` flows and after `late`."""
    with stage.service.open() as service:
        burst = crowd(service, service_holders(stage.service), at_once=CROWD)
        burst(early)
        first = resident_megabytes(service.worker)
        burst(late - early)
        last = resident_megabytes(service.worker)
    return [
        Row("d", f"worker's resident memory after {early:,} flows", first, "MB"),
        Row(
            "d",
            f"the same worker after {late:,} flows",
            last,
            "MB",
            last / first,
            GROWTH_TARGET,
            at_most=True,
            note=f"growth {last - first:+.1f} MB",
        ),
    ]
