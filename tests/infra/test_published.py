"""Public documents served from prepared bytes."""

import gzip
from threading import Event, Thread
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from infra.published import documents
from infra.published.documents import NothingToPublishError, PublishedDocument

requests = RequestFactory()

# A document that is built asks for a usable connection first.
pytestmark = pytest.mark.django_db


class Source:
    """The `build` of a document: gives bytes, or raises an error."""

    def __init__(self, now: Any = b'{"a":1}') -> None:
        self.now = now
        self.built = 0

    def __call__(self) -> bytes:
        self.built += 1
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def document(source: Source) -> PublishedDocument:
    return PublishedDocument(source, max_age=600, refresh_after=3600)


def get(document: PublishedDocument, **headers: str) -> HttpResponse:
    return document(requests.get("/document", headers=headers))


def test_the_bytes_come_with_everything_a_cache_and_a_browser_need(document: PublishedDocument) -> None:
    response = get(document)
    assert (response.status_code, response.content) == (200, b'{"a":1}')
    assert response["Content-Type"] == "application/json"
    assert response["Content-Length"] == "7"
    assert response["Cache-Control"] == "public, max-age=600"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["ETag"].startswith('"')


def test_head_has_the_headers_of_get_and_no_body(document: PublishedDocument) -> None:
    response = document(requests.head("/document"))
    assert response.content == b""
    assert dict(response.items()) == dict(get(document).items())


@pytest.mark.parametrize("condition", ["{}", "W/{}", '"other", {}', '"other", W/{}', "*"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_a_client_that_has_the_bytes_gets_304(
    document: PublishedDocument, condition: str, method: str
) -> None:
    etag = get(document)["ETag"]
    request = getattr(requests, method)("/document", headers={"If-None-Match": condition.format(etag)})
    response = document(request)
    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == etag
    assert response["Cache-Control"] == "public, max-age=600"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Content-Type" not in response


@pytest.mark.parametrize("condition", ['"other"', "nonsense", "", '"', "W/"])
def test_a_client_with_other_bytes_gets_these(document: PublishedDocument, condition: str) -> None:
    assert get(document, **{"If-None-Match": condition}).status_code == 200


@pytest.mark.parametrize("filler", [" ,", '"a",', "W/", "*"])
def test_headers_of_any_length_cost_nothing(source: Source, filler: str, monkeypatch: Any) -> None:
    document = PublishedDocument(source, compressed=True)
    looked_at: list[str] = []
    monkeypatch.setattr(documents, "parse_etags", lambda text: looked_at.append(text) or [])
    endless = filler * 400_000

    response = get(document, **{"If-None-Match": endless, "Accept-Encoding": endless + ", gzip"})

    assert response.status_code == 200
    assert "Content-Encoding" not in response
    assert looked_at == []


def test_a_preflight_is_answered(document: PublishedDocument) -> None:
    response = document(requests.options("/document", headers={"Origin": "https://rp.example"}))
    assert (response.status_code, response.content) == (204, b"")
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    # `*` alone would not be for Authorization.
    assert response["Access-Control-Allow-Headers"] == "*, Authorization"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "BREW"])
def test_other_methods_are_refused_with_what_is_allowed(document: PublishedDocument, method: str) -> None:
    response = document(requests.generic(method, "/document") if method != "get" else lower_case_get())
    assert (response.status_code, response.content) == (405, b"")
    assert response["Allow"] == "GET, HEAD, OPTIONS"


def lower_case_get() -> Any:
    request = requests.get("/document")
    request.method = "get"
    return request


def test_the_bytes_are_built_once_for_many_requests(document: PublishedDocument, source: Source) -> None:
    for _again in range(50):
        get(document)
    assert source.built == 1


def test_a_change_is_seen_after_the_refresh_and_has_another_etag(source: Source) -> None:
    document = PublishedDocument(source, refresh_after=0)
    before = get(document)["ETag"]
    source.now = b'{"a":2}'
    after = get(document, **{"If-None-Match": before})
    assert (after.status_code, after.content) == (200, b'{"a":2}')
    assert after["ETag"] != before


