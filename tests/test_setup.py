"""`deploy/setup`: what each form's own reader reads, what is refused, and that nothing is overwritten."""

import os
import re
import secrets
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.deployment_check import production_environment
from tests.environment_files import as_a_shell_reads, as_compose_reads, as_kubernetes_reads, as_systemd_reads
from tests.own_databases import manage
from tests.project_copy import ROOT
from tests.warm_start import run

SETUP = ROOT / "deploy" / "setup"
HOSTILE = r"""O'Brien & "Söhne" \ #1 $HOME ${HOME} `id` 100% 日本"""
FOR_COMPOSE = r"""Söhne & "O'Brien" <x> \n \ #1 = 100% 日本""".replace(" #", "#")
ANSWERS = {
    "BASE_URL": "https://id.example",
    "OPERATOR_NAME": "Example Trust Ltd",
    "OPERATOR_PRIVACY_NOTICE": "https://operator.example/privacy",
    "OPERATOR_HELP": "help@operator.example",
    "EMAIL_URL": "smtp+tls://user:pass%24word@mail.example:587",
}
MADE = {
    "SECRET_KEY",
    "KEY_SEALING_KEYS",
    "DATABASE_URL",
    "DEFAULT_FROM_EMAIL",
    "TRUSTED_PROXY_COUNT",
    "ENVIRONMENT",
}
Setup = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """Runs it with a file of answers, in an empty environment, into the folder `made`."""

    def run(form: str, script: Path = SETUP, **answers: str) -> subprocess.CompletedProcess[str]:
        lines = [f"{name}={value}\n" for name, value in (ANSWERS | answers).items() if value]
        text = "\ufeff# as one writes them\n\n" + "".join(lines)  # Windows begins files so
        (tmp_path / "answers").write_text(text, encoding="utf-8", errors="surrogateescape")
        words = ["--for", form, "--answers", str(tmp_path / "answers"), "--into", str(tmp_path / "made")]
        return started(script, *words)

    return run


def started(script: Path, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(script), *words]
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"]}, input=typed, capture_output=True, text=True
    )


def test_systemd_and_a_shell_read_what_was_answered(setup: Setup, tmp_path: Path) -> None:
    done = setup("systemd", OPERATOR_NAME=HOSTILE, EMAIL_URL=r"smtp+tls://u:$p'a\"s@mail.example:587")

    read = as_systemd_reads(tmp_path / "made" / "environment")
    assert done.returncode == 0, done.stderr
    assert "The service accepts them." in done.stdout
    assert set(read) == {*ANSWERS, *MADE}
    assert (read["OPERATOR_NAME"], read["BASE_URL"]) == (HOSTILE, "https://id.example")
    assert read["EMAIL_URL"] == r"smtp+tls://u:$p'a\"s@mail.example:587"
    assert read["DEFAULT_FROM_EMAIL"] == "Wallet <no-reply@id.example>"
    assert read == as_a_shell_reads(tmp_path / "made" / "environment")


def test_compose_reads_what_was_answered(setup: Setup, tmp_path: Path) -> None:
    done = setup("compose", OPERATOR_NAME=FOR_COMPOSE)

    made = tmp_path / "made"
    read = as_compose_reads(made / "environment")
    assert done.returncode == 0, done.stderr
    assert set(read) == {*ANSWERS, *MADE} - {"KEY_SEALING_KEYS"}
    assert read["OPERATOR_NAME"] == FOR_COMPOSE
    password = (made / "database-password").read_text()
    assert read["DATABASE_URL"] == f"postgresql://presentation:{password}@database/presentation"
    assert len((made / "sealing-keys").read_text()) > 80
    if os.geteuid() == 0:
        assert (made / "sealing-keys").stat().st_uid == 10001


