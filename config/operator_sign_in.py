"""Operators sign in with a password, and passwords can be guessed: tries are counted, right ones too."""

from datetime import timedelta
from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from wallet import browser
from wallet.limits import Limit, LimitReachedError

TRIES_PER_CLIENT = Limit("operator-tries-per-client", most=20, window=timedelta(minutes=15))
# Against many clients at once. High enough that nobody is kept out by mistake; `manage.py` asks no password.
TRIES_PER_ACCOUNT = Limit("operator-tries-per-account", most=100, window=timedelta(hours=1))


class OperatorSignInForm(AdminAuthenticationForm):
    """Django's, with limits that are the same whether or not the account exists."""

    def clean(self) -> dict[str, Any]:
        """A try is paid for before the password is looked at."""
        now = timezone.now()
        try:
            if self.request is not None:
                TRIES_PER_CLIENT.take(browser.address(self.request), now=now)
            TRIES_PER_ACCOUNT.take(self.cleaned_data.get("username", "").casefold(), now=now)
        except LimitReachedError as limit:
            minutes = -(-int((limit.retry_at - now).total_seconds()) // 60)
            text = _("That was too often. Please wait %(count)d minutes and try again.")
            raise ValidationError(text, params={"count": minutes}, code="limit") from None
        return super().clean()
