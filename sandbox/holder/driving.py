"""The holder for tests of relying applications: goes through a request as a person with a browser does.

It requests the same pages. Only sign-in and the identity check are replaced: no code is typed, and the holder
is one of the personas.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone

from consent import switches
from consent.models import Consent
from infra.limits import ClientLimit, LimitReachedError, RollingLimit, take
from infra.waiting import (
    Guard,
    NoThreadFreeError,
    most_for_applications,
    one_at_a_time,
    waiting_for,
    was_refused,
)
from presentation.machine_errors import UnavailableError
from presentation.models import Interaction
from sandbox.appearance import appear
from sandbox.holder.call import HolderCall
from sandbox.holder.inner_browser import InnerBrowser, PageText
from wallet import redirect_tasks
from wallet.models import RedirectTask

MOST_PAGES = 12  # of one call; four are usual
# In place of the limits of sign-in, which CI would soon reach. One machine runs the tests of many developers.
CALLS_PER_CLIENT = ClientLimit.from_settings("holder-calls-per-client")
# A person is one persona at a time, so calls for one e-mail address run one after the other. The window ends
# the lease of a call whose process was killed.
LEASE = RollingLimit("holder-turn", most=1, window=timedelta(minutes=10))
LONGEST_WAIT = 15.0  # seconds
ADDRESS_BUSY = "Other calls for the same login_hint take too long. Use another for each test."
OWN_DOMAIN = "holder.example"  # of the address of a persona who is asked for one
# At most one call of this process waits for the relying application whose request or keys are fetched, or to
# which its answer is posted.
_waiting = Guard()
# The calls of this process that wait for another call with their e-mail address.
_queued: set[object] = set()


def answer(call: HolderCall, *, client: str | None) -> dict[str, Any]:
    """Open the request, go through it, and return where it ends: a redirect, or a page of this service.

    The consent page refuses optional claims that were not offered as optional. client: the network address of
    the caller, which limits count by.
    Raises `UnavailableError` if calls with the same e-mail address do not end in time; or `NoThreadFreeError`
    when this call would have to wait and another one of this process waits already. Then the request is
    unanswered, and can be opened again.
    """
    browser = InnerBrowser(client)
    with ExitStack() as leaving, one_at_a_time(_waiting):
        leaving.callback(browser.sign_out)
        steps = _Steps(browser, call, leaving)
        parts = urlsplit(call.authorize_url)
        response = browser.get(f"{parts.path}?{parts.query}")
        for _ in range(MOST_PAGES):
            if was_refused():  # the view answered without what it would have waited for
                raise NoThreadFreeError
            headers = response.headers  # the consent page may be the answer to the request itself
            location = headers.get("Location") or headers.get("Content-Location") or _way_back(response)
            if location is None:
                break
            if not location.startswith("/"):
                return {"redirect_to": location}
            response = steps.at(location)
        words = _words(response)
        page = {"status": response.status_code, "heading": words.heading, "text": words.text}
        return {"redirect_to": None, "page": page}


class _Steps:
    """What the holder does at each address to which the browser is sent; each step is done once."""

    def __init__(self, browser: InnerBrowser, call: HolderCall, leaving: ExitStack) -> None:
        self.browser, self.call, self.leaving = browser, call, leaving
        self.steps = {
            "wallet_sign_in": self._sign_in,
            "wallet_identity": self._leave,
            "consent_review": self._decide,
            "leave": self._go_back,
        }

    def at(self, location: str) -> HttpResponseBase:
        match = resolve(location.partition("?")[0])
        step = self.steps.pop(match.url_name or "", None)
        return step(match, location) if step else self.browser.get(location)

    def _sign_in(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        redirect_task = RedirectTask.objects.get(id=match.kwargs["redirect_task_id"])
        if redirect_task.asks_address:
            redirect_tasks.take_address(redirect_task, f"{self.call.persona}@{OWN_DOMAIN}")
        _take_lease(redirect_task.email, self.leaving)
        wallet = appear(redirect_task, self.call.persona, now=timezone.now())
        if not wallet.can_share:
            return self._leave(match, location)
        self.browser.sign_in(wallet, by_passkey=redirect_task.needs_passkey)
        return self.browser.get(redirect_task.return_to)

    def _leave(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        """The wallet is suspended, or the identity check gave no identity."""
        redirect_task = RedirectTask.objects.get(id=match.kwargs["redirect_task_id"])
        with _answering(Q(redirect_task=redirect_task)):
            return self.browser.get(redirect_task.leave_to)

    def _go_back(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        """The wallet does not hold what is requested."""
        with _answering(Q(id=match.kwargs["interaction_id"])):
            return self.browser.get(location)

    def _decide(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        page = self.browser.get(location)
        if page.status_code != 200:
            return page
        consent = Consent.objects.get(id=match.kwargs["consent_id"])
        with _answering(Q(consent=consent)):
            form = {"decision": self.call.decision, switches.FIELD: self.call.optional}
            return self.browser.post(consent.return_to, form)


def _answering(interaction: Q) -> AbstractContextManager[None]:
    """Around the step that answers the request: posting an answer waits for the relying application.

    Raises `NoThreadFreeError` before the request is answered.
    """
    posted = Interaction.objects.filter(interaction).exclude(response_uri="").exists()
    return _waiting.held() if posted else nullcontext()


def _take_lease(email: str, leaving: ExitStack) -> None:
    """Take the lease of the e-mail address, and wait for it if need be; `leaving` gives it back."""
    with suppress(LimitReachedError):
        return take(LEASE, email, now=timezone.now(), taken=leaving)
    last_try = time.monotonic() + LONGEST_WAIT
    with _place_in_queue() as place, one_at_a_time(Guard()), waiting_for(place):
        while time.monotonic() <= last_try:
            time.sleep(0.03)
            with suppress(LimitReachedError):
                return take(LEASE, email, now=timezone.now(), taken=leaving)
    raise UnavailableError(ADDRESS_BUSY, seconds=1)


@contextmanager
def _place_in_queue() -> Iterator[object]:
    """A place among those that wait; one thread is left for the call that the others wait for.

    Raises `NoThreadFreeError` if there is none.
    """
    place = object()
    _queued.add(place)
    try:
        if len(_queued) > max(1, most_for_applications() - 1):
            raise NoThreadFreeError
        yield place
    finally:
        _queued.discard(place)


def _way_back(response: HttpResponseBase) -> str | None:
    """The target of “Go back” on a page that offers a person nothing else."""
    for link in _words(response).links:
        with suppress(Resolver404):  # a file, or an address elsewhere
            if resolve(link).url_name == "leave":
                return link
    return None


def _words(response: HttpResponseBase) -> PageText:
    return PageText(response.content.decode() if isinstance(response, HttpResponse) else "")
