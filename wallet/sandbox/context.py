"""What the sandbox adds to pages: the code that a real service would only send by e-mail."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from wallet import browser, errands
from wallet.sandbox.mailbox import newest_code


def mailbox(request: HttpRequest) -> dict[str, Any]:
    """`sandbox_code`: the newest code of this browser's errand, on the page that asks for it.

    Costs nothing on every other page, and a query only where a template uses it.
    """
    match = request.resolver_match
    if match is None or match.url_name != "wallet_code":
        return {"sandbox_code": ""}
    return {"sandbox_code": SimpleLazyObject(lambda: _code(request, match.kwargs["errand_id"]))}


def _code(request: HttpRequest, errand_id: Any) -> str:
    now = timezone.now()
    try:
        errand = errands.recall(errand_id, browser.digest(request), now)
    except errands.ErrandGoneError:
        return ""
    return newest_code(errand, now=now)
