"""What only somebody may do who has proved a factor lately: an open or stolen session does not suffice.

A factor is a code, a link or a passkey. It is needed by everything that changes who can sign in, that takes
data away, or that ends the wallet; `presentation` needs it for payments.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse

from infra import browser
from wallet import errands
from wallet.models import Errand, HolderSession
from wallet.pages import Page, see_other

FRESH_FOR = timedelta(minutes=5)


def is_fresh(session: HolderSession, *, now: datetime) -> bool:
    """Whether the holder proved a factor within the last minutes."""
    return session.signed_in_at >= now - FRESH_FOR


def factor_first(place: str) -> Callable[[Page], Page]:
    """For a view of `for_signed_in`: without a fresh factor, `confirm_first`, which then leads to `place`."""

    def needs_factor(view: Page) -> Page:
        @wraps(view)
        def page(
            request: HttpRequest, session: HolderSession, now: datetime, *args: Any, **kwargs: Any
        ) -> HttpResponseBase:
            if not is_fresh(session, now=now):
                return confirm_first(request, session, place, now=now)
            return view(request, session, now, *args, **kwargs)

        return page

    return needs_factor


def confirm_first(request: HttpRequest, session: HolderSession, page: str, *, now: datetime) -> HttpResponse:
    """Leads to the page that confirms who is there, and from there back to the page with this name."""
    secret, digest = browser.ensure(request)
    place, email = reverse(page), session.wallet.email
    waiting = Errand.objects.filter(browser=digest, email=email, return_to=place)
    # An errand of an earlier click, so that clicks do not fill the table. One for which this session would do
    # would lead straight back.
    unmet = waiting.filter(expires_at__gt=now + errands.LIFETIME / 2, fresh_since__gt=session.signed_in_at)
    errand = unmet.first() or errands.open_errand(
        browser=digest,
        email=email,
        return_to=place,
        leave_to=reverse("wallet_security"),
        fresh_since=now - FRESH_FOR,
        now=now,
    )
    response = see_other("wallet_sign_in", errand.id)
    browser.remember(response, secret)
    return response
