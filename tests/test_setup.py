"""`deploy/setup`: what each form's own reader reads, what is refused, and that nothing is overwritten."""

import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import yaml
from psycopg.conninfo import make_conninfo

from tests.deployment_check import production_environment
from tests.environment_files import as_a_shell_reads, as_compose_reads, as_kubernetes_reads, as_systemd_reads
from tests.own_databases import manage
from tests.processes import INTERRUPTIBLE
from tests.programs import nginx
from tests.project_copy import ROOT
from tests.setup_program import ANSWERS, SETUP, Setup, started
from tests.warm_start import run

HOSTILE = r"""O'Brien & "Söhne" \ #1 $HOME ${HOME} `id` 100% 日本"""
FOR_COMPOSE = r"""Söhne & "O'Brien" <x> \n \ #1 = 100% 日本""".replace(" #", "#")
MADE = {
    "SECRET_KEY",
    "KEY_SEALING_KEYS",
    "DATABASE_URL",
    "DEFAULT_FROM_EMAIL",
    "TRUSTED_PROXY_COUNT",
    "ENVIRONMENT",
}
FILES = {
    "systemd": ("environment", "nginx.conf", "database.sql"),
    "compose": ("environment", "nginx.conf", "database-password", "sealing-keys"),
    "kubernetes": ("presentation.yaml", "database.sql"),
}


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
    there = ", ".join(path.name for path in sorted(before, key=lambda path: again.stderr.index(path.name)))
    assert again.stderr.startswith(f"{tmp_path / 'made'} has {there}, and nothing is overwritten")
    assert "It lacks" not in again.stderr
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
        (
            "systemd",
            "WEB_CONCURRENCY",
            "banana",
            "Nothing was written. WEB_CONCURRENCY must be a whole number",
        ),
        ("compose", "WEB_THREADS", "1", "Nothing was written. WEB_THREADS must be a whole number from 4"),
        # No mailbox can be at these hosts, so the sender cannot be made from them.
        ("systemd", "BASE_URL", "https://192.0.2.1", "DEFAULT_FROM_EMAIL must be a sender such as"),
        ("kubernetes", "BASE_URL", "https://[2001:db8::1]", "DEFAULT_FROM_EMAIL must be a sender such as"),
        ("compose", "BASE_URL", "https://intranet", "DEFAULT_FROM_EMAIL must be a sender such as"),
        # Something else of the service listens on these ports.
        ("kubernetes", "BASE_URL", "https://id.example:80", "BASE_URL must have another port than 80"),
        ("systemd", "BASE_URL", "https://id.example:8001", "BASE_URL must have another port than 8001"),
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


# With hosts that contain the one of the shipped example, or are called like a part of the service.
ADDRESSES = [
    *(
        "https://id.example",
        "https://id.example:8443",
        "https://wallet.example",
        "https://wallet.example:9443",
    ),
    *("https://wallet.example.org", "https://my.wallet.example", "https://wallet.example.wallet.example:444"),
    *(
        "https://xn--mnchen-3ya.example",
        "https://xn--mnchen-3ya.example:8443",
        "https://intranet",
        "https://first",
    ),
    *(
        "https://localhost:8443",
        "https://192.0.2.1:8443",
        "https://[2001:db8::1]",
        "https://[2001:db8::1]:8443",
    ),
]


@pytest.mark.parametrize("form", ["systemd", "compose"])
@pytest.mark.parametrize("base_url", ADDRESSES)
def test_nginx_listens_on_the_port_of_the_address_and_redirects_there(
    setup: Setup, tmp_path: Path, base_url: str, form: str
) -> None:
    sender = "Wallet <no-reply@operator.example>"
    done = setup(form, without_packages(tmp_path), BASE_URL=base_url, DEFAULT_FROM_EMAIL=sender)
    assert done.returncode == 0, done.stderr

    conf = (tmp_path / "made" / "nginx.conf").read_text()
    _, host, _, port = re.fullmatch(r"(https://)(\[.+\]|[^:]+)(:(\d+))?", base_url).groups()  # type: ignore[union-attr]
    listens = "443" if form == "compose" else port or "443"
    both = [f"{listens} ssl http2", f"[::]:{listens} ssl http2", "80", "[::]:80"]
    assert re.findall("^ +listen (.+?);", conf, re.M) == both
    assert re.findall("^ +server_name (.+);", conf, re.M) == [host, host]
    assert re.findall("^ +return 301 (.+);", conf, re.M) == [f"{base_url}$request_uri"]
    assert "{{" not in conf
    published = f"\necho HTTPS_PORT={port} >> .env\n"
    assert (published in done.stdout) is (form == "compose" and port is not None)


