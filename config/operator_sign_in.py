"""Operators sign in with a password, and passwords can be guessed: tries are counted, right ones too."""

from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple

import structlog
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from wallet import browser
from wallet.limits import Limit, LimitReachedError

log = structlog.get_logger(__name__)

TRIES_PER_CLIENT = Limit("operator-tries-per-client", most=20, window=timedelta(minutes=15))
# Against many clients at once. High enough that nobody is kept out by mistake; `manage.py` asks no password.
TRIES_PER_ACCOUNT = Limit("operator-tries-per-account", most=100, window=timedelta(hours=1))
# Checking a password is slow on purpose. One at a time in a process leaves all other threads to holders.
_checking = Lock()


class Refusal(NamedTuple):
    """The HTTP status of an attempt whose password was not even checked, and when to try again."""

    status: int
    seconds: int


class OperatorSignInForm(AdminAuthenticationForm):
    """Django's, with limits that are the same whether or not the account exists."""

    refusal: Refusal | None = None

    def clean(self) -> dict[str, Any]:
        """A try is paid for before the password is looked at."""
        if not _checking.acquire(blocking=False):
            self.refusal = Refusal(503, 2)
            text = _("Another operator is signing in. Please try again in a few seconds.")
            raise ValidationError(text, code="busy")
        try:
            self._count(timezone.now())
            return super().clean()
        except ValidationError as error:
            log.warning("operator not signed in", operator=self._operator(), reason=error.code)
            raise
        finally:
            _checking.release()

    def _count(self, now: datetime) -> None:
        try:
            if self.request is not None:
                TRIES_PER_CLIENT.take(browser.address(self.request), now=now)
            TRIES_PER_ACCOUNT.take(self.cleaned_data.get("username", "").casefold(), now=now)
        except LimitReachedError as limit:
            seconds = max(1, int((limit.retry_at - now).total_seconds()) + 1)
            self.refusal = Refusal(429, seconds)
            text = _("That was too often. Please wait %(count)d minutes and try again.")
            raise ValidationError(text, params={"count": -(-seconds // 60)}, code="limit") from None

    def _operator(self) -> int | None:
        """The ID of the account that was named, if it exists: what was typed may be a password."""
        named = get_user_model().objects.filter(username=self.cleaned_data.get("username", ""))
        return named.values_list("pk", flat=True).first()
