"""A template context processor: in the sandbox, pages show the sign-in code or link that was e-mailed."""

import re
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from infra import browser
from sandbox.models import MailboxEmail
from wallet import redirect_tasks
from wallet.models import RedirectTask
from wallet.sign_in import codes, links

_LINK = "/wallet/link/"


def mailbox(request: HttpRequest) -> dict[str, Any]:
    """`sandbox_mail`: the code or link for this browser's redirect task, on the page that asks for it.

    It is empty on every other page, and it is lazy: the database is read when a template uses it.
    """
    match = request.resolver_match
    if match is None or match.url_name != "wallet_code":
        return {"sandbox_mail": {}}
    return {"sandbox_mail": SimpleLazyObject(lambda: _mail(request, match.kwargs["redirect_task_id"]))}


def _mail(request: HttpRequest, redirect_task_id: Any) -> dict[str, str]:
    now = timezone.now()
    try:
        redirect_task = redirect_tasks.load(redirect_task_id, browser.digest(request), now)
    except redirect_tasks.RedirectTaskGoneError:
        return {}
    if codes.link_pending(redirect_task, now=now):
        sent = MailboxEmail.objects.filter(text__contains=_LINK, sent_at__gt=now - links.LIFETIME)
        return {"link": _newest(sent, redirect_task, re.escape(settings.BASE_URL + _LINK) + r"[\w-]{22}/")}
    if codes.code_pending(redirect_task, now=now):
        sent = MailboxEmail.objects.exclude(text__contains=_LINK).filter(
            sent_at__gt=now - timedelta(minutes=10)
        )
        return {"code": _newest(sent, redirect_task, r"(?<!\d)\d{6}(?!\d)")}
    return {}


def _newest(sent: QuerySet[MailboxEmail], redirect_task: RedirectTask, pattern: str) -> str:
    """The code or link in the last of the e-mails to the redirect task's address, or an empty string."""
    message = sent.filter(recipient=redirect_task.email).order_by("-id").first()
    match = re.search(pattern, message.text) if message else None
    return match.group() if match else ""
