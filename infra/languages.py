"""The language of a page: one of LANGUAGES, and the cookie that keeps it through a flow.

It is decided by, in this order: the person (the switch in the footer), the request of the relying party
(`ui_locales`, OpenID Connect Core 1.0 §3.1.2.1), and the browser (`Accept-Language`, RFC 9110 §12.5.4).
"""

from datetime import timedelta
from operator import itemgetter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

from infra.browser import set_cookie

CHOSEN_FOR = timedelta(days=365)
REQUESTED_FOR = timedelta(hours=1)  # longer than a request is open
_BY_REQUEST = ".request"  # ends the cookie's value if a relying party requested the language
_MOST_TAGS = 10


def supported(tag: str) -> str | None:
    """The language of LANGUAGES for a tag of BCP 47: `es` for `es-MX`. None if there is none.

    Some programs write tags as the names of locales: `es_MX`.
    """
    try:
        return get_supported_language_variant(tag.lower().replace("_", "-"))
    except LookupError:
        return None


def of_request(request: HttpRequest) -> str:
    """The language of the pages for this request."""
    kept = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "").removesuffix(_BY_REQUEST)
    return kept if kept in dict(settings.LANGUAGES) else _of_browser(request)


def requested(request: HttpRequest, ui_locales: str) -> str:
    """The language of the pages for this authorization request, as `follow` keeps it for the next ones."""
    kept = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    return kept if kept in dict(settings.LANGUAGES) else _first_of(ui_locales) or _of_browser(request)


def _first_of(ui_locales: str) -> str | None:
    return next(filter(None, map(supported, ui_locales.split()[:_MOST_TAGS])), None) if ui_locales else None


def _of_browser(request: HttpRequest) -> str:
    for tag, weight in _preferred(request.META.get("HTTP_ACCEPT_LANGUAGE", "")[:500]):
        if tag == "*" or not weight:
            break
        if language := supported(tag):
            return language
    return settings.LANGUAGE_CODE


def _preferred(accept_language: str) -> list[tuple[str, float]]:
    """The tags with their weights, the heaviest first (RFC 9110 §12.5.4).

    They are read one by one, because Django ignores the whole header if one of them is malformed.
    """
    parts = accept_language.replace("_", "-").split(",")
    tags = [tag for part in parts for tag in parse_accept_lang_header(part.strip())]
    return sorted(tags, key=itemgetter(1), reverse=True)


def choose(response: HttpResponse, language: str) -> None:
    """Keeps the language that the person chose."""
    set_cookie(response, settings.LANGUAGE_COOKIE_NAME, language, lifetime=CHOSEN_FOR)


def follow(request: HttpRequest, response: HttpResponse, ui_locales: str) -> None:
    """Keeps the first supported language of `ui_locales`, unless the person chose one.

    ui_locales: tags of BCP 47, separated by spaces; unknown ones are ignored, and empty ends the language
    that an earlier request had asked for.
    """
    kept = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    if not (kept or ui_locales) or kept in dict(settings.LANGUAGES):
        return
    if language := _first_of(ui_locales):
        value = f"{language}{_BY_REQUEST}"
        set_cookie(response, settings.LANGUAGE_COOKIE_NAME, value, lifetime=REQUESTED_FOR)
    elif kept.endswith(_BY_REQUEST):
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