def test_kubernetes_reads_what_was_answered(setup: Setup, tmp_path: Path) -> None:
    done = setup("kubernetes", OPERATOR_NAME=HOSTILE, METRICS_TOKEN="metrics" * 6, LOG_LEVEL="INFO")

    files, variables = as_kubernetes_reads(tmp_path / "made" / "presentation.yaml")
    assert done.returncode == 0, done.stderr
    assert (variables["OPERATOR_NAME"], variables["LOG_LEVEL"]) == (HOSTILE, "INFO")
    assert set(files) == {"secret-key", "key-sealing-keys", "database-url", "email-url", "metrics-token"}
    assert variables["METRICS_TOKEN_FILE"] == "/run/secrets/presentation/metrics-token"
    assert not {name for name in variables if f"{name}_FILE" in variables}


def test_nobody_else_can_read_what_was_made(setup: Setup, tmp_path: Path) -> None:
    assert [setup(form).returncode for form in ("systemd", "kubernetes")] == [0, 1]

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "made").iterdir()}
    assert modes == dict.fromkeys(("environment", "nginx.conf", "database.sql"), 0o600)


@pytest.mark.parametrize("form", ["systemd", "compose", "kubernetes"])
def test_nothing_is_overwritten_and_no_secret_printed(setup: Setup, tmp_path: Path, form: str) -> None:
    done = setup(form)
    before = {path: path.read_text() for path in (tmp_path / "made").iterdir()}
    again = setup(form)

    assert again.returncode == 1
    assert "exists, and nothing is overwritten" in again.stderr
    assert {path: path.read_text() for path in (tmp_path / "made").iterdir()} == before
    made = re.findall(r"[\w-]{43,}", "".join(before.values()))
    assert len(made) >= 3
    assert not [each for each in made if each in done.stdout + done.stderr]


ONE_LINE = "OPERATOR_NAME must be one line of UTF-8, without control characters."


@pytest.mark.parametrize(
    ("form", "name", "value", "complaint"),
    [
        ("systemd", "OPERATOR_NAME", "", "OPERATOR_NAME must be a name of at most 100 characters, without"),
        ("systemd", "OPERATOR_NAME", "a\u2028b", ONE_LINE),
        ("systemd", "OPERATOR_NAME", "a\tb", ONE_LINE),
        ("systemd", "BASE_URL", "https://id.example/", "BASE_URL must be an origin such as"),
        ("systemd", "BASE_URL", "http://id.example", "BASE_URL must be an origin such as"),
        ("kubernetes", "OPERATOR_HELP", "Help@operator.example", "OPERATOR_HELP must be an e-mail address"),
        (
            "kubernetes",
            "OPERATOR_PRIVACY_NOTICE",
            "operator.example",
            "OPERATOR_PRIVACY_NOTICE must be an https",
        ),
        ("kubernetes", "EMAIL_URL", "smtp+tls://u:p w@mail.example:587", "EMAIL_URL must be an address"),
        ("kubernetes", "EMAIL_URL", "smtp://mail.example:587", "EMAIL_URL must be an address"),
        ("compose", "OPERATOR_NAME", "A$AP", "OPERATOR_NAME has a $, a # after a space"),
        ("compose", "OPERATOR_NAME", "We are # 1", "OPERATOR_NAME has a $, a # after a space"),
        ("compose", "OPERATOR_NAME", "'Us'", "OPERATOR_NAME has a $, a # after a space"),
        (
            "systemd",
            "OPERATOR_NAME",
            '"Example Ltd"',
            "OPERATOR_NAME must be a name of at most 100 characters",
        ),
        ("systemd", "OPERATOR_NAME", "S\udcf6hne", "OPERATOR_NAME must be one line of UTF-8"),
        ("systemd", "lower", "x", "Line 8 of "),
        ("systemd", "OPERATOR_NAMES", "x", "OPERATOR_NAMES on line 8 of "),
        ("kubernetes", "LOG_LEVEL_FILE", "/run/level", "LOG_LEVEL_FILE on line 8 of "),
        ("systemd", "ENVIRONMENT", "sandbox", "ENVIRONMENT must be production"),
        (
            "compose",
            "KEY_SEALING_KEYS_FILE",
            "/run/keys",
            "Nothing was written. KEY_SEALING_KEYS and KEY_SEALING_KEYS_FILE are both set",
        ),
        (
            "kubernetes",
            "DATABASE_URL_FILE",
            "/run/url",
            "Nothing was written. DATABASE_URL and DATABASE_URL_FILE are both set",
        ),
        # What only the settings know: refused after the answers were taken.
        ("systemd", "IDENTITY_VALIDITY_DAYS", "0", "Nothing was written. IDENTITY_VALIDITY_DAYS must be"),
        ("systemd", "BASE_URL", "https://192.0.2.1", "Nothing was written. DEFAULT_FROM_EMAIL must be"),
    ],
)
def test_what_is_refused_and_leaves_nothing(
    setup: Setup, tmp_path: Path, form: str, name: str, value: str, complaint: str
) -> None:
    done = setup(form, **{name: value})

    assert done.returncode == 1
    assert done.stderr.startswith(complaint), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "made").exists()


