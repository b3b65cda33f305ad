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


def noting(request: HttpRequest, kind: type[Noted]) -> Noted:
    """The same request, as one on which what `kind` declares may be noted."""
    return cast(Noted, request)
