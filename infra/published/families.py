"""Published documents of one kind, told apart by the number at the end of their address."""

from collections.abc import Callable, Iterable
from threading import Lock
from time import monotonic
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse

from infra.published.documents import PublishedDocument, nothing, usable_database

log = structlog.get_logger(__name__)

_PAUSE = 0.1  # seconds at least between two queries for the numbers that exist
_PATIENCE = 1.0  # seconds to wait for another thread's query


class PublishedFamily:
    """A view of all documents of a kind. Keeps nothing for numbers that do not exist. Safe for threads.

    numbers: queries the numbers that exist. document: makes the document with a number.
    """

    csrf_exempt = True  # no method changes anything

    def __init__(
        self, numbers: Callable[[], Iterable[int]], document: Callable[[int], PublishedDocument]
    ) -> None:
        self._numbers, self._document = numbers, document
        self._documents: dict[str, PublishedDocument] = {}
        self._lock = Lock()
        self._due = 0.0  # when the numbers may be queried again, on the monotonic clock
        self._unknown = nothing("There is no such document.")
        self._unavailable = nothing("Not available at the moment.", status=503)

    def __call__(self, request: HttpRequest, number: int) -> HttpResponse:
        """The response for Django; `wsgi` gives the same in less time."""
        return self._find(str(number))(request)

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """Answers as a WSGI application (PEP 3333), without entering Django's request handling."""
        name = environ["PATH_INFO"].rpartition("/")[2]
        return self._find(name).wsgi(environ, start_response)

    def refresh(self) -> None:
        """Forgets all documents of this process; each is made again when it is requested."""
        with self._lock:
            self._documents, self._due = {}, 0.0

    def _find(self, name: str) -> PublishedDocument:
        """The document with this number as the address spells it: `7`, not `07`. Known ones never wait."""
        document = self._documents.get(name)
        if document is None and name.isdecimal():
            if not self._lock.acquire(timeout=_PATIENCE):
                return self._unavailable
            try:
                if name not in self._documents and monotonic() >= self._due and not self._look():
                    return self._unavailable
                document = self._documents.get(name)
            finally:
                self._lock.release()
        return document or self._unknown

    def _look(self) -> bool:
        """Queries the numbers that exist and keeps the documents made already; False if the query failed."""
        try:
            with usable_database():
                numbers = list(self._numbers())
        except Exception:
            log.exception("documents_not_found", family=self._numbers.__qualname__)
            return False
        self._documents = {
            str(number): self._documents.get(str(number)) or self._document(number) for number in numbers
        }
        self._due = monotonic() + _PAUSE
        return True
