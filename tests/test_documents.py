"""The documents and comments name only files, names, commands and anchors that exist."""

import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.test import Client

from presentation.entrances.stages import AUTHORIZE
from presentation.models import RelyingParty, Scope
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.source_modules import modules

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "changelog/README.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
ARCHITECTURE = ROOT / "docs" / "architecture.md"
OF_SOURCES = "py|js|html|conf|template|yml"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
ABOUT = ["Context", "Decision", "Considered", "Consequences"]
TOP = {path.name for path in ROOT.iterdir()}
NOT_COMMITTED = (".venv", "var")  # made by `make`


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def paths_in(text: str) -> set[str]:
    """The words in code spans and commands that look like a path of the repository."""
    spans = re.findall(r"`([^`\n]+)`|^\$ (.+)$", text, re.M)
    words = {word for span in spans for word in " ".join(span).split()}
    found = {word.rstrip(".,:;") for word in words if re.fullmatch(r"[\w./-]+", word)}
    return {
        word
        for word in found
        if "/" in word.strip("/") and word.split("/")[0] in TOP - set(NOT_COMMITTED) or word in TOP
    }


def headings(path: Path) -> set[str]:
    """The anchors of a document, as GitHub makes them: the second of the same title ends with -1."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.M)
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    repeated = (anchors[:index].count(anchor) for index, anchor in enumerate(anchors))
    return {f"{anchor}-{times}" if times else anchor for anchor, times in zip(anchors, repeated, strict=True)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    assert {path for path in paths_in(document.read_text()) if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", document.read_text())
    for link in (one or other for one, other in links):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (document.parent / file).resolve() if file else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    named = set(re.findall(r"manage\.py ([a-z_]+)", document.read_text()))
    assert named - get_commands().keys() == set()


def pointers() -> list[str]:
    """The rows of the table in docs/architecture.md that says where to find what."""
    table = ARCHITECTURE.read_text().split("## Where is what")[1].split("\n## ")[0]
    return [row for row in table.splitlines() if row.startswith("| ")][1:]


def sources(row: str) -> str:
    """The text of all files that a row names, also of those in a folder that it names."""
    files = [ROOT / path for path in paths_in(row)]
    files = [each for file in files for each in ([file] if file.is_file() else sorted(file.rglob("*.py")))]
    return "\n".join(file.read_text() for file in files)


@pytest.mark.parametrize("row", pointers())
def test_every_name_that_the_architecture_points_to_is_in_the_file_that_it_points_to(row: str) -> None:
    text = sources(row)
    names = set(re.findall(r"`(\w+)`", row))

    assert text
    assert {name for name in names if not re.search(rf"\b{name}\b", text)} == set()


def test_every_name_in_the_architecture_is_in_the_source() -> None:
    folders = (
        "tests",
        "tools",
        *(layer.name for layer in ROOT.iterdir() if (layer / "__init__.py").exists()),
    )
    sources = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    words = {
        word for path in sources if path != Path(__file__) for word in re.findall(r"\w+", path.read_text())
    }

    assert set(re.findall(r"`(\w+)`", ARCHITECTURE.read_text())) - words == set()


@pytest.mark.parametrize("document", [ARCHITECTURE, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_every_file_that_a_guide_names_in_short_exists(document: Path) -> None:
    folders = [folder for folder in TOP - set(NOT_COMMITTED) if (ROOT / folder).is_dir()]
    paths = [f"/{name}" for name in TOP]
    paths += [f"/{name_of(path)}" for folder in folders for path in (ROOT / folder).rglob("*.*")]
    named = set(re.findall(rf"`([\w./-]+\.(?:{OF_SOURCES}))`", document.read_text()))

    assert {name for name in named if not any(path.endswith(f"/{name}") for path in paths)} == set()


def test_the_stages_of_an_authorization_request_are_those_of_the_architecture() -> None:
    table = ARCHITECTURE.read_text().split("| stage |")[1].split("\n\n")[0]
    first_cells = " ".join(row.split("|")[1] for row in table.splitlines()[2:])

    assert re.findall(r"`(\w+)`", first_cells) == [stage.__name__ for stage in AUTHORIZE]


def test_every_name_that_a_comment_points_to_is_in_the_module_that_it_points_to() -> None:
    """A comment or docstring names it as `module.name`."""
    within: dict[str, set[str]] = defaultdict(set)
    for dotted, path in modules():
        names = dotted.removesuffix(".__init__").split(".")
        within[names[-1]] |= set(re.findall(r"\w+", path.read_text()))
        for package, member in pairwise(names):
            within[package].add(member)
    named = {
        (dotted, module, name)
        for dotted, path in modules()
        for module, name in re.findall(r"`(\w+)\.(\w+)", path.read_text())
        if module in within
    }

    assert len(named) > 100
    assert {
        (dotted, f"{module}.{name}") for dotted, module, name in named if name not in within[module]
    } == set()


def test_the_pointers_that_newcomers_look_for_are_there() -> None:
    names = set(re.findall(r"`(\w+)`", "\n".join(pointers())))

    assert {"nonce", "AuthorizationError", "CLAIMS", "Scope", "TYPES"} <= names


def test_adding_a_scope_works_as_its_page_says(admin_client: Client, acme_bank: RelyingParty) -> None:
    page = (ROOT / "docs" / "add-a-scope.md").read_text()
    form: dict[str, Any] = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|$", page, re.M))

    admin_client.post("/admin/presentation/scope/add/", form)
    acme_bank.allowed_scopes = [*acme_bank.allowed_scopes, form["urn"]]
    acme_bank.full_clean()
    acme_bank.save()
    answer = Client().get(PATH, asked(acme_bank, scope=form["urn"]))

    record = Scope.objects.get(urn=form["urn"]).record
    assert (record.required, record.optional) == (("nationalities",), ("birth_date",))
    assert f"here `{record.query_id}`" in page
    assert answer.headers["Location"].endswith("/sign-in/")
    assert f"--scope {form['urn']}" in page


@pytest.mark.parametrize("record", DECISIONS, ids=name_of)
def test_every_decision_has_its_four_parts_and_fits_a_page(record: Path) -> None:
    text = record.read_text()
    number = int(record.name[:4])

    assert text.startswith(f"# {number}. ")
    assert re.findall(r"^## (.+)$", text, re.M) == ABOUT
    assert len(text.splitlines()) <= 60


def test_the_decisions_are_numbered_without_a_gap_and_listed() -> None:
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text()

    assert [int(record.name[:4]) for record in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    assert re.findall(r"\]\((\d{4}[\w-]+\.md)\)", listed) == [record.name for record in DECISIONS]
    for record in DECISIONS:
        title = record.read_text().splitlines()[0].split(". ", 1)[1]
        assert f"({record.name}) | {title} |" in listed


def test_every_document_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    documents = {path.name for path in (ROOT / "docs").glob("*.*")} - {"README.md"}

    assert {name for name in documents if f"({name})" not in index} == set()


def test_every_command_of_make_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {name for path in DOCUMENTS for name in re.findall(r"(?:`|\$ )make ([a-z-]+)", path.read_text())}

    assert {"sandbox", "test"} <= named
    assert named - targets == set()


def test_every_path_that_has_a_reviewer_exists() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    paths = {line.split()[0] for line in lines if line and not line.startswith("#")} - {"*"}

    assert {path for path in paths if not (ROOT / path.strip("/")).exists()} == set()
