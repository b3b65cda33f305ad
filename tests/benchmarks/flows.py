"""Benchmarks (b) and (d): a holder's flow compared with django-oauth-toolkit's, and the memory of flows."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from urllib.parse import urlencode

from tests.benchmarks.browsers import Browser
from tests.benchmarks.bursts import Contender, alternate
from tests.benchmarks.servers import Prepared, Servers
from tests.benchmarks.sites import Site, cpu_seconds, resident_megabytes
from tests.benchmarks.table import Row

AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
SCOPE = "urn:service:params:scope:verifiable-credentials:basic"
SPEED_TARGET = 1.5
GROWTH_TARGET = 1.03  # allows for memory that the allocator keeps
PARALLEL = 4  # browsers at once while memory is measured, so that every thread of the worker is used


@dataclass(frozen=True)
class Holder:
    """One signed-in browser: a fresh request, the form field that agrees, and the beginning of the answer."""

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


def parallel_flows(site: Site, holders: list[Holder], *, at_once: int) -> Callable[[int], None]:
    """A burst of flows by `at_once` browsers; raises if a flow does not end with the expected answer."""

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


def speed(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Benchmark (b)."""
    with servers.service.open() as service, servers.toolkit.open() as toolkit:
        ours = parallel_flows(service, service_holders(servers.service), at_once=1)
        theirs = parallel_flows(toolkit, toolkit_holders(servers.toolkit), at_once=1)
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


def memory(servers: Servers, *, early: int, late: int) -> list[Row]:
    """Benchmark (d): the worker's resident memory after `early` flows and after `late`."""
    with servers.service.open() as service:
        burst = parallel_flows(service, service_holders(servers.service), at_once=PARALLEL)
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
