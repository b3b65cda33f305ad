"""The house: floors hold, rooms have nouns, sandbox code stays there, and nothing stray is committed."""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.deployment_check import production_environment

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ["infra", "keys", "wallet", "consent", "presentation", "sandbox", "config"]  # from the ground up
EDGES = {"views", "endpoints", "admin", "urls", "forms"}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of ours with its dotted name, migrations left out."""
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            if "migrations" not in path.parts:
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts), path


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in the file the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def runtime_imports(path: Path) -> Iterator[str]:
    """The packages a file imports when it runs: what stands under TYPE_CHECKING is for mypy only."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


IMPORTED_AS = {
    "django-environ": "environ",
    "djangorestframework": "rest_framework",
    "markdown-it-py": "markdown_it",
    "python-pkcs11": "pkcs11",
    "pyyaml": "yaml",
}
# Optional extras: the modules, or packages, that may import what the file asks for. Nothing else may.
EXTRAS = {
    "hsm.in": ("keys.private_keys.hardware_module",),
    "sandbox.in": ("sandbox",),
}


def required_by(file: str) -> set[str]:
    """The packages a requirements file asks for, as they are imported."""
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    names = {re.split(r"[\[<>=]", line)[0] for line in lines if line and line[0] not in "#-"}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def within(name: str, packages: Collection[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_only_what_production_installs_is_imported() -> None:
    installed = required_by("production.in") | set(sys.stdlib_module_names) | set(FLOORS)
    strays = {
        f"{name} imports {package}"
        for name, path in modules()
        for package in set(runtime_imports(path)) - installed
        if not any(package in required_by(file) and within(name, may) for file, may in EXTRAS.items())
    }
    assert strays == set()


@pytest.mark.parametrize(
    ("environment", "files"), [("production", ["hsm.in", "sandbox.in"]), ("sandbox", ["hsm.in"])]
)
def test_the_service_runs_without_the_optional_extras(
    environment: str, files: list[str], tmp_path: Path
) -> None:
    """Every module is imported with the packages of the extras out of reach, the extras' own left out."""
    kept_from = sorted(package for file in files for package in required_by(file))
    apart = [package for file in files for package in EXTRAS[file]]
    ours = [name.removesuffix(".__init__") for name, _ in modules() if not within(name, apart)]
    script = f"""
import sys, django, importlib
sys.modules.update(dict.fromkeys({kept_from}))
django.setup()
for name in {ours}:
    importlib.import_module(name)
assert not [name for name in sys.modules if name.startswith({tuple(apart)})]
"""
    variables = {"DJANGO_SETTINGS_MODULE": "config.settings", "STATE_DIRECTORY": str(tmp_path)}
    variables |= production_environment() if environment == "production" else {"ENVIRONMENT": "sandbox"}
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=variables, check=True)


def test_there_are_modules_to_read() -> None:
    assert len(list(modules())) > 40


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_only_go_down(floor: str) -> None:
    above = FLOORS[FLOORS.index(floor) + 1 :]
    upwards = [
        f"{name} imports {imported}"
        for name, path in modules()
        if name.split(".")[0] == floor
        for imported in imports(path)
        if imported.split(".")[0] in above
    ]
    assert upwards == []


def test_foreign_keys_only_go_down() -> None:
    from django.apps import apps

    upwards = []
    for model in apps.get_models():
        floor = model.__module__.split(".")[0]
        for field in model._meta.get_fields():
            target = getattr(field, "related_model", None)
            if floor in FLOORS and target and getattr(field, "concrete", False):
                other = target.__module__.split(".")[0]
                if other in FLOORS and FLOORS.index(other) > FLOORS.index(floor):
                    upwards.append(f"{model.__name__}.{field.name}")
    assert upwards == []


def test_nothing_below_imports_views_endpoints_or_admin() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules()
        if name.split(".")[0] != "config" and not EDGES & set(name.split("."))
        for imported in imports(path)
        if imported.split(".")[0] in FLOORS and EDGES - {"forms"} & set(imported.split("."))
    ]
    assert wrong == []


def test_nothing_outside_imports_the_sandbox() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules()
        if not name.startswith("sandbox.")
        for imported in imports(path)
        if imported.split(".")[0] == "sandbox"
    ]
    assert wrong == []


def users() -> dict[str, set[str]]:
    """The modules of `infra`, and which modules of ours import each."""
    found: dict[str, set[str]] = {name: set() for name, path in modules() if path.name != "__init__.py"}
    for name, path in modules():
        for imported in set(imports(path)) & found.keys() - {name}:
            found[imported].add(name)
    return {name: by for name, by in found.items() if name.startswith("infra.")}


