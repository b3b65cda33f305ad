"""What both packages of the client libraries have in common, and what they may not have."""

import ast
import json
import re
import sys

import pytest

from clients.tests.packages import in_node
from credential_presentation.documents import Documents, seconds_fresh
from credential_presentation.errors import Unavailable
from credential_presentation.transport import Request, Response
from tests.project_copy import ROOT
from tests.source_modules import imports

PYTHON, NODE = ROOT / "clients" / "python", ROOT / "clients" / "node"
SOURCE = PYTHON / "src" / "credential_presentation"


def test_the_python_library_imports_cryptography_and_itself_only() -> None:
    imported = {name.split(".")[0] for path in SOURCE.glob("*.py") for name in imports(path)}
    assert imported - set(sys.stdlib_module_names) == {"cryptography", "credential_presentation"}


def test_the_library_for_node_imports_node_and_itself_only() -> None:
    imported = {
        name for path in NODE.glob("*.js") for name in re.findall(r' from "([^"]+)"', path.read_text())
    }
    assert {name for name in imported if not name.startswith(("node:", "./"))} == set()
    assert "dependencies" not in json.loads((NODE / "package.json").read_text())


@pytest.mark.parametrize("name", ["callback.html", "callback.js"])
def test_both_have_the_same_page_for_the_callback(name: str) -> None:
    assert (SOURCE / "callback" / name).read_text() == (NODE / "callback" / name).read_text()


def test_texts_and_examples_are_short() -> None:
    for folder in (PYTHON, NODE):
        assert len((folder / "README.md").read_text().splitlines()) <= 70
    for path in (ROOT / "docs" / "examples").glob("*_shop.*"):
        assert len([line for line in path.read_text().splitlines() if line]) <= 60, path


def test_the_libraries_are_small() -> None:
    """At most 1200 and 900 lines of code: no blank lines, comments and documentation.

    The one for Node.js reads certificates itself.
    """
    python, node = 0, 0
    for path in SOURCE.glob("*.py"):
        text = path.read_text()
        documented = {
            line
            for found in ast.walk(ast.parse(text))
            if isinstance(found, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(found)
            for line in range(found.body[0].lineno, (found.body[0].end_lineno or 0) + 1)
        }
        python += sum(
            bool(line.strip()) and not line.strip().startswith("#") and number not in documented
            for number, line in enumerate(text.splitlines(), 1)
        )
    for path in NODE.glob("*.js"):
        text = re.sub(r"/\*\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        node += sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())
    assert python <= 1200
    assert node <= 900


def test_documents_are_cached_as_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    now = [1000.0]

    def fetch(request: Request) -> Response:
        fetched.append(request.url)
        seconds = {"short": 10}.get(request.url, 10**9)
        return Response(200, f"document {len(fetched)}".encode(), {"Cache-Control": f"max-age={seconds}"})

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    documents = Documents(fetch)
    assert [documents.text("short"), documents.text("short")] == ["document 1"] * 2
    now[0] += 11
    assert documents.text("short") == "document 2"
    assert documents.text("long") == "document 3"
    assert documents.text("long", anew=True) == ""  # fetched just now
    now[0] += 31
    assert [documents.text("long"), documents.text("long", anew=True)] == ["document 3", "document 4"]
    now[0] += 3601  # an hour at most
    assert documents.text("long") == "document 5"


def test_a_failed_fetch_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is down is left alone for some seconds, and as long as it asks for, within bounds."""
    answers = [503, 503, 200]
    now, headers = [1000.0], {"Retry-After": "0", "X-Request-ID": "deadbeef-1"}
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    documents = Documents(lambda _request: Response(answers.pop(0), b"text", headers))
    with pytest.raises(Unavailable) as refused:
        documents.text("one")
    assert refused.value.reference == "DEADBEEF"
    now[0] += 2
    with pytest.raises(Unavailable, match="failed just now"):
        documents.text("one")
    headers["Retry-After"] = "900"
    now[0] += 2
    with pytest.raises(Unavailable) as refused:
        documents.text("one")
    assert refused.value.retry_after == 900
    now[0] += 29
    with pytest.raises(Unavailable, match="failed just now"):
        documents.text("one")
    now[0] += 2
    assert documents.text("one") == "text"


# Headers of a response, and for how many seconds it may be used again (RFC 9111 §4.2, §5.2.2).
FRESH: list[tuple[dict[str, str], float]] = [
    ({}, 60),
    ({"cache-control": "max-age=30"}, 30),
    ({"cache-control": "public, Max-Age=30, immutable"}, 30),
    ({"cache-control": 'max-age="30"'}, 30),
    ({"cache-control": "s-maxage=30"}, 60),
    ({"cache-control": "max-age=0"}, 0),
    ({"cache-control": "no-store"}, 0),
    ({"cache-control": "no-cache, max-age=30"}, 0),
    ({"cache-control": "max-age=30, no-store"}, 0),
    ({"cache-control": "max-age=999999"}, 3600),
    ({"cache-control": "max-age=-1"}, 60),
    ({"cache-control": "max-age=x"}, 60),
    ({"cache-control": "max-age=30", "age": "10"}, 20),
    ({"cache-control": "max-age=30", "age": "31"}, 0),
    ({"cache-control": "max-age=30", "age": "x"}, 30),
    ({"age": "10"}, 50),
]


def test_both_libraries_keep_a_document_as_long_as_its_headers_allow() -> None:
    assert [seconds_fresh(Response(200, b"", headers)) for headers, _seconds in FRESH] == [
        seconds for _headers, seconds in FRESH
    ]
    said = in_node(f"""
const {{ secondsFresh }} = await import("{NODE}/documents.js");
const all = {json.dumps([headers for headers, _seconds in FRESH])};
console.error(JSON.stringify(all.map((headers) => secondsFresh(new Headers(headers)))));
""")
    assert json.loads(said) == [seconds for _headers, seconds in FRESH]
