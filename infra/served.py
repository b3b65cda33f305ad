"""What is noted on a request while it is served, as types. Django makes the objects."""

from typing import TypeVar, cast

from django.http import HttpRequest

Noted = TypeVar("Noted", bound=HttpRequest)


class ServedRequest(HttpRequest):
    """A request to which `config.middleware.EveryRequest` has given its reference and its language.

    page_language: empty for a page that exists only in English.
    """

    reference: str
    page_language: str


def reference_of(request: HttpRequest) -> str:
    """The reference; empty for a request that did not come through `EveryRequest`."""
    reference: str = getattr(request, "reference", "")
    return reference


def language_of(request: HttpRequest) -> str:
    """The language of the page; empty for a page that exists only in English."""
    language: str = getattr(request, "page_language", "")
    return language


def unsent(path: str, language: str) -> HttpRequest:
    """A request that nobody has sent: the context processors of a page find nothing of a person in it."""
    request = HttpRequest()
    request.method, request.path = "GET", path
    noting(request, ServedRequest).page_language = language
    return request


def noting(request: HttpRequest, kind: type[Noted]) -> Noted:
    """The same request, as one on which what `kind` declares may be noted."""
    return cast(Noted, request)
