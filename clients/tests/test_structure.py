"""What both packages of the client libraries have in common, and what they may not have."""

import ast
import json
import re
import sys

import pytest

from credential_presentation.documents import Documents
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
        assert len(path.read_text().splitlines()) <= 60, path


def test_the_libraries_are_small() -> None:
    """At most 800 and 700 lines of code: no blank lines, comments and documentation.

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
    assert python <= 800
    assert node <= 700


def test_documents_are_cached_as_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    now = [1000.0]

    def fetch(address: str) -> tuple[str, float]:
        fetched.append(address)
        return f"document {len(fetched)}", {"short": 10.0}.get(address, 1e9)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    documents = Documents(fetch)
    assert [documents.text("short"), documents.text("short")] == ["document 1"] * 2
    now[0] += 11
    assert documents.text("short") == "document 2"
    assert documents.text("long") == "document 3"
    assert documents.text("long", anew=True) == "document 3"  # fetched just now
    now[0] += 31
    assert [documents.text("long"), documents.text("long", anew=True)] == ["document 3", "document 4"]
    now[0] += 3601  # an hour at most
    assert documents.text("long") == "document 5"
