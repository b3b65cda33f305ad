"""The WSGI application serves published documents itself, with the same headers as Django."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
from config.wsgi import application
from wallet.models import StatusList
from wallet.status_lists import upkeep

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("signing_key")]


@pytest.fixture(autouse=True)
def fresh() -> None:
    for published in (*PUBLISHED_DOCUMENTS.values(), *PUBLISHED_FAMILIES.values()):
        published.refresh()


def get(path: str, method: str = "GET", **environ: str) -> tuple[int, dict[str, str], bytes]:
    """The response of the WSGI application itself."""
    said: list[Any] = []
    request = RequestFactory().generic(method, path, **environ)  # type: ignore[arg-type]
    body = b"".join(application(request.environ, lambda *words: said.extend(words)))
    return int(said[0].split()[0]), dict(said[1]), body


@pytest.mark.parametrize("path", PUBLISHED_DOCUMENTS)
def test_a_document_is_the_same_ahead_of_django_and_through_it(client: Client, path: str) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST", "DELETE"):
        status, headers, body = get(f"/{path}", method)
        through = client.generic(method, f"/{path}")

        assert (through.status_code, through.content) == (status, body), method
        assert {name: through.headers.get(name) for name in headers} == headers, method


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_status_list_is_the_same_ahead_of_django_and_through_it(client: Client, encoding: str) -> None:
    upkeep.keep_open(now=timezone.now())
    for number in (StatusList.objects.latest("id").pk, 999_999):
        path = f"/status-lists/{number}"
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            status, headers, body = get(path, method, HTTP_ACCEPT_ENCODING=encoding)
            through = client.generic(method, path, headers={"Accept-Encoding": encoding})

            assert (through.status_code, through.content) == (status, body), method
            assert {name: through.headers.get(name) for name in headers} == headers, method


def test_a_known_document_is_not_sent_again(client: Client) -> None:
    tag = get("/openid-connect/jwks")[1]["ETag"]

    status, headers, body = get("/openid-connect/jwks", HTTP_IF_NONE_MATCH=tag)
    through = client.get("/openid-connect/jwks", headers={"if-none-match": tag})

    assert (status, body) == (304, b"")
    assert through.status_code == 304
    assert {name: through.headers.get(name) for name in headers} == headers


def test_documents_do_without_a_log_line_or_a_cookie(logged: list[dict[str, Any]]) -> None:
    _, headers, _ = get("/openid-connect/jwks")

    assert "Set-Cookie" not in headers
    assert logged == []


@pytest.mark.parametrize("path", ["/", "/openid-connect/jwks/", "/openid-connect"])
def test_everything_else_is_answered_by_django(path: str) -> None:
    status, headers, _ = get(path)

    assert status == (200 if path == "/" else 404)
    assert "form-action" in headers["Content-Security-Policy"]