def test_refresh_has_the_next_request_rebuild(document: PublishedDocument, source: Source) -> None:
    get(document)
    source.now = b"{}"
    document.refresh()
    assert get(document).content == b"{}"


def test_when_a_rebuild_fails_the_old_bytes_are_served_and_not_cached(source: Source) -> None:
    document = PublishedDocument(source, refresh_after=0)
    get(document)
    source.now = OSError("the database is away")
    response = get(document)
    assert (response.status_code, response.content) == (200, b'{"a":1}')
    assert response["Cache-Control"] == "no-cache"
    source.now = b'{"a":1}'
    assert get(document)["Cache-Control"] == "public, max-age=3600"


def test_when_the_first_build_fails_the_answer_is_503_without_details(source: Source) -> None:
    source.now = OSError("secret detail")
    response = get(PublishedDocument(source))
    assert response.status_code == 503
    assert (response["Cache-Control"], response["Retry-After"]) == ("no-store", "5")
    assert b"secret" not in response.content
    assert "ETag" not in response


def test_what_must_not_be_published_any_longer_is_gone_at_once(source: Source) -> None:
    document = PublishedDocument(source, refresh_after=0)
    etag = get(document)["ETag"]
    source.now = NothingToPublishError("Nothing here.")
    response = get(document, **{"If-None-Match": etag})
    assert (response.status_code, response.content) == (404, b"Nothing here.\n")
    assert response["Cache-Control"] == "no-store"
    source.now = OSError()
    assert get(document).status_code == 503


def test_answers_are_independent_of_each_other(document: PublishedDocument) -> None:
    first = get(document)
    first["X-Mine"] = "1"
    first.set_cookie("mine", "1")
    first.write(b"more")
    del first["ETag"]
    first._resource_closers.append(print)
    second = get(document)
    assert "X-Mine" not in second
    assert "ETag" in second
    assert second.content == b'{"a":1}'
    assert not second.cookies
    assert second._resource_closers == []


def test_while_one_thread_rebuilds_the_others_are_served_and_do_not_wait() -> None:
    go, building = Event(), Event()

    def build() -> bytes:
        if building.is_set() or first:
            first.clear()
            return b"1"
        building.set()
        go.wait(10)
        return b"2"

    first = [True]
    document = PublishedDocument(build, refresh_after=0)
    assert get(document).content == b"1"
    slow = Thread(target=get, args=(document,))
    slow.start()
    assert building.wait(10)
    assert get(document).content == b"1"
    go.set()
    slow.join(10)


@pytest.mark.slow
def test_bytes_that_lag_too_long_behind_are_not_to_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LAG", -1.0)
    monkeypatch.setattr(documents, "_PATIENCE", 0.01)
    document = PublishedDocument(Source(), refresh_after=0)
    get(document)
    with document._lock:  # another thread is rebuilding and hangs
        response = get(document)
    assert (response.content, response["Cache-Control"]) == (b'{"a":1}', "no-cache")


