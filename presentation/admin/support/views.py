"""The support view of the admin: one search, and everything about the holder or the request that it finds.

The search is posted, so that no e-mail address gets into a URL or a log. Every search needs a reason and is
recorded before anything is shown.
"""

from typing import Any, cast

from django.contrib.admin import AdminSite
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from infra import audit
from infra.again import again_after
from infra.limits import Limit, LimitReachedError
from presentation.admin.support.case import case_of
from presentation.admin.support.forms import LookUpForm
from presentation.admin.support.search import find
from wallet.models import Wallet

PERMISSION = "presentation.look_up_holder"
LOOKED_UP = "looked_up"  # the action in the audit record
PER_OPERATOR = Limit.from_settings("operator-look-ups")


@sensitive_post_parameters("term")
@require_http_methods(["GET", "HEAD", "POST"])
def look_up(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Shows the form, and below it what was found. site: the admin that the page is part of."""
    operator = cast(AbstractUser, request.user)
    if not operator.has_perm(PERMISSION):
        raise PermissionDenied
    form = LookUpForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        now = timezone.now()
        try:
            PER_OPERATOR.take(str(operator.pk), now=now)
        except LimitReachedError as reached:
            seconds = int(reached.retry_after(now))
            text = _("You have looked up %(most)d in this hour. Try again in %(minutes)d minutes.")
            form.add_error(None, text % {"most": PER_OPERATOR.most, "minutes": -(-seconds // 60)})
            return again_after(seconds, _page(request, site, context, status=429))
        result = find(form.cleaned_data["term"], now=now)
        # Also a search that found nothing. What cannot be recorded is not shown.
        subject = (result and result.subject) or Wallet
        audit.record(request, LOOKED_UP, subject, form.cleaned_data["reason"], now=now)
        context |= {"searched": True, "case": result and case_of(result, operator, now=now)}
    return _page(request, site, context)


def _page(request: HttpRequest, site: AdminSite, context: dict[str, Any], status: int = 200) -> HttpResponse:
    title = {"title": _("Support"), "has_errors": bool(context["form"].errors)}
    context = {**site.each_context(request), **title, **context}
    return TemplateResponse(request, "admin/support.html", context, status=status)
