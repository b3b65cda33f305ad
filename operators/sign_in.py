"""The sign-in of operators: limits the attempts to guess a password. Successful attempts count, too.

A browser in which the operator has signed in before has a limit of its own, so that attackers who use up the
other limits do not lock the operator out.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from threading import Lock
from typing import Any

import structlog
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from infra import browser
from infra.again import again_after
from infra.limits import ClientLimit, Limit, LimitReachedError
from wallet.sign_in import known_browsers
from wallet.sign_in.known_browsers import OPERATOR

log = structlog.get_logger(__name__)

TRIES_PER_CLIENT = ClientLimit.from_settings("operator-tries-per-client")
# Against attacks from many clients; does not count known browsers. `manage.py` needs no password.
TRIES_PER_ACCOUNT = Limit.from_settings("operator-tries-per-account")
TRIES_PER_BROWSER = Limit.from_settings("operator-tries-per-browser")
# Checking a password is deliberately slow. Each process checks one at a time, which leaves all other threads
# to holders. One known browser at a time may wait for its turn, so that constant attempts by attackers do not
# lock it out.
_checking, _waiting = Lock(), Lock()
LONGEST_WAIT = 3.0  # seconds


class OperatorSignInForm(AdminAuthenticationForm):
    """Django's form with limits, which are the same whether or not the account exists."""

    refusal: tuple[int, int] | None = (
        None  # the status if the password was not checked, and the seconds to wait
    )

    def clean(self) -> dict[str, Any]:
        """Counts the attempt before it checks the password."""
        try:
            browser_is_known = self._count(timezone.now())
            with self._password_check(browser_is_known):
                return super().clean()
        except ValidationError as error:
            log.warning("operator_not_signed_in", operator=self._operator(), reason=error.code)
            raise

    @contextmanager
    def _password_check(self, browser_is_known: bool) -> Iterator[None]:
        """Holds the lock for one check; raises ValidationError when another check is running."""
        with ExitStack() as held:
            if not _checking.acquire(blocking=False):
                if not (browser_is_known and _waiting.acquire(blocking=False)):
                    raise self._busy()
                held.callback(_waiting.release)
                if not _checking.acquire(timeout=LONGEST_WAIT):
                    raise self._busy()
            held.callback(_checking.release)
            yield

    def _busy(self) -> ValidationError:
        self.refusal = (503, 2)
        text = _("Another operator is signing in. Please try again in a few seconds.")
        return ValidationError(text, code="busy")

    def _count(self, now: datetime) -> bool:
        """Counts the attempt, and gives whether the browser is known; raises ValidationError at a limit."""
        name = self.cleaned_data.get("username", "").casefold()
        key = self._known_browser(name, now)
        try:
            if key:
                TRIES_PER_BROWSER.take(key, now=now)
            else:
                if self.request is not None:
                    TRIES_PER_CLIENT.take(browser.address(self.request), now=now)
                TRIES_PER_ACCOUNT.take(name, now=now)
        except LimitReachedError as reached:
            seconds = max(1, int((reached.retry_at - now).total_seconds()) + 1)
            self.refusal = (429, seconds)
            text = _("Too many attempts. Wait %(count)d minutes and try again.")
            raise ValidationError(text, params={"count": -(-seconds // 60)}, code="limit") from None
        return bool(key)

    def _known_browser(self, name: str, now: datetime) -> str:
        """By what the attempts of this browser are counted if it is known for the account; else empty."""
        digest = browser.digest(self.request) if self.request is not None else None
        if digest and known_browsers.is_known(digest, name, now=now, purpose=OPERATOR):
            return known_browsers.key(digest, name, purpose=OPERATOR)
        return ""

    def _operator(self) -> int | None:
        """The ID of the named account, if it exists. The name itself is not logged: it may be a password."""
        named = get_user_model().objects.filter(username=self.cleaned_data.get("username", ""))
        return named.values_list("pk", flat=True).first()


def next_page(request: HttpRequest) -> str:
    """The page that was requested before the sign-in, if it belongs to this admin; else its start page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    index = resolve_url("admin:index")
    own = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if own and wanted.startswith(index) else index


def sign_in_step(
    request: HttpRequest, template: str, *, status: int = 200, seconds: int = 0, **shown: Any
) -> TemplateResponse:
    """A page of the sign-in, without the navigation of the admin, which this session may not use yet.

    seconds: after which the client may try again, if it has to wait.
    """
    site = {**admin.site.each_context(request), "has_permission": False, "is_nav_sidebar_enabled": False}
    response = TemplateResponse(request, template, {**site, **shown}, status=status)
    return again_after(seconds, response) if seconds else response


def remember_browser(request: HttpRequest, response: HttpResponse, *, now: datetime) -> None:
    """Remembers this browser after the operator has signed in with it."""
    secret, digest = browser.ensure(request)
    known_browsers.remember(digest, request.user.get_username().casefold(), now=now, purpose=OPERATOR)
    browser.remember(response, secret)
