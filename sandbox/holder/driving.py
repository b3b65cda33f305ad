"""The holder for tests of relying applications: goes through a request as a person at a browser would.

It opens the pages themselves, so whatever they do, it does; only the code is not typed and the identity check
is that of a persona. There in the sandbox only.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone

from consent.models import Consent
from infra.limits import Limit, LimitReachedError
from infra.waiting import Guard, NoThreadFreeError, one_at_a_time, waiting_for, was_refused
from presentation.models import Interaction
from sandbox.appearance import appear
from sandbox.holder.inner_browser import InnerBrowser, Words
from wallet.models import Errand

MOST_PAGES = 12  # of one passage; an ordinary one has four
# Instead of the limits of sign-in, which CI would soon reach. One machine tests for many.
CALLS_PER_CLIENT = Limit("holder-calls-per-client", most=3000, window=timedelta(minutes=15))
# A person is one persona at a time: calls for one address wait for each other. One that never ended, because
# its process did, is forgotten with the window.
TURN = Limit("holder-turn", most=1, window=timedelta(minutes=10))
LONGEST_WAIT = 15.0  # seconds
# Held by the one call of this process that waits: for another call with its address, or for the application
# whose request or keys are fetched, or that its answer is posted to.
_waiting = Guard()


class BusyError(Exception):
    """Calls with the same address went on for longer than is waited for."""


class AnotherWaitsError(BusyError):
    """This call would have to wait, and another one of this process waits already. Nothing was answered."""


@dataclass(frozen=True)
class Ending:
    """Where the browser is in the end: on its way to `redirect_to`, or on a page of ours."""

    redirect_to: str | None = None
    status: int = 303
    heading: str = ""
    text: str = ""


def answer(authorize_path: str, *, persona: str, decision: str, client: str) -> Ending:
    """Open the request at `authorize_path` (with its query) and go through it; where that ends.

    persona: a key of `personas.OUTCOMES`. decision: as the consent page's buttons have it. client: the
    network address of the caller, which limits count by.
    Raises `BusyError`.
    """
    browser = InnerBrowser(client)
    with ExitStack() as leaving, one_at_a_time(_waiting):
        leaving.callback(browser.sign_out)
        passage = _Passage(browser, persona, decision, leaving)
        response = browser.get(authorize_path)
        for _ in range(MOST_PAGES):
            if was_refused():  # so what it would have waited for did not happen
                raise AnotherWaitsError
            location = response.headers.get("Location") or _way_back(response)
            if location is None:
                break
            if not location.startswith("/"):
                return Ending(redirect_to=location)
            response = passage.at(location)
        return _page(response)


class _Passage:
    """What the holder does at each address the browser is sent to."""

    def __init__(self, browser: InnerBrowser, persona: str, decision: str, leaving: ExitStack) -> None:
        self.browser, self.persona, self.decision = browser, persona, decision
        self.leaving = leaving
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
        errand = Errand.objects.get(id=match.kwargs["errand_id"])
        self.leaving.enter_context(_turn_of(errand.email))
        wallet = appear(errand, self.persona, now=timezone.now())
        if wallet.state != wallet.State.ACTIVE:
            return self._leave(match, location)
        self.browser.sign_in(wallet)
        return self.browser.get(errand.return_to)

    def _leave(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        """The wallet is suspended, or the check gave no identity."""
        errand = Errand.objects.get(id=match.kwargs["errand_id"])
        with _answering(Q(errand=errand)):
            return self.browser.get(errand.leave_to)

    def _go_back(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        """The wallet does not hold what is asked for."""
        with _answering(Q(id=match.kwargs["interaction_id"])):
            return self.browser.get(location)

    def _decide(self, match: ResolverMatch, location: str) -> HttpResponseBase:
        page = self.browser.get(location)
        if page.status_code != 200:
            return page
        consent = Consent.objects.get(id=match.kwargs["consent_id"])
        with _answering(Q(consent=consent)):
            return self.browser.post(consent.return_to, decision=self.decision)


@contextmanager
def _answering(interaction: Q) -> Iterator[None]:
    """The step that answers the request, inside. An answer that is posted waits for the application.

    Nothing is answered yet when this raises `AnotherWaitsError`: the same request can be opened again.
    """
    if Interaction.objects.filter(interaction).exclude(response_uri="").exists():
        with _the_one_that_waits():
            yield
    else:
        yield


@contextmanager
def _the_one_that_waits() -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(_waiting.held())
        except NoThreadFreeError:
            raise AnotherWaitsError from None
        yield


@contextmanager
def _turn_of(email: str) -> Iterator[None]:
    taken_at = _take_turn(email) or _wait_for_turn(email)
    try:
        yield
    finally:
        TURN.give_back(email, taken_at=taken_at)


def _way_back(response: HttpResponseBase) -> str | None:
    """The “Go back” of a page that leaves a person nothing else to do."""
    for link in _words(response).links:
        with suppress(Resolver404):  # a file, or somewhere else altogether
            if resolve(link).url_name == "leave":
                return link
    return None


def _words(response: HttpResponseBase) -> Words:
    return Words(response.content.decode() if isinstance(response, HttpResponse) else "")


def _take_turn(email: str) -> datetime | None:
    now = timezone.now()
    try:
        TURN.take(email, now=now)
    except LimitReachedError:
        return None
    return now


def _wait_for_turn(email: str) -> datetime:
    last_try = time.monotonic() + LONGEST_WAIT
    try:
        with _the_one_that_waits(), waiting_for("another holder call"):
            while time.monotonic() <= last_try:
                time.sleep(0.03)
                if taken_at := _take_turn(email):
                    return taken_at
    except NoThreadFreeError:
        raise AnotherWaitsError from None
    raise BusyError


def _page(response: HttpResponseBase) -> Ending:
    words = _words(response)
    return Ending(status=response.status_code, heading=words.heading, text=words.text)
