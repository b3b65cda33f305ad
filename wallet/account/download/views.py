"""The page from which holders download their data, and the two downloads."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import get_language, override

from infra import personal_data
from infra.again import again_after
from infra.limits import Limit, LimitReachedError
from infra.personal_data import Person
from infra.reading import only_read
from wallet.account import fresh
from wallet.account.download import formats
from wallet.models import HolderSession
from wallet.sign_in.decorators import for_signed_in, show_to

DOWNLOADS = Limit.from_settings("wallet-downloads")  # per wallet
# Format → media type, and the function that writes it.
FORMATS: dict[str, tuple[str, Callable[..., Iterator[str]]]] = {
    "json": ("application/json", formats.as_json),
    "html": ("text/html; charset=utf-8", formats.as_html),
}


@only_read
@for_signed_in
@fresh.factor_first("wallet_data")
def data(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Says what the download contains; in a browser without a fresh factor, asks for one first."""
    return _page(request, session)


@only_read
@for_signed_in
@fresh.factor_first("wallet_data")
def save(request: HttpRequest, session: HolderSession, now: datetime, kind: str) -> HttpResponseBase:
    """A download. Its name says nothing of the person, because it stays in lists of downloads."""
    if request.method == "HEAD":
        return HttpResponse()
    try:
        DOWNLOADS.take(str(session.wallet_id), now=now)
    except LimitReachedError as limit:
        page = _page(request, session, again_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    return _file(session, kind, now=now)


def _file(session: HolderSession, kind: str, *, now: datetime) -> StreamingHttpResponse:
    media_type, write = FORMATS[kind]
    person = Person(session.wallet_id, session.wallet.email, now)
    parts = _in_language(get_language(), write(person, now=now))
    response = StreamingHttpResponse(parts, content_type=media_type)
    response.headers["Content-Disposition"] = f'attachment; filename="my-data-{now:%Y-%m-%d}.{kind}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _in_language(language: str | None, parts: Iterator[str]) -> Iterator[str]:
    """The parts, which are written after the request and its language have ended."""
    while True:
        with override(language):
            part = next(parts, None)
        if part is None:
            return
        yield part


def _page(request: HttpRequest, session: HolderSession, **facts: Any) -> HttpResponse:
    return show_to(request, session, "account/data", sections=personal_data.sections(), **facts)
