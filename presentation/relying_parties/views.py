"""The page of this service from which holders go back to where a relying party's requests begin."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache

from infra.reading import only_read
from presentation.models import RelyingParty
from presentation.requests.answers import issuer


@never_cache
@only_read
def begin_again(request: HttpRequest, client_id: str) -> HttpResponse:
    """Redirects to its `initiate_login_uri` (OpenID Connect Core 1.0 §4), or names it if it has none."""
    party = get_object_or_404(RelyingParty, client_id=client_id, state=RelyingParty.State.ACTIVE)
    if not (address := party.initiate_login_uri):
        return render(request, "presentation/begin_again.html", {"relying_party": party.name})
    mark = "&" if "?" in address else "?"
    return HttpResponseRedirect(f"{address}{mark}{urlencode(issuer())}", status=303)
