"""The endpoints of the status lists (Token Status List §8.1) and of their aggregation (§9.3).

Historical lists (§8.4) are not published, because they would reveal when a status changed.
"""

from collections.abc import Callable
from time import time
from typing import Any

from django.http import HttpRequest, HttpResponse

from infra.published.documents import PublishedDocument, nothing
from infra.published.families import PublishedFamily
from wallet.status_lists import publication, token

MAX_AGE = 30  # seconds; with two delays of a few seconds, a change is published within a minute


def _document(list_id: int) -> PublishedDocument:
    return PublishedDocument(
        lambda: publication.current(list_id),
        content_type="application/statuslist+jwt",
        max_age=MAX_AGE,
        compressed=True,
        good_for=lambda signed: token.ends_at(signed) - time(),
    )


class _StatusLists(PublishedFamily):
    """The current lists; 501 for a request with the parameter `time` (§8.4)."""

    _history = nothing("There is no history of this list.", status=501)

    def __call__(self, request: HttpRequest, number: int) -> HttpResponse:
        if _asks_for_another_time(request.META):
            return self._history(request)
        return super().__call__(request, number)

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if _asks_for_another_time(environ):
            return self._history.wsgi(environ, start_response)
        return super().wsgi(environ, start_response)


def _asks_for_another_time(environ: dict[str, Any]) -> bool:
    query = environ.get("QUERY_STRING", "")
    return bool(query) and any(pair.partition("=")[0] == "time" for pair in query.split("&"))


lists = _StatusLists(publication.published, _document)
aggregation = PublishedDocument(publication.aggregation, max_age=MAX_AGE)
