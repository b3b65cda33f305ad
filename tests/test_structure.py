"""How the code is laid out: layers, names, imported packages, texts, and what may be committed."""

import ast
import os
import pkgutil
import re
import subprocess
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator
from inspect import ismethod, unwrap
from pathlib import Path

import pytest
from django import urls
from django.views.decorators.cache import never_cache

from infra.published.documents import PublishedDocument
from infra.published.families import PublishedFamily
from presentation import error_pages
from tests.deployment_check import production_environment
from tests.source_modules import LAYERS, ROOT, imports, modules

# The packages and modules right inside the largest apps, lowest first; those that Django, or an app below,
# finds by their names stand last.
PARTS = {
    "wallet": [
        *("models", "sd_jwt", "status_lists", "credential", "deadlines", "redirect_tasks", "emails"),
        *("providers", "sign_in", "identity", "account", "passkeys", "operations"),
        *("templatetags", "checks", "apps", "key_usage", "metrics", "diagnosis"),
        *("personal_data", "retention", "admin", "management", "urls"),
    ],
    "presentation": [
        *("errors", "machine_errors", "issuer", "parameters", "dcql", "transaction_data", "scopes"),
        *("openid_connect", "relying_parties", "encryption", "metadata", "webhooks", "requests"),
        *("error_pages", "evidence", "verification", "outcomes", "statistics", "share_emails", "entrances"),
        *("apps", "key_usage", "personal_data", "retention", "jobs", "metrics"),
        *("diagnosis", "admin", "management", "endpoints", "views"),
    ],
}
EDGES = {"views", "endpoints", "entrances", "admin", "urls", "forms", "operators"}


