"""`python -m tests.flow_profile`: counts the modules and switches in a returning holder's two requests.

The two requests (authorize, decision) go through the WSGI application on the test database,
after three flows that fill every cache. `sys.setprofile` sees each Python call. A module of the packages
`OURS` counts if its code runs. A switch is a direct call from code of one such module to code of another.
Calls that a library makes (Django calls a view) are not switches. All calls within the application are
counted too, those of built-in functions included, as cProfile counts them.
"""

import gc
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from types import FrameType
from typing import Any
from urllib.parse import urlencode

OURS = ("config", "infra", "keys", "wallet", "consent", "presentation", "operators")
ORIGIN = "http://testserver"
AUTHORIZE = "/verifiable-credentials/v1/presentation/authorize"
DECISION = re.compile(r'<form method="post" action="([^"]+/interactions/[^"]+)"')


@dataclass
class Profile:
    """The entered modules, the number of calls from each module to each other one, and of all calls."""

    calls: int = 0
    modules: set[str] = field(default_factory=set)
    switches: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def number_of_switches(self) -> int:
        return self.switches.total()

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """A profile function as `sys.setprofile` takes it."""
        self.calls += event in ("call", "c_call")
        if event != "call" or (entered := _module(frame)) is None:
            return
        self.modules.add(entered)
        before = _module(frame.f_back)
        if before is not None and before != entered:
            self.switches[before, entered] += 1

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Notes every call while the block runs, but none of finalizers of the tests before this one."""
        before = sys.getprofile()
        gc.disable()
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(before)
            gc.enable()

    def table(self, largest: int = 25) -> str:
        """The modules, and the pairs of modules with the most switches."""
        pairs = [f"{count:5}  {one} > {other}" for (one, other), count in self.switches.most_common(largest)]
        head = f"{len(self.modules)} modules, {self.number_of_switches} switches, {self.calls} calls"
        return "\n".join([head, "", *sorted(self.modules), "", *pairs])


@dataclass
class Browser:
    """A browser that keeps cookies, and calls the WSGI application in this process."""

    application: Callable[..., Any]
    cookies: dict[str, str]
    origin: str = ORIGIN
    profile: Profile | None = None  # notes what the application does

    def send(self, path: str, form: dict[str, str] | None = None) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of the response to a GET or, with `form`, a POST."""
        from django.test import RequestFactory

        scheme, _, host = self.origin.partition("://")
        known = {"host": host, "x-forwarded-proto": scheme}
        known["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if form is None:
            request = RequestFactory().get(path, headers=known)
        else:
            request = RequestFactory().post(
                path,
                urlencode(form),  # as browsers send it
                content_type="application/x-www-form-urlencoded",
                headers=known | {"origin": self.origin, "sec-fetch-site": "same-origin"},
            )
        status, headers = 0, {}

        def start(line: str, pairs: list[tuple[str, str]], _information: Any = None) -> None:
            nonlocal status
            status = int(line.split()[0])
            for name, value in pairs:
                if name == "Set-Cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
                headers[name] = value

        with self.profile.noting() if self.profile else nullcontext():
            response = self.application(request.environ, start)
            body = b"".join(response)
            response.close()
        return status, headers, body.decode()


def flow(browser: Browser, request: dict[str, str]) -> str:
    """The two requests of a signed-in holder who shares; returns the final redirect's address."""
    status, _headers, page = browser.send(f"{AUTHORIZE}?{urlencode(request)}")
    assert status == 200, status
    form = {"page": re.findall('name="page" value="([^"]+)"', page)[0], "decision": "share"}
    status, headers, _body = browser.send(DECISION.findall(page)[0], form)
    assert status == 303, status
    return headers["Location"]


def measure(
    cookies: dict[str, str], request: Callable[[], dict[str, str]], *, origin: str = ORIGIN
) -> Profile:
    """The profile of one flow of a signed-in holder with these cookies, after three flows without profile.

    Of five flows, the one with the fewest calls: every few seconds one looks for another signing key or
    scope, and on a busy machine several in a row.
    """
    from config.wsgi import application

    browser, profiles = Browser(application, dict(cookies), origin), [Profile() for _ in range(5)]
    for _ in range(3):  # the first opens the status lists, the second is the first to show the last sharing
        assert "#vp_token=" in flow(browser, request())
    for browser.profile in profiles:
        assert "#vp_token=" in flow(browser, request())
    return min(profiles, key=lambda profile: profile.calls)


def of_alice() -> Profile:
    """The profile of a flow of Alice with Acme Bank, on the test database."""
    from django.conf import settings
    from django.http import HttpResponse
    from django.test import RequestFactory
    from django.utils import timezone

    from keys.rotation import due_steps
    from tests.people import ALICE, enroll, register
    from wallet.sign_in import sessions

    due_steps.rotate(now=timezone.now())
    born = timezone.now().date() - timedelta(days=40 * 365)
    alice = enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=born)
    bank, response = register("Acme Bank", f"{(home := 'https://bank.example')}/callback"), HttpResponse()
    sessions.start(RequestFactory().get("/"), response, alice, now=timezone.now())

    def request() -> dict[str, str]:
        return {
            "response_type": "vp_token",
            "client_id": bank.client_id,
            "redirect_uri": f"{home}/callback",
            "scope": "urn:service:params:scope:verifiable-credentials:basic",
            "login_hint": ALICE,
            "nonce": secrets.token_urlsafe(24),
            "state": secrets.token_urlsafe(12),
        }

    cookie = settings.HOLDER_COOKIE_NAME
    return measure({cookie: response.cookies[cookie].value}, request)


def _module(frame: FrameType | None) -> str | None:
    """The name of the module of a frame's code, if it is one of ours."""
    name = frame.f_globals.get("__name__", "") if frame else ""
    return name if name.partition(".")[0] in OURS else None


if __name__ == "__main__":
    import pytest

    sys.exit(pytest.main(["-s", "tests/presentation/requests/test_flow_profile.py"]))
