"""Operators sign in with a password, and passwords can be guessed: tries are counted, right ones too.

A browser that has signed in as the operator before has tries of its own, so that no stranger can use up an
operator's tries and keep them out.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple

import structlog
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from infra import browser
from infra.limits import Limit, LimitReachedError
from wallet import known_browsers
from wallet.known_browsers import OPERATOR

log = structlog.get_logger(__name__)

TRIES_PER_CLIENT = Limit("operator-tries-per-client", most=20, window=timedelta(minutes=15))
# Against many clients at once; of strangers only. `manage.py` asks no password.
TRIES_PER_ACCOUNT = Limit("operator-tries-per-account", most=100, window=timedelta(hours=1))
TRIES_PER_BROWSER = Limit("operator-tries-per-browser", most=20, window=timedelta(minutes=15))
# Checking a password is slow on purpose. One at a time in a process leaves all other threads to holders. A
# known browser may wait for its turn, one of them at a time; strangers could otherwise keep it out by trying
# all the time.
_checking, _next = Lock(), Lock()
LONGEST_WAIT = 3.0  # seconds


class Refusal(NamedTuple):
    """The HTTP status of an attempt whose password was not even checked, and when to try again."""

    status: int
    seconds: int


class OperatorSignInForm(AdminAuthenticationForm):
    """Django's, with limits that are the same whether or not the account exists."""

    refusal: Refusal | None = None

    def clean(self) -> dict[str, Any]:
        """A try is paid for before the password is looked at."""
        try:
            known = self._count(timezone.now())
            with self._turn(known):
                return super().clean()
        except ValidationError as error:
            log.warning("operator_not_signed_in", operator=self._operator(), reason=error.code)
            raise

    @contextmanager
    def _turn(self, known: bool) -> Iterator[None]:
        with ExitStack() as held:
            if not _checking.acquire(blocking=False):
                if not (known and _next.acquire(blocking=False)):
                    raise self._busy()
                held.callback(_next.release)
                if not _checking.acquire(timeout=LONGEST_WAIT):
                    raise self._busy()
            held.callback(_checking.release)
            yield

    def _busy(self) -> ValidationError:
        self.refusal = Refusal(503, 2)
        text = _("Another operator is signing in. Please try again in a few seconds.")
        return ValidationError(text, code="busy")

    def _count(self, now: datetime) -> bool:
        """Whether this browser is known for the operator."""
        known, limits = self._limits(now)
        try:
            for limit, subject in limits:
                limit.take(subject, now=now)
        except LimitReachedError as reached:
            seconds = max(1, int((reached.retry_at - now).total_seconds()) + 1)
            self.refusal = Refusal(429, seconds)
            text = _("Too many attempts. Wait %(count)d minutes and try again.")
            raise ValidationError(text, params={"count": -(-seconds // 60)}, code="limit") from None
        return known

    def _limits(self, now: datetime) -> tuple[bool, list[tuple[Limit, str]]]:
        name = self.cleaned_data.get("username", "").casefold()
        if self.request is None:
            return False, [(TRIES_PER_ACCOUNT, name)]
        digest = browser.digest(self.request)
        if digest and known_browsers.is_known(digest, name, now=now, purpose=OPERATOR):
            return True, [(TRIES_PER_BROWSER, known_browsers.key(digest, name, purpose=OPERATOR))]
        return False, [(TRIES_PER_CLIENT, browser.address(self.request)), (TRIES_PER_ACCOUNT, name)]

    def _operator(self) -> int | None:
        """The ID of the account that was named, if it exists: what was typed may be a password."""
        named = get_user_model().objects.filter(username=self.cleaned_data.get("username", ""))
        return named.values_list("pk", flat=True).first()


def remember_browser(request: HttpRequest, response: HttpResponse, *, now: datetime) -> None:
    """An operator has just signed in with this browser."""
    secret, digest = browser.ensure(request)
    known_browsers.remember(digest, request.user.get_username().casefold(), now=now, purpose=OPERATOR)
    browser.remember(response, secret)