def test_it_asks_until_an_answer_can_be_right(tmp_path: Path) -> None:
    typed = ["wallet", *list(ANSWERS.values())]

    done = started(SETUP, "--for", "systemd", "--into", str(tmp_path / "made"), typed="\n".join(typed) + "\n")

    assert done.returncode == 0, done.stderr
    assert re.findall("^([A-Z_]+): ", done.stdout.replace(": BASE", ":\nBASE"), re.M)
    assert "BASE_URL must be an origin such as" in done.stdout
    read = (tmp_path / "made" / "environment").read_text()
    assert "BASE_URL=https://id.example\n" in read


def test_an_answer_that_never_comes(tmp_path: Path) -> None:
    done = started(SETUP, "--for", "systemd", "--into", str(tmp_path / "made"))

    assert (done.returncode, done.stderr) == (1, "\nNothing was written.\n")


def test_another_database_needs_no_role_of_ours(setup: Setup, tmp_path: Path) -> None:
    done = setup("kubernetes", DATABASE_URL="postgresql://u:p@db.example/name")

    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["presentation.yaml"]


def test_nginx_gets_the_address_and_in_containers_no_way_to_the_admin(setup: Setup, tmp_path: Path) -> None:
    assert setup("compose", BASE_URL="https://id.example:8443").returncode == 0

    conf = (tmp_path / "made" / "nginx.conf").read_text()
    assert "wallet.example" not in conf
    assert conf.count("server_name id.example;") == 2
    assert "return 301 https://id.example:8443$request_uri;" in conf
    assert "server first:8000 max_fails=0;" in conf
    assert "server second:8000 max_fails=0;" in conf
    admin = conf.partition("location /admin/ {")[2].partition("}")[0]
    assert re.findall(r"^ *(?:allow|deny) .*;", admin, re.M) == ["        deny all;"]
    assert "allow 127.0.0.1;" in conf.partition(admin)[2]  # of other places


@pytest.mark.postgresql
def test_the_role_and_the_database(setup: Setup, tmp_path: Path) -> None:
    assert setup("systemd").returncode == 0
    made, name = tmp_path / "made", f"own_{secrets.token_hex(6)}"
    role, database = (made / "database.sql").read_text().replace("presentation", name).splitlines()
    main = os.environ["DATABASE_URL"]
    url = urlsplit(as_a_shell_reads(made / "environment")["DATABASE_URL"].replace("presentation", name))
    new = make_conninfo(main, user=url.username, password=url.password, dbname=url.path[1:])
    with psycopg.connect(main, autocommit=True) as superuser:
        try:
            superuser.execute(role.encode())
            superuser.execute(database.encode())
            with psycopg.connect(new) as connection:
                connection.execute("CREATE SCHEMA of_the_owner")
                assert connection.info.encoding == "utf-8"
        finally:
            superuser.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            superuser.execute(f"DROP ROLE IF EXISTS {name}".encode())


def test_without_the_packages_the_start_checks(setup: Setup, tmp_path: Path) -> None:
    script = without_packages(tmp_path)

    done = setup("compose", script)

    assert done.returncode == 0, done.stderr
    assert "They are checked when the service starts" in done.stdout
    assert not list((tmp_path / "copy").rglob("*.pyc"))