def test_compose_publishes_the_port_that_the_printed_command_sets(setup: Setup, tmp_path: Path) -> None:
    if not shutil.which("docker-compose"):
        pytest.skip("could not run without docker-compose")
    done = setup("compose", without_packages(tmp_path), BASE_URL="https://id.example:8443")
    [command] = re.findall("^echo .*", done.stdout, re.M)
    assert f"# {command}\n" in (ROOT / "docs" / "operate.md").read_text()
    [ports] = re.findall(r"^    ports: \[.*?\]", (ROOT / "compose.yaml").read_text(), re.M)
    (tmp_path / "compose.yaml").write_text(f"version: '3'\nservices:\n  nginx:\n    image: nginx\n{ports}\n")

    published = []
    for _ in range(2):
        shown = subprocess.check_output(["docker-compose", "config"], cwd=tmp_path, text=True)
        listed = yaml.safe_load(shown)["services"]["nginx"]["ports"]
        published.append([f"{each['published']}:{each['target']}" for each in listed])
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, check=True)

    assert published == [["80:80", "443:443"], ["80:80", "8443:443"]]


@pytest.mark.nginx
@pytest.mark.parametrize("base_url", ADDRESSES)
def test_nginx_accepts_the_configuration_for_every_address(
    setup: Setup, tmp_path: Path, base_url: str
) -> None:
    if os.geteuid():
        pytest.skip("could not run without root, because nginx opens port 80 to check a configuration")
    sender, script = "Wallet <no-reply@operator.example>", without_packages(tmp_path)
    assert setup("systemd", script, BASE_URL=base_url, DEFAULT_FROM_EMAIL=sender).returncode == 0
    made = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout privkey.pem"
    )
    subprocess.run([*made.split(), "-out", "fullchain.pem"], cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "made" / "nginx.conf").read_text()
    for folder in ("/etc/ssl/presentation", "/var/log/nginx", "/var/lib/presentation-uploads"):
        text = text.replace(folder, str(tmp_path))
    (tmp_path / "site.conf").write_text(text)
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; events {{}}\nhttp {{ include {tmp_path}/site.conf; }}\n"
    )

    words = [
        str(nginx()),
        "-t",
        "-q",
        "-p",
        str(tmp_path),
        "-c",
        str(tmp_path / "nginx.conf"),
        "-e",
        "stderr",
    ]
    checked = subprocess.run(words, capture_output=True, text=True)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_in_containers_nobody_reaches_the_admin_yet(setup: Setup, tmp_path: Path) -> None:
    assert setup("compose").returncode == 0

    conf = (tmp_path / "made" / "nginx.conf").read_text()
    assert "server first:8000 max_fails=0;" in conf
    assert "server second:8000 max_fails=0;" in conf
    admin = conf.partition("location /admin/ {")[2].partition("}")[0]
    assert re.findall(r"^ *(?:allow|deny) .*;", admin, re.M) == ["        deny all;"]
    assert "allow 127.0.0.1;" in conf.partition(admin)[2]  # of other places


def test_the_shipped_configuration_is_the_filled_template_for_the_address_of_the_documents() -> None:
    printed = started(SETUP, "--for", "systemd", "--print-nginx", "https://wallet.example")

    again = "python3 deploy/setup --for systemd --print-nginx https://wallet.example > deploy/nginx.conf"
    assert printed.stdout == (ROOT / "deploy" / "nginx.conf").read_text(), again


def test_no_value_is_taken_for_a_part_of_a_template(setup: Setup, tmp_path: Path) -> None:
    """Each reader gets exactly what was answered, also where that looks like a mark of a template."""
    name = "{{HOST}} {{PASSWORD}}; %d %h\\n"
    notice = "https://operator.example/{{BASE_URL}};%24$x\"\\n'?a=%25&b=`c`|d"
    for form in ("systemd", "kubernetes"):
        assert setup(form, OPERATOR_NAME=name, OPERATOR_PRIVACY_NOTICE=notice).returncode == 0
        if form == "systemd":
            read = as_systemd_reads(tmp_path / "made" / "environment")
        else:
            read = as_kubernetes_reads(tmp_path / "made" / "presentation.yaml")[1]
        assert (read["OPERATOR_NAME"], read["OPERATOR_PRIVACY_NOTICE"]) == (name, notice)
        shutil.rmtree(tmp_path / "made")


def test_a_folder_with_spaces_and_quotes_is_quoted_in_the_next_commands(tmp_path: Path) -> None:
    folder = tmp_path / """a 'fine' "folder" & $more"""
    (tmp_path / "answers").write_text("".join(f"{name}={value}\n" for name, value in ANSWERS.items()))
    script = without_packages(tmp_path)

    done = started(script, "--for", "systemd", "--answers", str(tmp_path / "answers"), "--into", str(folder))

    assert done.returncode == 0, done.stderr
    [command] = [line for line in done.stdout.splitlines() if line.startswith("set -a")]
    printed = subprocess.check_output(["sh", "-ec", f"{command}; echo $BASE_URL"], text=True)
    assert printed == "https://id.example\n"


