"""Public documents served from prepared bytes: discovery, key set, type metadata, the sandbox's root.

One thread rebuilds them at most every few seconds, while the others serve them from memory. While the
database is away or hangs, the old bytes are served until they expire. Validators, encodings, caching and CORS
as in RFC 9110 §8.8 and §12.5.3, RFC 9111 and the Fetch standard.
"""

import gzip
import hashlib
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any

import structlog
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.http.cookie import SimpleCookie
from django.http.response import ResponseHeaders
from django.utils.http import parse_etags

from infra.database.hung_database import SHORT, bounded
from infra.database.kept_connections import close_dead_connections

log = structlog.get_logger(__name__)

_LAG = 30.0  # seconds the bytes may be served on while another thread rebuilds them
_BRIEFLY = 1.0  # seconds to wait for that thread when they are older, and there is a hope of newer ones
_PATIENCE = 5.0  # seconds to wait for it when there are none
_GOOD_FOR = 3600.0  # seconds bytes are served on that cannot be made anew
_NEVER = float("inf")
# One thread of the process asks the database on behalf of all documents, so a hung one holds no other.
_one_asks = Lock()
_LONGEST = 1000  # characters of a header that are looked at: a longer one costs more than our bytes do
_METHODS = "GET, HEAD, OPTIONS"
_ALWAYS = {
    "Access-Control-Allow-Origin": "*",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


_PREFLIGHT = {
    "Allow": _METHODS,
    "Access-Control-Allow-Methods": _METHODS,
    "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": "86400",
}


class NothingToPublishError(Exception):
    """There is nothing to publish now, and what was published before must not be served any longer."""

    def __init__(self, reason: str, *, status: int = 404) -> None:
        super().__init__(reason)
        self.status = status


class _Answer:
    """One answer, made once: as a response of Django to be copied, and as WSGI (PEP 3333) has it."""

    def __init__(self, body: bytes, headers: dict[str, str], *, status: int, of: int | None = None) -> None:
        length = len(body) if of is None else of
        response = HttpResponse(body, status=status, headers={**_ALWAYS, **headers})
        if status not in (204, 304):
            response.headers["Content-Length"] = str(length)
        if "Content-Type" not in headers:
            del response.headers["Content-Type"]
        self._response = response
        self.status = f"{status} {response.reason_phrase}"
        self.headers = list(response.items())
        self.body = [body]

    def response(self) -> HttpResponse:
        """A response of its own for one request, at a fraction of what `HttpResponse(…)` costs.

        Everything a later hand may change (headers, cookies, closers, content) is its own.
        """
        response, headers = HttpResponse.__new__(HttpResponse), ResponseHeaders.__new__(ResponseHeaders)
        made = self._response.__dict__
        headers.__dict__["_store"] = made["headers"]._store.copy()
        response.__dict__.update(
            made,
            headers=headers,
            cookies=SimpleCookie(),
            _container=made["_container"].copy(),
            _resource_closers=[],
        )
        return response


class _Answers:
    """Every answer to GET and HEAD while the document has these bytes; `gzipped`: the same bytes, encoded."""

    def __init__(
        self, body: bytes, headers: dict[str, str], *, status: int = 200, compressed: bool = False
    ) -> None:
        self.body = body
        self.gzipped: _Answers | None = None
        if compressed:
            headers = {**headers, "Vary": "Accept-Encoding"}
            small = gzip.compress(body, mtime=0)
            self.gzipped = _Answers(small, {**headers, "Content-Encoding": "gzip"}, status=status)
        self.etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"' if status == 200 else ""
        tagged = {**headers, **({"ETag": self.etag} if self.etag else {})}
        untyped = {name: value for name, value in tagged.items() if name != "Content-Type"}
        self._get = _Answer(body, tagged, status=status)
        self._head = _Answer(b"", tagged, status=status, of=len(body))
        self._not_modified = _Answer(b"", untyped, status=304)

    def to(self, method: str, condition: str | None) -> _Answer:
        """The answer to a GET or HEAD, 304 when the client has these bytes (RFC 9110 §13.1.2)."""
        if condition and self.etag and self._matches(condition):
            return self._not_modified
        return self._get if method == "GET" else self._head

    def _matches(self, condition: str) -> bool:
        if condition == self.etag:
            return True
        tags = parse_etags(condition) if len(condition) <= _LONGEST else []
        return "*" in tags or self.etag in (tag.removeprefix("W/") for tag in tags)


class PublishedDocument:
    """A view for a public document: GET, HEAD and preflights; callable like any Django view.

    `build` makes the bytes; when it fails, the old ones are served on as long as they are good but not to be
    cached, so that no cache holds what is out of date for longer than it may. Safe for threads.
    """

    csrf_exempt = True  # changes nothing, whoever asks

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
        """compressed: keep a gzip of the bytes too, for those who take it.

        good_for: how many seconds from now bytes may be served if they cannot be made anew.
        """
        self._build, self._good_for = build, good_for
        self._compressed = compressed
        self._name = getattr(build, "__qualname__", type(build).__name__)  # for the log
        self._headers = {"Content-Type": content_type, "Cache-Control": f"public, max-age={max_age}"}
        self._refresh_after = refresh_after
        self._asks_database = asks_database
        self._lock = _one_asks if asks_database else Lock()
        self._answers: _Answers | None = None
        self._due = 0.0  # on the monotonic clock
        self._until = _NEVER  # on the same clock: not served from then on
        self._preflight = _Answer(b"", _PREFLIGHT, status=204)
        self._refusal = _Answer(b"", {"Allow": _METHODS}, status=405)

    def __call__(self, request: HttpRequest, **_: Any) -> HttpResponse:
        return self._answer(request.method or "", request.META).response()

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """The same as a WSGI application: for answering before Django is asked at all."""
        answer = self._answer(environ["REQUEST_METHOD"], environ, ahead=True)
        start_response(answer.status, answer.headers.copy())
        return answer.body

    def _answer(self, method: str, environ: dict[str, Any], *, ahead: bool = False) -> _Answer:
        if method in ("GET", "HEAD"):
            answers = self._answers
            if answers is None or monotonic() >= self._due:
                answers = self._refreshed(ahead=ahead)
            if answers.gzipped and takes_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")[:_LONGEST]):
                answers = answers.gzipped
            return answers.to(method, environ.get("HTTP_IF_NONE_MATCH"))
        return self._preflight if method == "OPTIONS" else self._refusal

    def refresh(self) -> None:
        """Have the bytes made anew for the next request of this process."""
        self._due = 0.0

    def _refreshed(self, *, ahead: bool) -> _Answers:
        """Rebuilt by one thread; the others are served what there is, and wait only when there is nothing."""
        answers, now = self._answers, monotonic()
        is_good = answers is not None and now < self._until
        may_lag = is_good and now < self._due + _LAG
        patience = 0 if may_lag else _BRIEFLY if is_good else _PATIENCE
        if not self._lock.acquire(timeout=patience):
            if answers is None or not is_good:
                return _unavailable(503, "Not available at the moment.")
            return answers if may_lag else self._uncached(answers)
        try:
            if self._answers is None or monotonic() >= self._due:
                with bounded(SHORT) if self._asks_database else nullcontext():
                    self._answers, self._until = self._rebuilt(ahead=ahead)
                self._due = min(monotonic() + self._refresh_after, self._until)
            return self._answers
        finally:
            self._lock.release()

    def _rebuilt(self, *, ahead: bool) -> tuple[_Answers, float]:
        """The answers from now on, and until when; `ahead` of Django no signal closes connections."""
        now = monotonic()
        try:
            if ahead and self._asks_database:
                close_old_connections()
                close_dead_connections()
            body = self._build()
            return _Answers(body, self._headers, compressed=self._compressed), now + self._good_for(body)
        except NothingToPublishError as nothing:
            return _unavailable(nothing.status, str(nothing)), _NEVER
        except Exception:  # whatever it is, relying parties need the document more than we need to fail
            log.exception("document_not_rebuilt", document=self._name)
        if self._answers is None or not self._answers.etag or monotonic() >= self._until:
            return _unavailable(503, "Not available at the moment."), _NEVER
        return self._uncached(self._answers), self._until

    def _uncached(self, answers: _Answers) -> _Answers:
        """Bytes that may be out of date already, so that no cache prolongs that."""
        if not answers.etag:
            return answers
        headers = {**self._headers, "Cache-Control": "no-cache"}
        return _Answers(answers.body, headers, compressed=self._compressed)


@lru_cache(maxsize=64)  # clients are of few kinds
def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client that sends this header names gzip and does not refuse it."""
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return not re.fullmatch(r"q=0(\.0*)?", weight.strip())
    return False


def _unavailable(status: int, reason: str) -> _Answers:
    headers = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
    if status == 503:
        headers["Retry-After"] = "5"
    return _Answers(f"{reason}\n".encode(), headers, status=status)
