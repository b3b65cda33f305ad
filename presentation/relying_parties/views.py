"""What browsers get of a relying party: its logo, and the way back to it after a long identity check."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control, never_cache

from infra.reading import only_read
from presentation.issuer import issuer
from presentation.models import RelyingParty
from presentation.relying_parties.metadata import logos


@only_read
@cache_control(public=True, max_age=3600)
def logo(request: HttpRequest, client_id: str) -> HttpResponse:
    """A relying party's logo. Served from here, so that no other server learns who sees a consent page."""
    party = get_object_or_404(RelyingParty.objects.exclude(logo=b""), client_id=client_id)
    logo = bytes(party.logo)
    if not logos.is_shown(logo):
        raise Http404
    return HttpResponse(logo, content_type=logos.content_type(logo))


@never_cache
@only_read
def begin_again(request: HttpRequest, client_id: str) -> HttpResponse:
    """Redirects to its `initiate_login_uri` (OpenID Connect Core 1.0 §4), or names it if it has none."""
    party = get_object_or_404(RelyingParty, client_id=client_id, state=RelyingParty.State.ACTIVE)
    if not (address := party.initiate_login_uri):
        return render(request, "presentation/begin_again.html", {"relying_party": party.name})
    mark = "&" if "?" in address else "?"
    return HttpResponseRedirect(f"{address}{mark}{urlencode(issuer())}", status=303)
