"""How many calls of Python and built-in functions one flow takes, as cProfile counts them.

The two requests of a signed-in holder (authorize, decision) go through the WSGI application in this process,
with production's settings. The number does not depend on the load of the machine. Run as a module in the
service's environment, with the prepared holders as JSON in HOLDERS; prints the number.
"""

import cProfile
import gc
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import django

from tools.benchmarks.browsers import ORIGIN
from tools.benchmarks.flows import AUTHORIZE, parameters
from tools.benchmarks.servers import Servers, Work
from tools.benchmarks.table import Row

MOST = 11_800
COMMAND = ("-m", "tools.benchmarks.calls")
DECISION = re.compile(r'<form method="post" action="([^"]+/interactions/[^"]+)"')
PAGE = re.compile(r'name="page" value="([^"]+)"')


class Browser:
    """A browser that keeps cookies, and calls the WSGI application in this process."""

    def __init__(self, application: Callable[..., Any], cookies: Mapping[str, str]) -> None:
        self._application, self._cookies = application, dict(cookies)
        self.profile: cProfile.Profile | None = None  # notes what the application does

    def send(self, path: str, form: dict[str, str] | None = None) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of the response to a GET or, with `form`, a POST."""
        status, headers = 0, {}

        def start(line: str, pairs: list[tuple[str, str]], _information: Any = None) -> None:
            nonlocal status
            status = int(line.split()[0])
            for name, value in pairs:
                if name == "Set-Cookie":
                    key, _, rest = value.partition("=")
                    self._cookies[key] = rest.partition(";")[0]
                headers[name] = value

        environ = self._environ(path, form)
        if self.profile:
            self.profile.enable()
        try:
            response = self._application(environ, start)
            body = b"".join(response)
            response.close()
        finally:
            if self.profile:
                self.profile.disable()
        return status, headers, body.decode()

    def _environ(self, path: str, form: dict[str, str] | None) -> dict[str, Any]:
        from django.test import RequestFactory

        scheme, _, host = ORIGIN.partition("://")
        headers = {"host": host, "x-forwarded-proto": scheme}
        headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        if form is None:
            return RequestFactory().get(path, headers=headers).environ
        sent = RequestFactory().post(
            path,
            urlencode(form),  # as browsers send it
            content_type="application/x-www-form-urlencoded",
            headers=headers | {"origin": ORIGIN, "sec-fetch-site": "same-origin"},
        )
        return sent.environ


def run(servers: Servers) -> list[Row]:
    """One row. From run to run the number differs by a handful."""
    holders = json.dumps(servers.service.facts)
    with Work([*COMMAND], {**servers.service.environment, "HOLDERS": holders}) as work:
        return [Row("b", "Python calls of one flow", int(work.done()), "calls", limit=MOST)]


def counted(facts: dict[str, Any]) -> int:
    """The calls of a flow of the first holder, after three flows that fill every cache.

    Of five flows, the one with the fewest calls: every few seconds one looks for another signing key or
    scope.
    """
    from config.wsgi import application

    browser = Browser(application, facts["cookies"][0])
    for _ in range(3):
        share(browser, facts)
    gc.disable()  # no finalizers of other objects
    return min(calls_of_a_flow(browser, facts) for _ in range(5))


def calls_of_a_flow(browser: Browser, facts: dict[str, Any]) -> int:
    browser.profile = cProfile.Profile()
    share(browser, facts)
    return sum(function.callcount for function in browser.profile.getstats())


def share(browser: Browser, facts: dict[str, Any]) -> None:
    """The two requests of a signed-in holder who shares."""
    request = parameters(facts, facts["emails"][0])
    status, _headers, page = browser.send(f"{AUTHORIZE}?{urlencode(request)}")
    assert status == 200, status
    form = {"page": PAGE.findall(page)[0], "decision": "share"}
    status, headers, _body = browser.send(DECISION.findall(page)[0], form)
    assert status == 303, status
    assert "#vp_token=" in headers["Location"]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(counted(json.loads(os.environ["HOLDERS"])))
