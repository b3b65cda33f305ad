"""The template context of every page."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from consent.views.question import MORE_TIME
from infra.served import language_of
from wallet.sign_in.sessions import closes_at


def environment(request: HttpRequest) -> dict[str, object]:
    """`environment_banner`: the word of the banner on every page, empty in production.

    `languages`: those of the switch in the footer, which pages for operators and developers do not have;
    `page_path`: the path of the page.
    `this_page`: where the choice of a language leads back to. For the answer to a form that is the page with
    the form, because the address of the form may answer POST only.
    `operator`: whose service this is, see `config.operator`.
    `wallet_closes_at`: when the wallet of the signed-in holder closes, if it is about to
    (`wallet.sign_in.sessions`).
    `more_time`: True if the page is shown because the person was given more time.
    """
    return {
        "wallet_closes_at": closes_at(request),
        "environment_banner": settings.ENVIRONMENT_BANNER,
        "languages": settings.LANGUAGES if language_of(request) else (),
        "page_path": request.path,
        "this_page": _this_page(request),
        "operator": settings.OPERATOR,
        "more_time": MORE_TIME in request.GET,
    }


def page_of_form(request: HttpRequest) -> str:
    """The URL of the page with the form that was sent, according to `Referer`; empty if that is not ours."""
    page = request.headers.get("Referer", "")
    own = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if own else ""


def _this_page(request: HttpRequest) -> str:
    # Without a match, the request may have been refused for its Host.
    page = page_of_form(request) if request.method == "POST" and request.resolver_match else ""
    return urlsplit(page)._replace(scheme="", netloc="").geturl() or request.get_full_path()
