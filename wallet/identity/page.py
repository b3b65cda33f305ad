"""What the pages of identity verification have in common."""

from datetime import datetime
from typing import Any, TypeVar

import structlog
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from infra.again import again_after
from infra.limits import LimitReachedError
from wallet import errands
from wallet.identity import attempts
from wallet.models import Errand, IdentityVerification, Wallet
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


def offered(errand: Errand) -> dict[str, Provider]:
    """The providers that bring what the errand needs."""
    return registry.reaching(errands.demanded(errand), errand.details)


def show(
    request: HttpRequest, name: str, errand: Errand, wallet: Wallet, *, status: int = 200, **facts: Any
) -> HttpResponse:
    """Render `templates/wallet/<name>.html`."""
    known = {"errand": errand, "signed_in_as": wallet.email, "providers": offered(errand)}
    return render(request, f"wallet/{name}.html", known | facts, status=status)


def paused(
    request: HttpRequest, errand: Errand, wallet: Wallet, limit: LimitReachedError, now: datetime
) -> HttpResponse:
    """429: the holder has tried too often."""
    page = show(request, "identity_paused", errand, wallet, until=limit.retry_at, status=429)
    return again_after(limit.retry_after(now), page)


def failed(
    request: HttpRequest, errand: Errand, wallet: Wallet, error: ProviderError, **facts: Any
) -> HttpResponse:
    """502: the provider cannot begin a check. With 503 a proxy would try it on the next instance as well."""
    log.warning("identity_check_not_begun", why=str(error))
    return again_after(60, show(request, "identity_error", errand, wallet, status=502, **facts))
