"""Pages about a relying party besides its form: the consent preview, its figures, and what it still lacks."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.words import Words
from presentation.figures import counting
from presentation.models import RelyingParty
from presentation.relying_parties import onboarding
from presentation.relying_parties.admin import preview

PERIODS = (7, 30, 90, 400)  # days
DAY = timedelta(days=1)


class PagesOfRelyingParty:
    """Adds the pages to the admin of relying parties. Name it before `OperationsAdmin`."""

    def get_urls(self: Any) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<path:object_id>/preview/", view(self.preview), name="presentation_relyingparty_preview"),
            path("<path:object_id>/figures/", view(self.figures), name="presentation_relyingparty_figures"),
        ]
        return [*own, *super().get_urls()]  # type: ignore[misc]

    def buttons(self: Any, request: HttpRequest, row: Any = None) -> list[tuple[str, Words]]:
        """The pages of a row come before its operations. They need no permission to change."""
        pages: list[tuple[str, Words]] = []
        if row is not None:
            pages = [(_page(row, "preview"), _("Consent preview")), (_page(row, "figures"), _("Figures"))]
        return [*pages, *super().buttons(request, row)]  # type: ignore[misc]

    def preview(self: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        """The consent page with sample values, in one of the languages, for some of the allowed scopes."""
        party = self._seen(request, object_id)
        chosen = [urn for urn in request.GET.getlist("scope")[:20] if urn in party.allowed_scopes]
        language = request.GET.get("language", "")
        language = language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        links = [(f"?{urlencode({'language': code})}", name) for code, name in settings.LANGUAGES]
        if len(party.allowed_scopes) > 1:
            links += [
                (f"?{urlencode({'scope': urn, 'language': language})}", urn) for urn in party.allowed_scopes
            ]
        notice = render_to_string(
            "admin/presentation/relyingparty/preview_notice.html",
            {"back": self.address(party), "links": links},
        )
        scopes = chosen or party.allowed_scopes
        return preview.page(party, scopes, language, notice=notice, now=timezone.now())

    def figures(self: Any, request: HttpRequest, object_id: str) -> HttpResponse:
        """The figures of a period by day."""
        party = self._seen(request, object_id)
        days = _days(request)
        listed = list(counting.by_day(*_period(days), relying_party=party))
        response: HttpResponse = self.render(
            request,
            "admin/presentation/relyingparty/figures.html",
            party,
            title=_t("Figures of %(name)s") % {"name": party.name},
            days=days,
            periods=PERIODS,
            listed=[(day, counts) for day, counts in reversed(listed) if counts.asked],
            total=counting.total(counts for _day, counts in listed),
        )
        return response

    def _seen(self: Any, request: HttpRequest, object_id: str) -> RelyingParty:
        """The relying party, for an operator who may see it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        party = self.get_object(request, object_id)
        if party is None:
            raise Http404
        return party  # type: ignore[no-any-return]

    @admin.display(description=_("Before it goes live"))
    def checklist(self, relying_party: RelyingParty) -> SafeString:
        """What it still lacks before it can go live."""
        found = onboarding.points(relying_party, now=timezone.now())
        return render_to_string(
            "admin/presentation/relyingparty/checklist.html",
            {"points": found, "missing": onboarding.missing(found)},
        )

    @admin.display(description=_("Try it"))
    def try_it(self, relying_party: RelyingParty) -> SafeString:
        """In a sandbox a link to the playground with this client; otherwise how to try it."""
        try:
            place = reverse("playground")
        except NoReverseMatch:
            return render_to_string("admin/presentation/relyingparty/try_it.html", {})
        callback = settings.BASE_URL + reverse("playground_callback")
        registered = relying_party.redirect_uris.filter(uri=callback).exists()
        query = urlencode(
            [("client_id", relying_party.client_id), *(("scope", s) for s in relying_party.allowed_scopes)]
        )
        context = {"playground": f"{place}?{query}", "callback": callback, "registered": registered}
        return render_to_string("admin/presentation/relyingparty/try_it.html", context)


def _page(party: RelyingParty, name: str) -> str:
    return reverse(f"admin:presentation_relyingparty_{name}", args=[party.pk])


def _days(request: HttpRequest) -> int:
    """The length of the period; 30 days for anything unexpected."""
    asked = request.GET.get("days", "")
    return next((days for days in PERIODS if str(days) == asked), 30)


def _period(days: int) -> tuple[datetime, datetime]:
    """So many days (UTC), the last of which is today."""
    tomorrow = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    return tomorrow - days * DAY, tomorrow
