"""What all pages of an errand share: the errand is looked up, the holder is known, nothing is cached."""

import uuid
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils import timezone
from django.views.decorators.cache import never_cache

from infra import browser
from wallet import errands, sessions
from wallet.errands import ErrandGoneError
from wallet.models import Errand, HolderSession, Wallet

# In the address of a page that is shown because a form on it came without a good CSRF token.
TRY_AGAIN = "try_again"

View = Callable[[HttpRequest, uuid.UUID], HttpResponse]


def see_other(to: str, *args: Any) -> HttpResponse:
    """303: a path or the name of a page, to be fetched with GET."""
    return HttpResponseRedirect(resolve_url(to, *args), status=303)


def on_errand(view: Callable[[HttpRequest, Errand, datetime], HttpResponse]) -> View:
    """A page of an errand: `view(request, errand, now)`, or a page that says the errand is gone."""

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, errand_id: uuid.UUID) -> HttpResponse:
        now = timezone.now()
        try:
            errand = errands.recall(errand_id, browser.digest(request), now)
        except ErrandGoneError as gone:
            status = 410 if gone.errand else 404
            return render(request, "wallet/gone.html", {"errand": gone.errand}, status=status)
        return view(request, errand, now)

    return page


def for_holder(view: Callable[[HttpRequest, Errand, Wallet, datetime], HttpResponse]) -> View:
    """A page of an errand for the holder it is about; anybody else is asked to sign in first."""

    @wraps(view)
    def page(request: HttpRequest, errand: Errand, now: datetime) -> HttpResponse:
        session = sessions.current(request, now=now)
        if session is None or not errands.good_for(errand, session):
            return see_other("wallet_sign_in", errand.id)
        return view(request, errand, session.wallet, now)

    return on_errand(page)


def show(
    request: HttpRequest,
    name: str,
    errand: Errand,
    session: HolderSession | None = None,
    *,
    status: int = 200,
    **facts: Any,
) -> HttpResponse:
    """Render `templates/wallet/<name>.html` for an errand."""
    facts |= {"errand": errand, "signed_in_as": session.wallet.email if session else ""}
    return render(request, f"wallet/{name}.html", facts, status=status)
