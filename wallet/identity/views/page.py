"""What the pages of identity verification have in common."""

from datetime import datetime
from typing import Any, TypeVar

import structlog
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from infra.again import again_after
from infra.limits import LimitReachedError
from wallet import redirect_tasks
from wallet.identity import attempts
from wallet.models import IdentityVerification, RedirectTask, Wallet
from wallet.providers import registry
from wallet.providers.contract import Provider, ProviderError

log = structlog.get_logger(__name__)
Kind = TypeVar("Kind", bound=Provider)


def latest_with(wallet: Wallet, kind: type[Kind]) -> tuple[IdentityVerification, Kind]:
    """The newest attempt of the wallet and its provider, which is of this kind; raises Http404."""
    verification = attempts.latest(wallet)
    provider = registry.by_name(verification.provider) if verification else None
    if verification is None or not isinstance(provider, kind):
        raise Http404
    return verification, provider


def offered(redirect_task: RedirectTask) -> dict[str, Provider]:
    """The providers that bring what the redirect task needs."""
    return registry.reaching(redirect_tasks.demanded(redirect_task), redirect_task.details)


def show(
    request: HttpRequest,
    name: str,
    redirect_task: RedirectTask,
    wallet: Wallet,
    *,
    status: int = 200,
    **facts: Any,
) -> HttpResponse:
    """Render `templates/wallet/<name>.html`."""
    context = {
        "redirect_task": redirect_task,
        "signed_in_as": wallet.email,
        "providers": offered(redirect_task),
    }
    return render(request, f"wallet/{name}.html", context | facts, status=status)


def paused(
    request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, limit: LimitReachedError, now: datetime
) -> HttpResponse:
    """429: the holder has tried too often."""
    page = show(request, "identity_paused", redirect_task, wallet, until=limit.retry_at, status=429)
    return again_after(limit.retry_after(now), page)


def failed(
    request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, error: ProviderError, **facts: Any
) -> HttpResponse:
    """502: the provider cannot begin a check. With 503 a proxy would try it on the next instance as well."""
    log.warning("identity_check_not_begun", why=str(error))
    return again_after(60, show(request, "identity_error", redirect_task, wallet, status=502, **facts))
