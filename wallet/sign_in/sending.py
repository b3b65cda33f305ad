"""The e-mails of the pages for signing in: sending one, and saying when the next can be requested."""

import math
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.templatetags import moments
from wallet.models import RedirectTask
from wallet.sign_in import codes as signing_in
from wallet.sign_in.decorators import see_other, show

FAR = timedelta(hours=12)  # a time of day alone would be ambiguous


def send(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
    """Sends the code or link to the task's address; gives the next page, or the page that says why not."""
    try:
        by_link = "link" in request.POST
        signing_in.send_code(redirect_task, client=browser.address(request), now=now, link=by_link)
    except signing_in.TooSoonError as too_soon:
        if not (
            signing_in.link_pending(redirect_task, now=now) or signing_in.code_pending(redirect_task, now=now)
        ):
            return _not_now(request, redirect_task, too_soon.retry_at, now, soon=True)
    except LimitReachedError as limit:
        return _not_now(request, redirect_task, limit.retry_at, now, problem=wait(limit.retry_at, now))
    return see_other("wallet_code", redirect_task.id)


def waits(ready_at: datetime | None, now: datetime) -> dict[str, Any]:
    """How long to wait before the next e-mail: the seconds, and the time as a clock shows it."""
    return {"ready_in": _seconds_until(ready_at, now), "ready_at": ready_at and _next_minute(ready_at)}


def wait(retry_at: datetime, now: datetime) -> SafeString:
    """The sentence that says when another e-mail can be requested."""
    far = retry_at - now > FAR
    time = moments.moment(_next_minute(retry_at)) if far else moments.clock(_next_minute(retry_at))
    return format_html(_("You’ve asked for too many codes. You can ask again at {time}."), time=time)


def _not_now(
    request: HttpRequest, redirect_task: RedirectTask, retry_at: datetime, now: datetime, **facts: Any
) -> HttpResponse:
    wait_for = waits(retry_at, now)
    page = show(
        request, "sign_in", redirect_task, address=redirect_task.email, status=429, **wait_for, **facts
    )
    return again_after(wait_for["ready_in"], page)


def _seconds_until(moment: datetime | None, now: datetime) -> int:
    """The whole seconds until then, at least one; 0 if the moment is past or None."""
    if moment is None or moment <= now:
        return 0
    return max(1, math.ceil((moment - now).total_seconds()))


def _next_minute(moment: datetime) -> datetime:
    """The first full minute from then on, so that nobody who waits for it is too early."""
    begun = moment.replace(second=0, microsecond=0)
    return begun if begun == moment else begun + timedelta(minutes=1)
