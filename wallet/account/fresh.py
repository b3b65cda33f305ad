"""Guards actions that need a recently proved factor, because a session may be left open or stolen.

A factor is a code, a link or a passkey. It is needed by everything that changes who can sign in, that takes
data away, or that ends the wallet; `presentation` needs it for payments.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from wallet.models import HolderSession
from wallet.sign_in.decorators import Page, on_own_redirect_task, see_other

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
    """Redirects to a new sign-in, which afterwards leads back to the page with this name."""
    return on_own_redirect_task(
        request,
        session.wallet.email,
        lambda redirect_task: see_other("wallet_sign_in", redirect_task.id),
        return_to=page,
        leave_to="wallet_security",
        # A redirect task that this session meets would lead straight back.
        reuse=Q(fresh_since__gt=session.signed_in_at),
        fresh_since=now - FRESH_FOR,
        now=now,
    )
