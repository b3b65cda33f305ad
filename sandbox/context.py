"""A template context processor: in the sandbox, pages show the sign-in code or link that was e-mailed."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from infra import browser
from sandbox.mailbox import newest_code, newest_link
from wallet import errands
from wallet.sign_in import codes


def mailbox(request: HttpRequest) -> dict[str, Any]:
    """`sandbox_mail`: the code or link for this browser's errand, on the page that asks for it.

    It is empty on every other page, and it is lazy: the database is read when a template uses it.
    """
    match = request.resolver_match
    if match is None or match.url_name != "wallet_code":
        return {"sandbox_mail": {}}
    return {"sandbox_mail": SimpleLazyObject(lambda: _mail(request, match.kwargs["errand_id"]))}


def _mail(request: HttpRequest, errand_id: Any) -> dict[str, str]:
    now = timezone.now()
    try:
        errand = errands.recall(errand_id, browser.digest(request), now)
    except errands.ErrandGoneError:
        return {}
    if codes.link_pending(errand, now=now):
        return {"link": newest_link(errand, now=now)}
    return {"code": newest_code(errand, now=now)} if codes.code_pending(errand, now=now) else {}
