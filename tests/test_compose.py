"""compose.yaml is built and started, as docs/operate.md says under "In containers"."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.deployment_check import production_environment
from tests.docker import docker, run
from tests.documented import authority, commands_of
from tests.nginx_in_front import HOST, Visitor
from tests.ports import free_port
from tests.project_copy import ROOT, copy_project

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]
OPERATE = (ROOT / "docs" / "operate.md").read_text()
SECTION = OPERATE.partition("\n### In containers\n")[2].partition("\n### ")[0]
SETUP = ("--for", "compose", "--answers", "answers")
KEY_SETS = ("/openid-connect/jwks", "/statements/jwks")
BACKUP_SEEN = """
from django.utils.timezone import now
from infra.database import diagnosis
print(diagnosis.backup(now()))
"""


class Containers:
    """The running containers of compose.yaml; nginx listens on `port` of loopback."""

    def __init__(self, folder: Path, environment: dict[str, str], port: int) -> None:
        self.folder, self.environment, self.port = folder, environment, port

    def compose(self, *words: str, stdin: str = "") -> str:
        return run(self.environment, "docker-compose", *words, folder=self.folder, stdin=stdin)

    def manage(self, *words: str, stdin: str = "") -> str:
        """A command of the service in the container `first`."""
        return self.compose("exec", "-T", "first", ".venv/bin/python", "manage.py", *words, stdin=stdin)

    def ask(self, path: str) -> tuple[int, str]:
        """Status and text; 0 while nginx does not listen yet."""
        try:
            answer, text = Visitor(self.port, HOST).ask("GET", path)
        except ConnectionError:
            return 0, ""
        return answer.status, text

    def start(self) -> None:
        """Builds and starts all, and waits for the first answer; fails with the containers' logs."""
        try:
            self.compose("up", "--detach", "--build")
        except AssertionError as error:
            raise AssertionError(self.compose("logs", "--tail", "50")) from error
        until = monotonic() + 120
        while self.ask("/.well-known/openid-configuration")[0] != 200:
            assert monotonic() < until, self.compose("logs", "--tail", "50")
            sleep(0.5)


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """Makes the files as the document says, builds and starts."""
    folder, port = copy_project(tmp_path_factory.mktemp("compose")), free_port()
    made = {"PATH", "SECRET_KEY", "KEY_SEALING_KEYS", "DATABASE_URL"}
    answers = {name: value for name, value in production_environment().items() if name not in made}
    (folder / "answers").write_text("".join(f"{name}={value}\n" for name, value in answers.items()))
    run(production_environment(), "python3", "deploy/setup", *SETUP, folder=folder)
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=wallet.example"
    files = ["-keyout", f"{folder}/privkey.pem", "-out", f"{folder}/fullchain.pem"]
    run(production_environment(), "openssl", *request.split(), *files)
    [install] = re.findall("# (install .*)", SECTION)
    run(production_environment(), *install.split(), folder=folder)
    compose = folder / "compose.yaml"
    text = compose.read_text()
    for shipped, here in {
        '["80:80", "${HTTPS_PORT:-443}:443"]': f'["127.0.0.1:{port}:443"]',
        "dockerfile: Containerfile}": "dockerfile: Containerfile, network: host}",
    }.items():
        assert shipped in text
        text = text.replace(shipped, here)
    compose.write_text(without_digests(text))
    container = folder / "Containerfile"
    container.write_text(without_digests(container.read_text()))
    with docker() as environment:
        made = Containers(folder, environment, port)
        try:
            made.start()
            yield made
        finally:
            made.compose("down", "--volumes", "--timeout", "40")


def without_digests(text: str) -> str:
    """The names of the images alone: the stand-ins of `tests.docker` have these, and other digests."""
    return re.sub("@sha256:[0-9a-f]{64}", "", text)