def migrations() -> Iterator[tuple[str, Path]]:
    """The dotted name and the path of every migration of the service."""
    for path in sorted(ROOT.glob("*/migrations/*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), path


def runtime_imports(path: Path) -> Iterator[str]:
    """The packages that a file imports when it runs. Imports under TYPE_CHECKING are for mypy only."""
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
    "pillow": "PIL",
    "python-pkcs11": "pkcs11",
    "pyyaml": "yaml",
}
# Optional requirements: only these modules and packages may import what the file lists.
OPTIONAL = {
    "hsm.in": ("keys.private_keys.hardware_module",),
    "sandbox.in": ("sandbox",),
}


def required_by(file: str) -> set[str]:
    """The packages that a requirements file lists, by the names that they are imported as."""
    lines = (ROOT / "requirements" / file).read_text().splitlines()
    names = {re.split(r"[\[<>=]", line)[0] for line in lines if line and line[0] not in "#-"}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def within(name: str, packages: Collection[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_only_what_production_installs_is_imported() -> None:
    installed = required_by("production.in") | set(sys.stdlib_module_names) | set(LAYERS)
    others = {
        f"{name} imports {package}"
        for name, path in modules()
        for package in set(runtime_imports(path)) - installed
        if not any(package in required_by(file) and within(name, may) for file, may in OPTIONAL.items())
    }
    assert others == set()


@pytest.mark.parametrize(
    ("environment", "files"), [("production", ["hsm.in", "sandbox.in"]), ("sandbox", ["hsm.in"])]
)
def test_the_service_runs_without_the_optional_requirements(
    environment: str, files: list[str], tmp_path: Path
) -> None:
    """Imports every module but those for the optional packages, while these cannot be imported."""
    missing = sorted(package for file in files for package in required_by(file))
    optional = [package for file in files for package in OPTIONAL[file]]
    ours = [name.removesuffix(".__init__") for name, _ in modules() if not within(name, optional)]
    script = f"""
import sys, django, importlib
sys.modules.update(dict.fromkeys({missing}))
django.setup()
for name in {ours}:
    importlib.import_module(name)
assert not [name for name in sys.modules if name.startswith({tuple(optional)})]
"""
    variables = {"DJANGO_SETTINGS_MODULE": "config.settings", "STATE_DIRECTORY": str(tmp_path)}
    variables |= production_environment() if environment == "production" else {"ENVIRONMENT": "sandbox"}
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=variables, check=True)


def test_there_are_modules_to_read() -> None:
    assert len(list(modules())) > 40


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_only_go_down(layer: str) -> None:
    above = LAYERS[LAYERS.index(layer) + 1 :]
    upwards = [
        f"{name} imports {imported}"
        for name, path in modules()
        if name.split(".")[0] == layer
        for imported in imports(path)
        if imported.split(".")[0] in above
    ]
    assert upwards == []


def defined_in(app: str) -> dict[str, str]:
    """For each name that `models` of the app imports for Django, the name in the module that defines it."""
    return {
        f"{app}.models.{name.rsplit('.')[-1]}": name for name in imports(ROOT / app / "models/__init__.py")
    }


@pytest.mark.parametrize("app", PARTS)
def test_imports_inside_an_app_only_go_down(app: str) -> None:
    models, upwards = defined_in(app), []
    inside = [(name, path) for name, path in modules() if name.startswith(f"{app}.")]
    inside = [
        (name, path) for name, path in inside if not name.endswith(("models.__init__", f"{app}.__init__"))
    ]
    assert {name.split(".")[1] for name, _ in inside} == set(PARTS[app])
    for name, path in inside:
        allowed = PARTS[app][: PARTS[app].index(name.split(".")[1]) + 1]
        for imported in (models.get(each, each) for each in imports(path)):
            other = imported.split(".")
            if other[0] == app and other[1:] and other != [app, "models"] and other[1] not in allowed:
                upwards.append(f"{name} imports {imported}")
    assert upwards == []


def test_foreign_keys_only_go_down() -> None:
    from django.apps import apps

    upwards = []
    for model in apps.get_models():
        layer = model.__module__.split(".")[0]
        for field in model._meta.get_fields():
            target = getattr(field, "related_model", None)
            if layer in LAYERS and target and getattr(field, "concrete", False):
                other = target.__module__.split(".")[0]
                if other in LAYERS and LAYERS.index(other) > LAYERS.index(layer):
                    upwards.append(f"{model.__name__}.{field.name}")
    assert upwards == []


def test_only_config_and_the_edges_of_an_app_import_its_views_endpoints_and_admin() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules()
        if name.split(".")[0] != "config" and not EDGES & set(name.split("."))
        for imported in imports(path)
        if imported.split(".")[0] in LAYERS and EDGES - {"forms", "entrances"} & set(imported.split("."))
    ]
    assert wrong == []


def misplaced_views(patterns: Iterable[urls.URLPattern | urls.URLResolver]) -> list[str]:
    """The views of the service outside modules for views, by address, without the methods of the admin."""
    misplaced = []
    for pattern in patterns:
        if isinstance(pattern, urls.URLResolver):
            misplaced += misplaced_views(pattern.url_patterns)
            continue
        view = getattr(pattern.callback, "view_class", pattern.callback)
        if isinstance(view, PublishedDocument | PublishedFamily) or ismethod(unwrap(pattern.callback)):
            continue
        module = view.__module__.split(".")
        if module[0] in LAYERS and not {"views", "endpoints"} & set(module):
            misplaced.append(f"{pattern.pattern}: {view.__module__}.{view.__qualname__}")
    return misplaced


def test_every_address_leads_to_a_module_for_views_or_endpoints() -> None:
    """A published document is no view: it has no code that answers one request."""
    assert misplaced_views(urls.get_resolver().url_patterns) == []


def test_a_view_in_another_module_is_found() -> None:
    inside = urls.include([urls.path("refused/", never_cache(error_pages.refused))])
    found = misplaced_views([urls.path("gone/", error_pages.gone), urls.path("inside/", inside)])
    assert found == ["gone/: presentation.error_pages.gone", "refused/: presentation.error_pages.refused"]


def test_the_flow_asks_for_no_wire_format_but_in_one_place() -> None:
    """Which format a registration has is decided by `wire_formats`, and not again on the way."""
    asks = re.compile(r"\bOPENID_CONNECT\b|\bWireFormat\.[A-Z]|party\.wire_format\b|request\.openid\b")
    wrong = [
        name
        for name, path in modules()
        if name.startswith(("presentation.requests.", "presentation.entrances."))
        and not name.startswith("presentation.requests.wire_formats.")
        and asks.search(path.read_text())
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
    """For each module of `infra`, the modules and migrations that import it."""
    found: dict[str, set[str]] = {name: set() for name, path in modules() if path.name != "__init__.py"}
    for name, path in [*modules(), *migrations()]:
        for imported in set(imports(path)) & found.keys() - {name}:
            found[imported].add(name)
    return {name: by for name, by in found.items() if name.startswith("infra.")}


def serves(module: str, used_by: dict[str, set[str]]) -> set[str]:
    """The apps that import a module of `infra`, directly or through others of its modules."""
    found, reached, waiting = set(), {module}, [module]
    while waiting:
        by = used_by[waiting.pop()]
        found |= {name.split(".")[0] for name in by} - {"infra"}
        found |= set(LAYERS) if "infra.apps" in by else set()  # it registers things for every app
        waiting += [name for name in by & used_by.keys() if name not in reached]
        reached |= by
    return found


# Django, or the doctor, loads these by their place. They serve every app.
OF_DJANGO = {
    "infra.admin.audit_record",
    "infra.admin.emails",
    "infra.apps",
    "infra.database.postgresql.base",  # loaded by ENGINE, whose package must have a module of this name
    "infra.database.postgresql.driver",
    "infra.database.diagnosis",  # a part of the next one
    "infra.diagnosis",
    "infra.models",
    "infra.management.commands.accept_audit_gap",
    "infra.management.commands.changepassword",
    "infra.management.commands.createsuperuser",
    "infra.management.commands.doctor",
    "infra.management.commands.export_audit_record",
    "infra.management.commands.migrate",
    "infra.management.commands.record_backup",
    "infra.management.commands.reset_second_factor",
    "infra.management.commands.sendtestemail",
    "infra.management.commands.sign_audit_record",
    "infra.management.commands.verify_audit_record",
    "infra.templatetags.moments",
}
# Calls to outside parties know nothing of the product. So far only relying applications are left alone for
# as long as they ask.
FOR_EVERY_CALL = {"infra.outbound.retry_after"}
# `config` collects the metrics of every app, and no other app needs these.
MEASURED = {"infra.mail.metrics"}
# What operators of every app do is recorded. Only commands verify and sign the record.
FOR_THE_RECORD = {"infra.audit.gaps", "infra.audit.heads", "infra.audit.verification"}


def test_what_is_in_infra_serves_two_apps() -> None:
    used_by = users()

    for_one_app = {
        name: sorted(apps)
        for name in used_by.keys() - OF_DJANGO - FOR_EVERY_CALL - MEASURED - FOR_THE_RECORD
        if len(apps := serves(name, used_by)) < 2
    }

    assert for_one_app == {}
    no_longer_exceptions = [
        name for name in FOR_EVERY_CALL | FOR_THE_RECORD if len(serves(name, used_by)) > 1
    ]
    assert no_longer_exceptions == []


def test_nothing_is_imported_from_a_test_module() -> None:
    """What tests share stands in modules that are no tests, and fixtures in the nearest conftest.py."""
    files = [path for folder in ("tests", "clients/tests", "tools") for path in (ROOT / folder).rglob("*.py")]
    from_tests = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        if "node_modules" not in path.parts
        for name in imports(path)
        if (ROOT / name.replace(".", "/")).with_suffix(".py").exists() and is_test_module(name)
    }
    assert len(files) > 300
    assert from_tests == set()


def is_test_module(name: str) -> bool:
    return name.rpartition(".")[2].startswith("test_")


def test_only_settings_ask_which_environment_it_is() -> None:
    words = ('"ENVIRONMENT"', "'ENVIRONMENT'", "settings.ENVIRONMENT ", "settings.DEBUG", "DATABASE_MARK")
    # `database_mark` compares the value with the database and decides nothing else by it.
    may = {"config.settings", "infra.database.database_mark"}
    wrong = [
        name
        for name, path in modules()
        if name not in may and any(word in path.read_text() for word in words)
    ]
    assert wrong == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    forbidden = {"utils", "util", "helpers", "common", "services", "managers", "mixins", "base"}
    named_by_django = "infra.database.postgresql.base"
    wrong = [name for name, _ in modules() if name.split(".")[-1] in forbidden]
    assert wrong == [named_by_django]


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        name
        for name, path in modules()
        if path.name not in ("__init__.py", "apps.py") and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


INLINE = re.compile(
    r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)(?![^>]*application/json)", re.IGNORECASE
)