# Runs a script, and sends itself a signal at the step of this number in the folder `made`.
SIGNAL = """
import os, runpy, signal, sys
made, last, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.argv = sys.argv[4:]
steps = 0
def at_each_step(event, words):
    global steps
    if event in ("open", "os.mkdir", "os.rename", "os.rmdir", "os.chmod") and str(words[0]).startswith(made):
        steps += 1
        if steps == last:
            os.kill(os.getpid(), number)
sys.addaudithook(at_each_step)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def signalled(
    folder: Path, form: str, made: Path, *, step: int, number: signal.Signals
) -> subprocess.CompletedProcess[str]:
    """A run into `made` that gets a signal at this step; one without the packages, which is quick."""
    program = [*INTERRUPTIBLE, sys.executable, "-I", "-c", SIGNAL, str(made), str(step), str(int(number))]
    return subprocess.run([*program, *words_for(folder, form, made)], capture_output=True, text=True)


def words_for(folder: Path, form: str, made: Path) -> list[str]:
    answers = folder / "answers"
    answers.write_text("".join(f"{name}={value}\n" for name, value in ANSWERS.items()))
    return [str(without_packages(folder)), "--for", form, "--answers", str(answers), "--into", str(made)]


@pytest.mark.parametrize("form", ["systemd", "compose", "kubernetes"])
def test_a_run_that_is_killed_at_any_step_leaves_all_files_or_none_and_the_next_one_goes_on(
    tmp_path: Path, form: str
) -> None:
    outcomes = []
    for step in range(1, 100):
        made = tmp_path / f"made-{step}-"
        killed = signalled(tmp_path, form, made, step=step, number=signal.SIGKILL)
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr

        left = [path for path in made.rglob("*") if path.is_file()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in left} <= {0o600}
        in_use = {path.name: path.read_text() for path in left if path.parent == made}
        script, *words = words_for(tmp_path, form, made)
        again, once_more = (started(Path(script), *words) for _ in range(2))

        after = {path.name: path.read_text() for path in made.iterdir()}
        assert set(after) == set(FILES[form]), again.stderr
        assert in_use.items() <= after.items()
        assert again.returncode == 0 or "An earlier run broke off" in again.stderr
        assert "and nothing is overwritten" in once_more.stderr
        outcomes.append(again.returncode)
    assert len(outcomes) > 2 * len(FILES[form])
    assert sorted(set(outcomes)) == [0, 1]
    assert sorted(outcomes) == outcomes  # the first ones are repeated, the last ones are completed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_run_that_is_stopped_removes_what_it_has_written(tmp_path: Path, number: signal.Signals) -> None:
    made = tmp_path / "made"

    stopped = signalled(tmp_path, "systemd", made, step=6, number=number)

    assert (stopped.returncode, stopped.stderr) == (1, "\nNothing was written.\n")
    assert not made.exists()


def test_files_of_which_some_are_missing_are_named(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "environment").write_text("SECRET_KEY=of-an-earlier-version\n")

    done = setup("systemd")

    assert done.stderr.startswith(f"{tmp_path / 'made'} has environment, and nothing is overwritten")
    assert "It lacks nginx.conf." in done.stderr
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["environment"]


def test_other_accounts_may_open_files_of_the_folder_that_belong_to_them(
    setup: Setup, tmp_path: Path
) -> None:
    """The service's user has to reach a file such as that of AUDIT_KEY_FILE, which belongs to it."""
    assert setup("systemd", without_packages(tmp_path)).returncode == 0

    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o711


@pytest.mark.postgresql
def test_the_role_and_the_database(setup: Setup, tmp_path: Path) -> None:
    assert setup("systemd").returncode == 0
    made, name = tmp_path / "made", f"own_{secrets.token_hex(6)}"
    statements = (made / "database.sql").read_text().replace("presentation", name).splitlines()
    main = os.environ["DATABASE_URL"]
    url = urlsplit(as_a_shell_reads(made / "environment")["DATABASE_URL"].replace("presentation", name))
    new = make_conninfo(main, user=url.username, password=url.password, dbname=url.path[1:])
    with psycopg.connect(main, autocommit=True) as superuser:
        try:
            for statement in statements:
                superuser.execute(statement.encode())
            with psycopg.connect(new) as connection:
                connection.execute("CREATE SCHEMA of_the_owner")
                assert connection.info.encoding == "utf-8"
                sees = "SELECT pg_has_role('pg_monitor', 'USAGE')"
                assert connection.execute(sees).fetchone() == (True,)  # the standbys, for the doctor
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
    needed = ("deploy/setup", "deploy/forms.py", "deploy/all_or_nothing.py", "deploy/nginx.conf.template")
    needed += ("config/origins.py", "infra/email_addresses.py", "infra/secret_texts.py", "docs/settings.md")
    for name in (*needed, ".containerignore"):
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
