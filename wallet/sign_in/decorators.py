"""Decorators for pages: they look up the redirect task or the holder of a page, or lead to the sign-in."""

import uuid
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from infra import browser
from wallet import redirect_tasks
from wallet.models import HolderSession, RedirectTask, Wallet
from wallet.redirect_tasks import RedirectTaskGoneError
from wallet.sign_in import sessions

# The field of a form with the ID of the wallet whose holder was shown it (`of_holder` in templates).
HOLDER = "holder"
# The query parameter after a holder said on the consent page that the wallet is not theirs.
NOT_ME = "not_me"

# The pages of a redirect task to which a person returns after asking for more time. They answer GET.
PAGES_WITH_DEADLINE = {
    "wallet_sign_in",
    "wallet_code",
    "wallet_switch",
    "wallet_identity",
    "wallet_identity_in_person",
    "wallet_identity_upload",
    "wallet_identity_other_wallet",
}

View = Callable[[HttpRequest, uuid.UUID], HttpResponse]
PageOfHolder = Callable[[HttpRequest, RedirectTask, Wallet, datetime], HttpResponse]
Page = Callable[..., HttpResponseBase]


def see_other(to: str, *args: Any) -> HttpResponse:
    """A 303 redirect to a path, or to the view with this name and arguments."""
    return HttpResponseRedirect(resolve_url(to, *args), status=303)


def page_of(redirect_task_id: uuid.UUID | None, path: str) -> str:
    """`path` if it is a page of this redirect task to which a browser can be sent back; otherwise empty."""
    try:
        match = resolve(path)
    except Resolver404:
        return ""
    if match.url_name not in PAGES_WITH_DEADLINE or match.kwargs.get("redirect_task_id") != redirect_task_id:
        return ""
    return reverse(match.url_name, args=[redirect_task_id])


def on_redirect_task(view: Callable[[HttpRequest, RedirectTask, datetime], HttpResponse]) -> View:
    """A page of a task: `view(request, redirect_task, now)`, or a page with 404 or 410 if it is gone.

    If somebody asked, an expired redirect task leads straight to the page about their request.
    """

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, redirect_task_id: uuid.UUID) -> HttpResponse:
        now = timezone.now()
        try:
            redirect_task = redirect_tasks.load(redirect_task_id, browser.digest(request), now)
        except RedirectTaskGoneError as gone:
            if (
                gone.redirect_task
                and gone.redirect_task.on_behalf_of
                and gone.redirect_task.expires_at <= now
            ):
                # The request has expired too, as that page says.
                return see_other(gone.redirect_task.leave_to)
            status = 410 if gone.redirect_task else 404
            return render(request, "wallet/gone.html", {"redirect_task": gone.redirect_task}, status=status)
        return view(request, redirect_task, now)

    return page


def for_holder(view: PageOfHolder) -> View:
    """A page of a task for its holder; others are redirected to the sign-in, and their forms refused."""

    @wraps(view)
    def page(
        request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime
    ) -> HttpResponse:
        return refuse_form_of_another(request, wallet) or view(request, redirect_task, wallet, now)

    return for_holder_who_uploads(page)


def for_holder_who_uploads(view: PageOfHolder) -> View:
    """The same for a view that reads the form itself, and then calls `refuse_form_of_another`."""

    @wraps(view)
    def page(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
        session = sessions.current(request, now=now)
        if session is None or not redirect_tasks.good_for(redirect_task, session):
            return see_other("wallet_sign_in", redirect_task.id)
        return view(request, redirect_task, session.wallet, now)

    return on_redirect_task(page)


def refuse_form_of_another(request: HttpRequest, wallet: Wallet) -> HttpResponse | None:
    """A page that says so, if another holder was shown the form, who was signed in before in this browser.

    Such a form may still be in another tab, and would act on the wrong wallet. A form without the field is of
    the release before, and passes.
    """
    if request.method != "POST" or request.POST.get(HOLDER, str(wallet.id)) == str(wallet.id):
        return None
    response = render(request, "wallet/other_holder.html", {"signed_in_as": wallet.email}, status=409)
    response.headers["Cache-Control"] = "no-store"
    return response


def for_signed_in(view: Page) -> Page:
    """A page for a signed-in holder: `view(request, session, now, …)`; others go to the sign-in (303).

    No browser keeps it, and no form that was shown to another holder is accepted.
    """

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        now = timezone.now()
        session = sessions.current(request, now=now)
        if session is None:
            return see_other("wallet_front_door")
        refused = refuse_form_of_another(request, session.wallet)
        return refused or view(request, session, now, *args, **kwargs)

    return page


def on_own_redirect_task(
    request: HttpRequest,
    email: str,
    then: Callable[[RedirectTask], HttpResponse],
    *,
    return_to: str,
    leave_to: str,
    now: datetime,
    reuse: Q | None = None,
    **demands: Any,
) -> HttpResponse:
    """The response of `then` for a redirect task of this browser that no relying party requested.

    return_to, leave_to: names of pages. reuse: a redirect task of an earlier click that does as well, so that
    clicks do not fill the table. demands: `renewal` or `fresh_since` of the redirect task.
    """
    secret, digest = browser.ensure(request)
    place, redirect_task = reverse(return_to), None
    if reuse is not None:
        lasting = RedirectTask.objects.filter(reuse, expires_at__gt=now + redirect_tasks.LIFETIME / 2)
        mine = lasting.filter(browser=digest, email=email, return_to=place)
        redirect_task = mine.order_by("-created_at").first()
    response = then(
        redirect_task
        or redirect_tasks.open_redirect_task(
            browser=digest,
            email=email,
            return_to=place,
            leave_to=reverse(leave_to),
            now=now,
            **demands,
        )
    )
    browser.remember(response, secret)
    return response


def show_to(
    request: HttpRequest, session: HolderSession, name: str, *, status: int = 200, **facts: Any
) -> HttpResponse:
    """Render `templates/wallet/<name>.html` for a signed-in holder."""
    facts |= {"session": session, "wallet": session.wallet, "signed_in_as": session.wallet.email}
    return render(request, f"wallet/{name}.html", facts, status=status)


def show(
    request: HttpRequest,
    name: str,
    redirect_task: RedirectTask,
    session: HolderSession | None = None,
    *,
    status: int = 200,
    **facts: Any,
) -> HttpResponse:
    """Render `templates/wallet/<name>.html` for a redirect task."""
    facts |= {"redirect_task": redirect_task, "signed_in_as": session.wallet.email if session else ""}
    return render(request, f"wallet/{name}.html", facts, status=status)
