"""The address of the switch in the footer, with which a person chooses the language of the pages."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from infra import languages
from wallet.sign_in import sessions

LONGEST_PATH = 9000  # an authorization request and its path


@never_cache
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keeps the language that the person chose, and returns to the page with the switch.

    `next` must be a path of this service; for anything else the front page is shown.
    """
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseBadRequest("Unknown language.", content_type="text/plain")
    response = HttpResponseRedirect(_page(request.POST.get("next", "")), status=303)
    languages.choose(response, language)
    session = sessions.current(request, now=timezone.now())
    if session:
        sessions.speak(session.wallet, language)
    return response


def _page(written: str) -> str:
    """A path of this service, or the front page if it is anything else."""
    path = (
        written.startswith("/")
        and len(written) <= LONGEST_PATH
        and written.isascii()
        and written.isprintable()
        and url_has_allowed_host_and_scheme(written, allowed_hosts=None)
    )
    return written if path else reverse("home")
