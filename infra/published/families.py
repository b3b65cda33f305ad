"""Published documents of one kind, told apart by the number at the end of their address."""

from collections.abc import Callable, Iterable
from threading import Lock
from time import monotonic
from typing import Any

import structlog
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse

from infra.database.hung_database import SHORT, bounded
from infra.database.kept_connections import close_dead_connections
from infra.published.documents import NothingToPublishError, PublishedDocument

log = structlog.get_logger(__name__)

_PAUSE = 0.1  # seconds between two questions which documents there are
_PATIENCE = 1.0  # seconds to wait for another thread that asks


def _no_document() -> bytes:
    raise NothingToPublishError("There is no such document.")


def _no_answer() -> bytes:
    raise NothingToPublishError("Not available at the moment.", status=503)


class PublishedFamily:
    """A view for all documents of a kind. Nothing is kept for numbers that do not exist. Safe for threads.

    numbers: asks which documents there are. document: makes the one with that number.
    """

    csrf_exempt = True  # changes nothing, whoever asks

    def __init__(
        self, numbers: Callable[[], Iterable[int]], document: Callable[[int], PublishedDocument]
    ) -> None:
        self._numbers, self._document = numbers, document
        self._documents: dict[str, PublishedDocument] = {}
        self._lock = Lock()
        self._due = 0.0  # on the monotonic clock
        self._unknown, self._unavailable = (
            PublishedDocument(build, asks_database=False) for build in (_no_document, _no_answer)
        )

    def __call__(self, request: HttpRequest, number: int) -> HttpResponse:
        return self._find(str(number))(request)

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """The same as a WSGI application: for answering before Django is asked at all."""
        name = environ["PATH_INFO"].rpartition("/")[2]
        return self._find(name, ahead=True).wsgi(environ, start_response)

    def refresh(self) -> None:
        """Forget all documents of this process; they are made anew when asked for."""
        with self._lock:
            self._documents, self._due = {}, 0.0

    def _find(self, name: str, *, ahead: bool = False) -> PublishedDocument:
        """By its number as written in the address: `7`, not `07`. Those that are known wait for nothing."""
        document = self._documents.get(name)
        if document is None and name.isdecimal():
            if not self._lock.acquire(timeout=_PATIENCE):
                return self._unavailable
            try:
                if name not in self._documents and monotonic() >= self._due and not self._look(ahead=ahead):
                    return self._unavailable
                document = self._documents.get(name)
            finally:
                self._lock.release()
        return document or self._unknown

    def _look(self, *, ahead: bool) -> bool:
        """Ask again which documents there are; those that are known stay as they are."""
        try:
            with bounded(SHORT):
                if ahead:
                    close_old_connections()  # ahead of Django no signal does it
                    close_dead_connections()
                numbers = list(self._numbers())
        except Exception:
            log.exception("documents_not_found", family=self._numbers.__qualname__)
            return False
        self._documents = {
            str(number): self._documents.get(str(number)) or self._document(number) for number in numbers
        }
        self._due = monotonic() + _PAUSE
        return True
