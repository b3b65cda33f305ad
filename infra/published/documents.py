"""Public documents served from prepared bytes: discovery, key set, type metadata, the sandbox's root.

At most every few seconds one thread rebuilds a document; meanwhile the other threads serve the bytes in
memory. While the database is away or hangs, the last bytes are served until they expire. Validators and
content codings follow RFC 9110 §8.8 and §12.5.3, caching RFC 9111, and CORS the Fetch standard.
"""

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from http.client import responses
from threading import Lock
from time import monotonic
from typing import Any

import structlog
from django.db import close_old_connections, connection
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags

from infra import cross_origin
from infra.database.hung_database import SHORT, bounded
from infra.database.kept_connections import close_if_dead

log = structlog.get_logger(__name__)

_LAG = 30.0  # seconds for which outdated bytes are served without waiting while another thread rebuilds them
_BRIEFLY = 1.0  # seconds to wait for that thread when the bytes are older than that
_PATIENCE = 5.0  # seconds to wait for it when there are no usable bytes
_GOOD_FOR = 3600.0  # seconds for which bytes are served that cannot be rebuilt
_NEVER = float("inf")
# Only one thread of the process queries the database for documents, so a hung database blocks only that one.
_database_lock = Lock()
_LONGEST = 1000  # characters of a request header that are examined; parsing longer ones is too expensive
_METHODS = "GET, HEAD, OPTIONS"
_ALWAYS = {
    **cross_origin.READABLE,
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_Response = tuple[str, list[tuple[str, str]], bytes]  # the status line, the headers, the body


class NothingToPublishError(Exception):
    """There is nothing to publish now, and the bytes published before must not be served any longer."""

    def __init__(self, reason: str, *, status: int = 404) -> None:
        super().__init__(reason)
        self.status = status


class _Representation:
    """The bytes of a document in one content coding, with the headers of every response that carries them."""

    def __init__(self, body: bytes, headers: dict[str, str], *, status: int = 200) -> None:
        self.body, self._status = body, f"{status} {responses[status]}"
        self.gzipped: _Representation | None = None  # the same document in the other coding
        self.etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"' if status == 200 else ""
        tagged = {**_ALWAYS, **headers, **({"ETag": self.etag} if self.etag else {})}
        self._headers = [*tagged.items(), ("Content-Length", str(len(body)))]
        self._headers_of_304 = [(name, value) for name, value in tagged.items() if name != "Content-Type"]

    def response(self, method: str, condition: str | None) -> _Response:
        """The response to GET or HEAD: 304 when the client has these bytes already (RFC 9110 §13.1.2)."""
        if condition and self.etag and self._matches(condition):
            return "304 Not Modified", self._headers_of_304, b""
        return self._status, self._headers, self.body if method == "GET" else b""

    def _matches(self, condition: str) -> bool:
        if condition == self.etag:
            return True
        tags = parse_etags(condition) if len(condition) <= _LONGEST else []
        return "*" in tags or self.etag in (tag.removeprefix("W/") for tag in tags)


class PublishedDocument:
    """A view of a public document for GET, HEAD and preflights. Safe for threads.

    `build` makes the bytes. When it fails, the previous bytes are served for as long as they are good, with
    `Cache-Control: no-cache`, so that no cache keeps an outdated document for longer than it may.
    """

    csrf_exempt = True  # no method changes anything

    def __init__(
        self,
        build: Callable[[], bytes],
        *,
        content_type: str = "application/json",
        max_age: int = 3600,
        refresh_after: float = 5.0,
        compressed: bool = False,
        good_for: Callable[[bytes], float] = lambda body: _GOOD_FOR,
        asks_database: bool = True,
    ) -> None:
        """Takes the function that builds the bytes, and how they are served.

        compressed: also keep the bytes in gzip, for clients that accept it.
        good_for: takes the bytes; gives the seconds for which they may be served if they cannot be rebuilt.
        """
        self._build, self._good_for = build, good_for
        self._compressed = compressed
        self._name = getattr(build, "__qualname__", type(build).__name__)  # for the log
        self._headers = {"Content-Type": content_type, "Cache-Control": f"public, max-age={max_age}"}
        self._refresh_after = refresh_after
        self._asks_database = asks_database
        self._lock = _database_lock if asks_database else Lock()
        self._current: _Representation | None = None
        self._due = 0.0  # when the bytes are to be rebuilt, on the monotonic clock
        self._until = _NEVER  # when the bytes must not be served any longer, on the same clock

    def __call__(self, request: HttpRequest, **_: Any) -> HttpResponse:
        """The response for Django; `wsgi` gives the same in less time."""
        status, headers, body = self._response(request.method or "", request.META)
        response = HttpResponse(body, status=int(status[:3]), headers=dict(headers))
        if "Content-Type" not in dict(headers):
            del response.headers["Content-Type"]
        return response

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """Answers as a WSGI application (PEP 3333), without entering Django's request handling."""
        status, headers, body = self._response(environ["REQUEST_METHOD"], environ)
        start_response(status, headers.copy())
        return [body]

    def refresh(self) -> None:
        """Has the bytes rebuilt for the next request in this process."""
        self._due = 0.0

    def _response(self, method: str, environ: dict[str, Any]) -> _Response:
        if method == "OPTIONS":
            return "204 No Content", [*{**_ALWAYS, **cross_origin.preflight(_METHODS)}.items()], b""
        if method not in ("GET", "HEAD"):
            refusal = [*_ALWAYS.items(), ("Allow", _METHODS), ("Content-Length", "0")]
            return "405 Method Not Allowed", refusal, b""
        current = self._current
        if current is None or monotonic() >= self._due:
            current = self._refreshed()
        if current.gzipped and accepts_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")[:_LONGEST]):
            current = current.gzipped
        return current.response(method, environ.get("HTTP_IF_NONE_MATCH"))

    def _refreshed(self) -> _Representation:
        """Rebuilds in one thread; the others serve what there is, and wait only when that is not usable."""
        current, now = self._current, monotonic()
        is_good = current is not None and now < self._until
        may_lag = is_good and now < self._due + _LAG
        patience = 0 if may_lag else _BRIEFLY if is_good else _PATIENCE
        if not self._lock.acquire(timeout=patience):
            if current is None or not is_good:
                return _unavailable(503, "Not available at the moment.")
            return current if may_lag else self._uncached(current)
        try:
            if self._current is None or monotonic() >= self._due:
                self._current, self._until = self._rebuilt()
                self._due = min(monotonic() + self._refresh_after, self._until)
            return self._current
        finally:
            self._lock.release()

    def _rebuilt(self) -> tuple[_Representation, float]:
        """What is served from now on, and until when."""
        now = monotonic()
        try:
            with usable_database() if self._asks_database else nullcontext():
                body = self._build()
            return self._represented(body, self._headers), now + self._good_for(body)
        except NothingToPublishError as nothing:
            return _unavailable(nothing.status, str(nothing)), _NEVER
        except Exception:  # any failure: relying parties need the document more than we need to fail
            log.exception("document_not_rebuilt", document=self._name)
        if self._current is None or not self._current.etag or monotonic() >= self._until:
            return _unavailable(503, "Not available at the moment."), _NEVER
        return self._uncached(self._current), self._until

    def _represented(self, body: bytes, headers: dict[str, str]) -> _Representation:
        if not self._compressed:
            return _Representation(body, headers)
        headers = {**headers, "Vary": "Accept-Encoding"}
        plain = _Representation(body, headers)
        plain.gzipped = _Representation(gzip.compress(body, mtime=0), {**headers, "Content-Encoding": "gzip"})
        return plain

    def _uncached(self, current: _Representation) -> _Representation:
        """The document if it may be outdated: without permission for caches to keep it."""
        if not current.etag:
            return current
        return self._represented(current.body, {**self._headers, "Cache-Control": "no-cache"})


def nothing(reason: str, *, status: int = 404) -> PublishedDocument:
    """The view in the place of a document that does not exist or is not available."""

    def build() -> bytes:
        raise NothingToPublishError(reason, status=status)

    return PublishedDocument(build, asks_database=False)


@contextmanager
def usable_database() -> Iterator[None]:
    """For queries outside Django's request handling: drops stale connections first and limits the waits."""
    with bounded(SHORT):
        if not connection.in_atomic_block:  # Django would close it there, as its autocommit is off
            close_old_connections()
        close_if_dead()
        yield


@lru_cache(maxsize=64)  # few kinds of clients send few different headers
def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an `Accept-Encoding` header names gzip and does not refuse it (RFC 9110 §12.5.3)."""
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return not re.fullmatch(r"q=0(\.0*)?", weight.strip())
    return False


def _unavailable(status: int, reason: str) -> _Representation:
    headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
    if status == 503:
        headers["Retry-After"] = "5"
    return _Representation(f"{reason}\n".encode(), headers, status=status)