@pytest.mark.parametrize("folder", ["config", "config/production", "deploy/away", "deploy/../keys/own"])
def test_no_secrets_are_written_into_a_folder_that_the_image_takes(tmp_path: Path, folder: str) -> None:
    script = without_packages(tmp_path)
    into = tmp_path / "copy" / folder

    done = started(script, "--for", "compose", "--into", str(into))

    assert done.returncode == 1
    assert "becomes part of the image" in done.stderr
    assert not (into / "sealing-keys").exists()


def without_packages(tmp_path: Path) -> Path:
    """A copy of the script on a machine that has the repository and none of the service's packages."""
    needed = ("deploy/setup", "deploy/nginx.conf", "config/origins.py", "infra/email_addresses.py")
    for name in (*needed, "infra/secret_texts.py", "docs/settings.md", ".containerignore"):
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_text((ROOT / name).read_text())
    return tmp_path / "copy" / "deploy" / "setup"


STRONG = "0123456789abcdefghijklmnopqrstuvwxyz" * 2
WEAK_SECRETS = [
    ("KEY_SEALING_KEYS", "short"),
    ("KEY_SEALING_KEYS", "s" * 31),
    ("KEY_SEALING_KEYS", "s" * 64),
    ("KEY_SEALING_KEYS", f"{STRONG},short"),
    ("KEY_SEALING_KEYS", f"{STRONG} # as above"),
    ("SECRET_KEY", STRONG[:49]),
    ("SECRET_KEY", "s" * 64),
    ("SECRET_KEY", f"django-insecure-{STRONG}"),
    ("SECRET_KEY_FALLBACKS", f"{STRONG},short"),
    ("METRICS_TOKEN", "short"),
    ("METRICS_TOKEN", "s" * 40),
    ("METRICS_TOKEN", f"{STRONG} {STRONG}"),
    ("PKCS11_PIN", "12#34"),
    ("DATABASE_URL", "postgresql://u:p w@db.example/name"),
]


@pytest.mark.parametrize(("name", "value"), WEAK_SECRETS)
def test_a_secret_that_the_service_refuses_is_refused_also_where_its_packages_are_missing(
    setup: Setup, tmp_path: Path, name: str, value: str
) -> None:
    done = setup("compose", without_packages(tmp_path), **{name: value})

    assert done.returncode == 1
    assert done.stderr.startswith(f"{name} "), done.stderr
    assert value not in done.stderr
    assert not (tmp_path / "made").exists()


# Settings with which the service may start, and with which it may not; the check says which.
SETTINGS: list[dict[str, str]] = [
    {},
    {"METRICS_TOKEN": STRONG, "SECRET_KEY_FALLBACKS": f"{STRONG},{STRONG[::-1]}"},
    {"KEY_SEALING_KEYS": f"{STRONG},{'s' * 32}"},
    {"AUDIT_FOLDER": "/audit", "AUDIT_KEY_FILE": "/audit.pem"},
    *[{name: value} for name, value in WEAK_SECRETS],
    {"KEY_SEALING_KEYS": f"{STRONG},{STRONG}"},
    {"KEY_SEALING_KEYS": STRONG[:32], "PKCS11_PIN": "1234"},
    {"PKCS11_MODULE": "/nowhere/module.so", "PKCS11_TOKEN": "wallet", "PKCS11_PIN": "1234"},
    {"SIGNING_KEY_STORE": "hardware"},
    {"SIGNING_KEY_STORE": "pkcs11"},
    {"SIGNING_KEY_DAYS": "2"},
    {"CERTIFICATE_SUBJECT": "Example Ltd"},
    {"CERTIFICATE_COMMAND": "/nowhere/command"},
    {"DATABASE_POOLER": "session", "DATABASE_URL": "postgresql://u@127.0.0.1:1/n?options=-c%20a%3Db"},
    {"DATABASE_URL": "postgresql://u@h1,h2:5432/name"},
    {"EMAIL_URL": "smtp+tls://:587"},
    {"EMAIL_URL": "smtp+tls://mail.example:port"},
    {"OPERATOR_PLACE": "p" * 101},
    {"OPERATOR_LOGO_FILE": "/nowhere.png"},
    {"IDENTITY_PROVIDERS_FILE": "/nowhere.toml"},
    {"OPERATOR_NAME_FILE": "/nowhere"},  # only secrets may be in files
    {"LIMITS": "pushes=5"},
]


