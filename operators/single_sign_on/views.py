"""The two addresses of single sign-on: it begins at one, and the provider sends the browser to the other."""

import secrets
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from infra import browser
from infra.audit.recording import record
from infra.limits import LimitReachedError
from operators.second_factor import PROVED_AT_PROVIDER
from operators.sign_in import TRIES_PER_CLIENT, next_page, sign_in_step
from operators.single_sign_on import provider
from operators.single_sign_on.accounts import account_of
from operators.single_sign_on.provider import NotSignedInError, Provider
from wallet.providers.contract import ProviderError

log = structlog.get_logger(__name__)

MEMORY = "single_sign_on"  # in the session, while the browser is at the provider
MINUTES = 10  # that a sign-in may take
BACKEND = "django.contrib.auth.backends.ModelBackend"
AGAIN_AFTER = 10  # seconds, when the provider cannot be reached


@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the provider."""
    sso_provider = _configured()
    now = timezone.now()
    try:
        TRIES_PER_CLIENT.take(browser.address(request), now=now)
        address, memory = sso_provider.begin(_redirect_uri())
    except LimitReachedError as reached:
        words = _("Too many attempts. Try again in a few minutes.")
        return _refusal(request, words, 429, seconds=max(1, int(reached.retry_after(now)) + 1))
    except ProviderError as error:
        return _not_reached(request, sso_provider, error)
    request.session[MEMORY] = {**memory, "next": next_page(request), "began": now.timestamp()}
    return HttpResponseRedirect(address)


@require_GET
def end(request: HttpRequest) -> HttpResponse:
    """Signs in an operator returning from the provider. `state` works once, in the browser that began."""
    sso_provider, now = _configured(), timezone.now()
    memory = request.session.pop(MEMORY, None)
    state = request.GET.get("state", "")
    if (
        memory is None
        or not secrets.compare_digest(memory["state"].encode(), state.encode())
        or now.timestamp() - memory["began"] > MINUTES * 60
    ):
        words = _("This sign-in is over, or was begun in another browser. Begin again.")
        return _refusal(request, words, 400)
    request.session.save()  # the state is used up, whatever happens now
    try:
        claims = sso_provider.end(request.GET, memory, _redirect_uri(), now=now)
        user = account_of(claims, sso_provider.settings)
    except ProviderError as error:
        return _not_reached(request, sso_provider, error)
    except NotSignedInError as error:
        log.warning("operator_not_signed_in", reason=str(error))
        return _refusal(request, str(error.words) % {"name": sso_provider.settings.name}, 403)
    login(request, user, backend=BACKEND)
    request.session[PROVED_AT_PROVIDER] = _has_second_factor(claims, sso_provider)
    record(request, "signed_in", reason="single sign-on")
    return HttpResponseRedirect(memory["next"])


def _configured() -> Provider:
    sso_provider = provider.configured()
    if sso_provider is None:
        raise Http404
    return sso_provider


def _redirect_uri() -> str:
    return f"{settings.BASE_URL}{reverse('admin:single_sign_on_return')}"


def _has_second_factor(claims: dict[str, Any], sso_provider: Provider) -> bool:
    """Whether the provider says that it asked for a second factor, in a way that the settings name."""
    methods = claims.get("amr")
    said = [claims.get("acr"), *(methods if isinstance(methods, list) else [])]
    return any(isinstance(value, str) and value in sso_provider.settings.second_factor for value in said)


def _not_reached(request: HttpRequest, sso_provider: Provider, error: ProviderError) -> HttpResponse:
    log.warning("single_sign_on_not_reached", reason=str(error))
    words = _("%(name)s cannot be reached. Try again in a minute, or sign in with a password.")
    words %= {"name": sso_provider.settings.name}
    return _refusal(request, words, 502, seconds=AGAIN_AFTER)  # a proxy sends a 503 on to the next instance


def _refusal(request: HttpRequest, words: str, status: int, *, seconds: int = 0) -> HttpResponse:
    shown = {"title": _("You are not signed in"), "words": words}
    return sign_in_step(request, "admin/single_sign_on.html", status=status, seconds=seconds, **shown)