def test_many_threads_at_the_first_request_build_once(source: Source, at_once: Any) -> None:
    document = PublishedDocument(source, refresh_after=3600)
    threads = [Thread(target=get, args=(document,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert source.built == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
@pytest.mark.parametrize("known", [False, True])
def test_wsgi_and_django_give_the_same_answer(document: PublishedDocument, method: str, known: bool) -> None:
    request = requests.generic(method, "/document")
    etag = get(document)["ETag"]
    if known:
        request.META["HTTP_IF_NONE_MATCH"] = etag
    started: list[Any] = []
    body = b"".join(document.wsgi(request.META, lambda *words: started.extend(words)))
    response = document(request)
    assert started[0] == f"{response.status_code} {response.reason_phrase}"
    assert started[1] == list(response.items())
    assert body == response.content


def test_a_server_that_changes_the_headers_it_was_given_changes_no_other_answer(
    document: PublishedDocument,
) -> None:
    def meddle(status: str, headers: list[tuple[str, str]]) -> None:
        headers.clear()

    get(document)
    environ = requests.get("/document").META
    document.wsgi(environ, meddle)
    started: list[Any] = []
    document.wsgi(environ, lambda *words: started.extend(words))
    assert ("Content-Length", "7") in started[1]


@pytest.mark.parametrize(
    ("accepted", "compressed"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("gzip, deflate, br", True),
        ("br;q=1.0, gzip;q=0.5", True),
        ("gzip; q=0.001", True),
        ("gzip;q=0", False),
        ("gzip;q=0.0, br", False),
        ("gzip; q=0.000", False),
        ("br, deflate", False),
        ("identity", False),
        ("*", False),
        ("x-gzip", False),
        ("gzipped", False),
        (";;,,;q=", False),
    ],
)
def test_gzip_is_for_those_who_take_it(source: Source, accepted: str, compressed: bool) -> None:
    document = PublishedDocument(source, compressed=True)
    response = get(document, **{"Accept-Encoding": accepted})

    assert response.has_header("Content-Encoding") == compressed
    assert (gzip.decompress(response.content) if compressed else response.content) == b'{"a":1}'
    assert response["Vary"] == "Accept-Encoding"


def test_each_encoding_has_its_own_validator(source: Source) -> None:
    document = PublishedDocument(source, compressed=True)
    plain, small = get(document), get(document, **{"Accept-Encoding": "gzip"})

    assert plain["ETag"] != small["ETag"]
    assert get(document, **{"If-None-Match": plain["ETag"]}).status_code == 304
    assert get(document, **{"If-None-Match": plain["ETag"], "Accept-Encoding": "gzip"}).status_code == 200
    assert get(document, **{"If-None-Match": small["ETag"], "Accept-Encoding": "gzip"}).status_code == 304


def test_a_document_that_is_not_compressed_says_nothing_of_encodings(document: PublishedDocument) -> None:
    response = get(document, **{"Accept-Encoding": "gzip"})

    assert "Vary" not in response
    assert "Content-Encoding" not in response


class Clock:
    """The monotonic clock of the documents, which the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(documents, "monotonic", clock)
    return clock


def test_bytes_that_cannot_be_made_anew_are_served_for_an_hour_and_not_longer(
    source: Source, clock: Clock
) -> None:
    document = PublishedDocument(source, max_age=600)
    get(document)
    source.now = OSError("the database is away")
    for _asked in range(11):
        clock.now += 300
        assert (get(document).status_code, get(document)["Cache-Control"]) == (200, "no-cache")
    clock.now += 299
    assert get(document).content == b'{"a":1}'
    clock.now += 1

    response = get(document)

    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    source.now = b'{"a":2}'
    clock.now += 10
    assert get(document).content == b'{"a":2}'


def test_bytes_with_an_end_of_their_own_are_served_until_then(source: Source, clock: Clock) -> None:
    document = PublishedDocument(source, good_for=lambda body: float(body))
    source.now = b"20"
    get(document)
    source.now = OSError("the database is away")
    clock.now += 19.9
    assert get(document).content == b"20"
    clock.now += 0.1
    assert get(document).status_code == 503


def test_while_nothing_can_be_made_anew_it_is_tried_every_few_seconds_only(
    source: Source, clock: Clock
) -> None:
    document = PublishedDocument(source)
    source.now = OSError("the database is away")
    for _asked in range(20):
        get(document)
    assert source.built == 1
    source.now = b"1"
    clock.now += 5
    get(document)
    source.now = OSError("the database is away")
    clock.now += 5
    for _asked in range(20):
        get(document)
    assert source.built == 3


def test_one_document_that_is_slow_to_make_keeps_no_other_from_being_served() -> None:
    go, building = Event(), Event()

    def build() -> bytes:
        building.set()
        go.wait(10)
        return b"slow"

    slow, other = PublishedDocument(build), PublishedDocument(Source(), refresh_after=0)
    constant = PublishedDocument(Source(b"constant"), asks_database=False)
    get(other)
    thread = Thread(target=get, args=(slow,))
    thread.start()
    assert building.wait(10)

    assert get(other).content == b'{"a":1}'
    assert get(constant).content == b"constant"

    go.set()
    thread.join(10)


def test_a_first_request_that_waits_in_vain_gets_a_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_PATIENCE", 0.01)
    with documents._database_lock:  # another thread hangs
        response = get(PublishedDocument(Source()))
    assert (response.status_code, response["Retry-After"]) == (503, "5")