@pytest.mark.parametrize("changed", SETTINGS, ids=lambda changed: "-".join(changed) or "none")
def test_it_accepts_what_the_service_starts_with_and_nothing_else(
    setup: Setup, tmp_path: Path, changed: dict[str, str]
) -> None:
    nobody_listens = {"DATABASE_URL": "postgresql://wallet@127.0.0.1:1/wallet"}
    environment = production_environment() | ANSWERS | nobody_listens | changed
    starts = manage(environment, "check", "--deploy", "--fail-level", "WARNING").returncode == 0
    del environment["PATH"]

    done = setup("systemd", **environment)

    assert (done.returncode == 0) is starts, done.stderr


@pytest.mark.parametrize("form", ["systemd", "compose", "kubernetes"])
def test_the_service_reads_the_same_secrets_that_were_answered(
    setup: Setup, tmp_path: Path, form: str
) -> None:
    """A list is written for the reader of its form: between commas, or one on each line of a file."""
    lists = {"KEY_SEALING_KEYS": f"{STRONG},{STRONG[::-1]}", "SECRET_KEY_FALLBACKS": f"{STRONG},{STRONG[1:]}"}
    assert setup(form, **lists).returncode == 0

    environment = as_the_service_gets_them(form, tmp_path / "made")
    code = "print(*settings.KEY_SEALING_KEYS, *settings.SECRET_KEY_FALLBACKS)"
    program = f"from django.conf import settings; {code}"
    shown = run({"DJANGO_SETTINGS_MODULE": "config.settings", **environment}, "-c", program)

    assert shown.stdout.split() == ",".join(lists.values()).split(","), shown.stderr


def as_the_service_gets_them(form: str, made: Path) -> dict[str, str]:
    """The variables of the service; files of a container are read where they were written here."""
    if form == "systemd":
        return as_a_shell_reads(made / "environment")
    if form == "compose":
        return as_compose_reads(made / "environment") | {"KEY_SEALING_KEYS_FILE": str(made / "sealing-keys")}
    files, variables = as_kubernetes_reads(made / "presentation.yaml")
    for name, content in files.items():
        (made / name).write_text(content)
    return {name: value.replace("/run/secrets/presentation", str(made)) for name, value in variables.items()}


@pytest.mark.parametrize("form", ["compose", "kubernetes"])
def test_a_file_of_the_container_need_not_be_on_this_machine(setup: Setup, form: str) -> None:
    hardware = {"PKCS11_MODULE": "/usr/lib/module.so", "PKCS11_TOKEN": "wallet", "PKCS11_PIN": "1234"}
    files = {"AUDIT_FOLDER": "/var/lib/audit", "AUDIT_KEY_FILE": "/run/secrets/audit.pem"}
    files |= {"IDENTITY_PROVIDERS_FILE": "/run/secrets/providers.toml", "CERTIFICATE_COMMAND": "/srv/command"}

    done = setup(form, **hardware, **files, SIGNING_KEY_STORE="pkcs11")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["systemd", "compose", "kubernetes"])
def test_the_next_commands_are_those_of_the_document(setup: Setup, tmp_path: Path, form: str) -> None:
    folders: dict[str, Any] = {"systemd": "/etc/presentation", "compose": "deploy/compose"}
    folder = folders.get(form, "deploy/kubernetes")
    printed = setup(form).stdout.replace(str(tmp_path / "made"), folder).splitlines()

    commands = printed[2:]
    document = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("operate", "kubernetes"))
    assert commands
    assert [line for line in commands if not line.startswith("sudo ") and f"# {line}\n" not in document] == []
