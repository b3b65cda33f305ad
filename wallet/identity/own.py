"""Begins a check with which holders confirm, renew or change their verified identity."""

from datetime import datetime

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from wallet.decorators import for_signed_in, on_own_errand, see_other
from wallet.models import Credential, HolderSession


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def own_identity(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """On POST, leads to a check that renews; what the holder has stays valid until that is approved.

    Otherwise redirects to the home page, which shows the identity: checks return here, and old e-mails and
    bookmarks lead here.
    """
    if request.method != "POST":
        return see_other("wallet_home")
    credential: Credential | None = getattr(session.wallet, "credential", None)
    return on_own_errand(
        request,
        session.wallet.email,
        lambda errand: see_other("wallet_identity", errand.id),
        return_to="wallet_own_identity",
        leave_to="wallet_own_identity",
        reuse=Q(renewal=True) & (Q(created_at__gte=credential.issued_at) if credential else Q()),
        renewal=True,
        now=now,
    )
