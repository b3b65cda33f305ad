"""A signed-in holder's flow at each of the servers, from the request to the answer in the last redirect."""

import base64
import json
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any
from urllib.parse import urlencode

from tools.benchmarks.browsers import Browser
from tools.benchmarks.servers import Prepared
from tools.benchmarks.sites import Server

AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
PUSH = "/verifiable-credentials/v1/presentation/par"
SCOPE = "urn:service:params:scope:verifiable-credentials:basic"


@dataclass(frozen=True)
class Holder:
    """One signed-in browser: a fresh request, the form field that agrees, and the beginning of the answer."""

    cookies: dict[str, str]
    request: Callable[[], str]
    yes: tuple[str, str]
    answer: str


def parameters(facts: Mapping[str, Any], email: str) -> dict[str, str]:
    """A fresh request to this service for the holder with this address."""
    return {
        "response_type": "vp_token",
        "client_id": facts["client_id"],
        "redirect_uri": facts["redirect_uri"],
        "scope": SCOPE,
        "nonce": secrets.token_urlsafe(24),
        "state": secrets.token_urlsafe(12),
        "login_hint": email,
    }


def service_holders(site: Prepared) -> list[Holder]:
    facts = site.facts

    def holder(cookies: dict[str, str], email: str) -> Holder:
        def request() -> str:
            return f"{AUTHORIZE}?{urlencode(parameters(facts, email))}"

        return Holder(cookies, request, ("decision", "share"), f"{facts['redirect_uri']}#vp_token=ey")

    return [holder(*who) for who in zip(facts["cookies"], facts["emails"], strict=True)]


def pushed(site: Prepared, server: Server) -> tuple[list[Holder], Callable[[int], None]]:
    """A holder whose requests were pushed, and what pushes the next n of them."""
    email, ready, clients = site.facts["emails"][0], deque[dict[str, str]](), cycle(site.facts["clients"])
    addresses = cycle(f"192.0.2.{number}" for number in range(1, 200))  # of the application's machines

    def push(size: int) -> None:
        with Browser(server.port) as application:
            for client, secret in islice(clients, size):
                form = {**parameters(site.facts, email), "client_id": client}
                basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
                head = {"Authorization": f"Basic {basic}", "X_Forwarded_For": next(addresses)}
                answer = application.post(PUSH, form, **head)
                ready.append({"client_id": client, "request_uri": json.loads(answer.body)["request_uri"]})

    def request() -> str:
        return f"{AUTHORIZE}?{urlencode(ready.popleft())}"

    answer = f"{site.facts['redirect_uri']}#vp_token=ey"
    return [Holder(site.facts["cookies"][0], request, ("decision", "share"), answer)], push


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


def parallel_flows(site: Server, holders: list[Holder], *, at_once: int) -> Callable[[int], None]:
    """A burst of flows by `at_once` browsers; raises if a flow does not end with the expected answer."""

    def passage(holder: Holder, count: int) -> None:
        with Browser(site.port, holder.cookies) as browser:
            for _ in range(count):
                home = browser.give(holder.request(), holder.yes)
                if not home.startswith(holder.answer):
                    raise RuntimeError(f"a flow ended at {home[:300]}")
            holder.cookies.update(browser.cookies)  # a server may have replaced its session's

    chosen = cycle(holders)

    def burst(size: int) -> None:
        shares = [size // at_once + (number < size % at_once) for number in range(at_once)]
        with ThreadPoolExecutor(at_once) as pool:
            passages = zip(islice(chosen, at_once), shares, strict=True)
            for done in [pool.submit(passage, *one) for one in passages]:
                done.result()

    return burst