def serves(module: str, used_by: dict[str, set[str]]) -> set[str]:
    """The apps that import a module of `infra`, directly or through others of its modules."""
    found, reached, waiting = set(), {module}, [module]
    while waiting:
        by = used_by[waiting.pop()]
        found |= {name.split(".")[0] for name in by} - {"infra"}
        found |= set(FLOORS) if "infra.apps" in by else set()  # what it registers serves every app
        waiting += [name for name in by & used_by.keys() if name not in reached]
        reached |= by
    return found


# Django finds these by where they are; they serve every app.
OF_DJANGO = {"infra.apps", "infra.models", "infra.management.commands.migrate"}
# Calls to outside parties know nothing of the product. So far only relying applications are left alone for
# as long as they ask.
FOR_EVERY_CALL = {"infra.outbound.retry_after"}


def test_what_is_in_infra_serves_two_apps() -> None:
    used_by = users()

    for_one_app = {
        name: sorted(apps)
        for name in used_by.keys() - OF_DJANGO - FOR_EVERY_CALL
        if len(apps := serves(name, used_by)) < 2
    }

    assert for_one_app == {}
    assert [
        name for name in FOR_EVERY_CALL if len(serves(name, used_by)) > 1
    ] == []  # then it is no exception


def test_only_settings_ask_which_environment_it_is() -> None:
    words = ('"ENVIRONMENT"', "'ENVIRONMENT'", "settings.ENVIRONMENT ", "settings.DEBUG", "DATABASE_MARK")
    # The latter compares, and decides nothing else by it.
    may = {"config.settings", "infra.database.database_mark"}
    wrong = [
        name
        for name, path in modules()
        if name not in may and any(word in path.read_text() for word in words)
    ]
    assert wrong == []


def test_no_room_without_a_noun() -> None:
    forbidden = {"utils", "util", "helpers", "common", "services", "managers", "mixins", "base"}
    assert [name for name, _ in modules() if name.split(".")[-1] in forbidden] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        name
        for name, path in modules()
        if path.name not in ("__init__.py", "apps.py") and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_no_page_has_inline_style_or_script() -> None:
    for path in [*(ROOT / "templates").rglob("*.html")]:
        text = path.read_text()
        if "mail" in path.name:
            continue  # a letter is not a page: no CSP, and mail readers know no style sheets
        assert " style=" not in text, path
        assert "<style" not in text, path
        assert " onclick=" not in text, path
        for tag in text.split("<script")[1:]:
            assert " src=" in tag.split(">")[0] or "application/json" in tag.split(">")[0], path


GETTEXT = {"_", "_t", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
STRAIGHT = re.compile(r"[a-z]'[a-z ]")


def test_texts_for_people_have_curly_apostrophes() -> None:
    """Both kinds on one page look like a mistake."""
    in_code = [
        (name, text.value)
        for name, path in modules()
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in GETTEXT
        for text in call.args
        if isinstance(text, ast.Constant) and STRAIGHT.search(str(text.value))
    ]
    translated = re.compile(r'{% translate "([^"]*)"|{% blocktranslate[^%]*%}(.*?){% endblocktranslate', re.S)
    in_pages = [
        (str(path), found[0])
        for path in (ROOT / "templates").rglob("*.html")
        for found in translated.finditer(path.read_text())
        if STRAIGHT.search(found[1] or found[2] or "")
    ]
    assert in_code + in_pages == []


def test_lock_files_carry_no_address() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [f for f in tracked.stdout.split() if f.endswith((".txt", "lock.json")) and "docs" not in f]
    assert len(names) >= 3
    for name in names:
        text = (ROOT / name).read_text()
        assert '"resolved"' not in text, name
        assert "index-url" not in text, name
        assert "find-links" not in text, name


def test_no_merge_was_left_half_done() -> None:
    """A lock file with both sides in it installs nothing, and only a new machine notices."""
    found = subprocess.run(["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == ""


def test_log_events_have_one_style() -> None:
    """Such as `answer_not_delivered`, so that an operator can search for them and count them."""
    said = re.compile(r"\blog\.(?:debug|info|warning|error|exception)\(\s*\"([^\"]*)\"")
    events = {(name, event) for name, path in modules() for event in said.findall(path.read_text())}

    assert len(events) > 40
    assert {
        f"{name}: {event}" for name, event in events if not re.fullmatch("[a-z]+(_[a-z]+)*", event)
    } == set()