def test_the_first_signing_key_and_the_first_operator(containers: Containers) -> None:
    containers.compose(
        *("exec", "-T", "-e", "DJANGO_SUPERUSER_PASSWORD=a long password, really", "first"),
        *(".venv/bin/python", "manage.py", "createsuperuser", "--no-input", "--username", "olga"),
        *("--email", "olga@example.org"),
    )
    # The worker stages a key as soon as it runs.
    until = monotonic() + 60
    while "not certified yet" not in containers.manage("list_signing_keys"):
        assert monotonic() < until
        sleep(1)

    assert "BEGIN CERTIFICATE REQUEST" in containers.manage("signing_key_csr")
    status, keys = containers.ask("/openid-connect/jwks")
    assert (status, json.loads(keys)) == (200, {"keys": []})


def test_every_container_runs_or_has_ended_well(containers: Containers) -> None:
    ids = containers.compose("ps", "--all", "--quiet").split()
    found = json.loads(run(containers.environment, "docker", "inspect", *ids))

    states = {
        each["Config"]["Labels"]["com.docker.compose.service"]: (
            each["State"]["Status"],
            each["State"]["ExitCode"],
        )
        for each in found
    }
    assert states.pop("migrate") == ("exited", 0)
    assert set(states.values()) == {("running", 0)}, states
    assert {"first", "second", "nginx", "database", "worker", "backup"} == set(states)
    assert [each["RestartCount"] for each in found] == [0] * len(found)


def test_a_backup_can_be_restored_and_the_doctor_knows_of_it(containers: Containers) -> None:
    listed = known = ""
    until = monotonic() + 30
    while "keys_signingkey" not in listed or "The last one ended 0 hours ago." not in known:
        assert monotonic() < until
        known = containers.manage("shell", "-v0", "-c", BACKUP_SEEN)
        listed = containers.compose(
            "exec", "-T", "backup", "sh", "-c", "pg_restore --list /backups/*.dump || true"
        )


def test_an_instance_may_write_nothing_and_has_no_rights(containers: Containers) -> None:
    script = "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/1/status; find / -xdev -perm /6000 -type f; "
    script += "touch /tmp/x; touch /srv/x 2>&1; true"

    said = containers.compose("exec", "-T", "first", "sh", "-c", script).split("\n")

    assert said[0] == "10001"
    assert {line.split()[1].strip("0") for line in said[1:3]} == {""}
    assert said[3].split() == ["NoNewPrivs:", "1"]
    assert said[4:] == ["touch: cannot touch '/srv/x': Read-only file system", ""]


def test_nobody_reaches_the_admin_until_its_list_names_a_network(containers: Containers) -> None:
    assert containers.ask("/admin/")[0] == 403


def test_uploads_on_their_way_stay_in_memory(containers: Containers) -> None:
    said = containers.compose(
        "exec", "-T", "nginx", "stat", "-f", "-c", "%T", "/var/lib/presentation-uploads"
    )
    assert said.strip() == "tmpfs"


def test_while_one_instance_is_away_the_other_answers(containers: Containers) -> None:
    containers.compose("stop", "--timeout", "40", "first")

    statuses = {containers.ask("/.well-known/openid-configuration")[0] for _ in range(6)}
    containers.compose("start", "first")

    assert statuses == {200}


def test_the_first_signing_keys_sign_by_the_commands_of_the_document(containers: Containers) -> None:
    """The loop over both keys that the worker has staged."""
    [loop] = re.findall(r"^for what in .*?^  done\n", commands_of(SECTION), re.MULTILINE | re.DOTALL)
    authority(containers.folder)
    until = monotonic() + 60
    while containers.manage("list_signing_keys").count("not certified yet") < 2:
        assert monotonic() < until
        sleep(1)

    run(containers.environment, "sh", "-ec", loop, folder=containers.folder)

    assert containers.manage("list_signing_keys").count("active") == 2
    until = monotonic() + 60
    while not all(json.loads(containers.ask(path)[1])["keys"] for path in KEY_SETS):
        assert monotonic() < until
        sleep(1)