def test_no_template_has_inline_style_or_script() -> None:
    """The Content-Security-Policy of every page forbids both, so a browser would ignore them.

    E-mails have no such policy, and cannot fetch a style sheet.
    """
    apart = {".venv", "var", "emails"}
    templates = [path for path in ROOT.rglob("templates/**/*.html") if not apart & set(path.parts)]

    assert len(templates) > 50
    assert [str(path) for path in templates if INLINE.search(path.read_text())] == []


GETTEXT = {"_", "_t", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
STRAIGHT = re.compile(r"[a-z]'[a-z ]")


def test_texts_for_people_have_curly_apostrophes() -> None:
    """A page that mixes straight and curly apostrophes looks careless."""
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


@pytest.mark.parametrize(("folder", "series"), [("requirements", "5.2"), ("requirements/django-6.1", "6.1")])
@pytest.mark.parametrize("name", ["production", "development"])
def test_each_folder_of_lock_files_is_for_one_release_of_django(folder: str, series: str, name: str) -> None:
    """`make lock` gets there by a version of Python, and so would anything else with another Django."""
    pinned = re.findall(r"^django==(\d+\.\d+)", (ROOT / folder / f"{name}.txt").read_text(), re.MULTILINE)

    assert pinned == [series]


def test_no_file_contains_conflict_markers() -> None:
    """A lock file with conflict markers fails only where the packages are not installed yet."""
    found = subprocess.run(["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == ""


def test_log_events_have_one_style() -> None:
    """Such as `answer_not_delivered`, so that an operator can search for them and count them."""
    logged = re.compile(r"\blog\.(?:debug|info|warning|error|exception)\(\s*\"([^\"]*)\"")
    events = {(name, event) for name, path in modules() for event in logged.findall(path.read_text())}

    assert len(events) > 40
    assert {
        f"{name}: {event}" for name, event in events if not re.fullmatch("[a-z]+(_[a-z]+)*", event)
    } == set()


@pytest.mark.parametrize("module", re.findall(r"-m (tests\.\w+)", (ROOT / "Makefile").read_text()))
def test_every_command_of_the_makefile_starts_without_settings(module: str) -> None:
    """What pytest sets up is not there when a command starts."""
    entry = module if (ROOT / f"{module.replace('.', '/')}.py").is_file() else f"{module}.__main__"
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    found = subprocess.run(
        [sys.executable, "-c", f"import {entry}"], cwd=ROOT, env=clean, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


# `_meta` and `_state` of models are documented by Django, the names of named tuples by Python.
DOCUMENTED = {"_meta", "_state", "_default_manager", "_base_manager", "_replace", "_asdict", "_fields"}


def own_names() -> set[str]:
    """The names that the project defines, those of related objects and annotations of rows included."""
    found: set[str] = set()
    for _name, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.Name(id=name, ctx=ast.Store())
                    | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store())
                    | ast.keyword(arg="related_name", value=ast.Constant(value=name))
                ):
                    found.add(str(name))
                case ast.Call(func=ast.Attribute(attr="annotate"), keywords=keywords):
                    found |= {each.arg for each in keywords if each.arg}
    return found


def by_name(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The objects from which attributes are taken by a name that is written out, and these names."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
                args=[value, ast.Constant(name), *_],
            ):
                yield ast.unparse(value), str(name)


def private_names_used(tree: ast.AST) -> Iterator[str]:
    """Names that begin with an underscore, taken from objects or modules, or by their text."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=name) if not _is_own(value):
                yield name
            case ast.ImportFrom(names=names):
                yield from (each.name for each in names)
    yield from (name for _object, name in by_name(tree))


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def test_nothing_private_of_anybody_else_is_used() -> None:
    allowed = own_names() | DOCUMENTED
    wrong = [
        f"{module}: {name}"
        for module, path in modules()
        for name in private_names_used(ast.parse(path.read_text()))
        if name.startswith("_") and not name.endswith("__") and name not in allowed
    ]
    assert wrong == []


def foreign_bases(tree: ast.AST) -> Iterator[tuple[ast.ClassDef, type]]:
    """The classes of a module, each with a class of a library that it derives from."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                origins |= {each.asname or each.name: each.name for each in names}
            case ast.ImportFrom(module=str(module), names=names):
                origins |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
    for node in ast.walk(tree):
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            name, dot, attribute = ast.unparse(base).partition("[")[0].partition(".")
            if name in origins and origins[name].split(".")[0] not in LAYERS:
                yield node, pkgutil.resolve_name(f"{origins[name]}{dot}{attribute}")


def test_nothing_private_of_anybody_else_is_replaced() -> None:
    """A class of ours has no private name that its base in a library has as well."""
    looked_at, wrong = 0, []
    for module, path in modules():
        for node, base in foreign_bases(ast.parse(path.read_text())):
            looked_at += 1
            own = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
            private = [name for name in own if name.startswith("_") and not name.endswith("__")]
            wrong += [f"{module}: {node.name}.{name}" for name in private if hasattr(base, name)]
    assert looked_at > 100
    assert wrong == []


# Settings of libraries that their documents tell to set so.
LIBRARY_SETTINGS = {
    "Image.MAX_IMAGE_PIXELS",
    "jwa.default_max_pbkdf2_iterations",
    "stripe.enable_telemetry",
}


def test_nothing_is_set_on_the_modules_or_classes_of_anybody_else() -> None:
    """Whatever a module imports from elsewhere stays as it is."""
    wrong = []
    for module, path in modules():
        tree = ast.parse(path.read_text())
        foreign = set(_imported_from_elsewhere(tree))
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store(), attr=attribute):
                    if name in foreign and f"{name}.{attribute}" not in LIBRARY_SETTINGS:
                        wrong.append(f"{module}: {name}.{attribute}")
    assert wrong == []


def test_no_object_is_given_a_method_or_a_class() -> None:
    """Whoever wants another behaviour of an object of a library derives from its class."""
    wrong = []
    for module, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                match target:
                    case ast.Attribute(value=ast.Name(id="self" | "cls")):
                        pass
                    case ast.Attribute(attr=name):
                        if name == "__class__" or isinstance(node.value, ast.Lambda):
                            wrong.append(f"{module}: {ast.unparse(target)}")
    assert wrong == []


def _imported_from_elsewhere(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.asname or each.name.split(".")[0] for each in names)
            case ast.ImportFrom(module=str(origin), names=names) if origin.split(".")[0] not in LAYERS:
                yield from (each.asname or each.name for each in names)


def everything_but_tests() -> Iterator[Path]:
    """Every Python file of the repository that is no test."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    yield from (ROOT / name for name in listed.stdout.splitlines() if "tests" not in name.split("/"))


# Why the types are wrong there. A cast with its reason, or an assertion, is better.
TYPES_IGNORED = {
    "presentation/entrances/going_on.py: arg-type": "a consent page has a question",
}


def test_no_type_is_ignored() -> None:
    """Such a comment hides attributes that the objects of libraries do not have."""
    found = set()
    for path in everything_but_tests():
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT and "type: ignore" in token.string:
                    code = re.search(r"\[(.*)\]", token.string)
                    found.add(f"{path.relative_to(ROOT)}: {code[1] if code else 'everything'}")
    assert found == TYPES_IGNORED.keys()


# Django documents the handlers and has setters for the rest; the sandbox's holder calls views as Django does.
SET_ON_REQUESTS = {
    "infra.served: method",
    "infra.served: path",
    "sandbox.holder.inner_browser: resolver_match",
    "wallet.identity.views.upload: POST",
    "wallet.identity.views.upload: upload_handlers",
}
REQUESTS = {"request", "self.request", "self.as_received"}


def test_what_is_noted_on_a_request_is_declared_and_read_in_one_module() -> None:
    """That module has a class for it, as `infra.served`, and a function for others who read it."""
    set_on_requests, read_elsewhere = set(), set()
    for module, path in modules():
        tree = ast.parse(path.read_text())
        declares = False
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef(bases=bases) if "HttpRequest" in map(ast.unparse, bases):
                    declares = True
                case ast.Attribute(value=value, ctx=ast.Store(), attr=name) if ast.unparse(value) in REQUESTS:
                    set_on_requests.add(f"{module}: {name}")
        if not declares:
            read_elsewhere |= {f"{module}: {name}" for value, name in by_name(tree) if value in REQUESTS}
    assert set_on_requests == SET_ON_REQUESTS
    assert read_elsewhere == set()


# Objects of libraries that have these only sometimes, as their documentation says.
READ_BY_NAME = {
    "__qualname__",  # functions have it, other callables have not
    "error_dict",  # a ValidationError of several fields
    "n_frames",  # pictures in formats that can move
    "sqlite_errorcode",  # errors that come from SQLite itself
}


def test_no_attribute_of_a_library_is_taken_by_its_name() -> None:
    """The types do not see such a name. Names of our own are for rows and modules that may lack them."""
    own = own_names()
    found = {name for _module, path in modules() for _object, name in by_name(ast.parse(path.read_text()))}
    assert found - own == READ_BY_NAME
