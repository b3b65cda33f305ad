"""The first start with systemd as docs/operate.md describes it, on a machine that systemd boots.

Every command of the section is taken out of the document and run in one shell, in this order. Only those that
need a network or a keyboard are replaced (`INSTEAD`).
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.booted import Booted, NotBootedError, has_python_of_the_tests
from tests.documented import authority, commands_of
from tests.project_copy import ROOT, copy_project
from tools.version import current

pytestmark = [pytest.mark.systemd, pytest.mark.slow]
# The host contains that of the shipped nginx.conf, and the port is not that of https.
HOST, PORT = "wallet.example.org", 8443
BASE_URL = f"https://{HOST}:{PORT}"
ANSWERS = f"""
BASE_URL={BASE_URL}
OPERATOR_NAME=Example "Trust" & Co; 100 % $HOME \\ O'Brien
OPERATOR_PRIVACY_NOTICE=https://operator.example/privacy?a=%20$b;c"d\\e
OPERATOR_HELP=help@operator.example
EMAIL_URL=smtp+tls://mail.example:587
"""
OPERATE, KEYS = ((ROOT / "docs" / name).read_text() for name in ("operate.md", "keys.md"))
SECTION = OPERATE.partition("### With systemd")[2].partition("\n### ")[0]
INSTEAD = {
    # The packages are installed on this machine; `tests.booted` looks.
    "apt-get install postgresql nginx python3-venv git curl openssl\n": ":\n",
    "git clone ADDRESS ": "git clone --quiet /root/address ",
    ".venv/bin/pip install --require-hashes -r": (
        f"PYTHONPATH={ROOT} {sys.executable} -B -m tests.offline_install $PWD/.venv"
    ),
    "python3 deploy/setup --for systemd\n": "python3 deploy/setup --for systemd --answers /root/answers\n",
    "set -a; . /etc/presentation/environment; set +a\n": (
        "set -a; . /etc/presentation/environment; set +a\ncp /root/certificates/* .\n"
    ),
    "manage.py createsuperuser\n": (
        "manage.py createsuperuser --no-input --username olga --email olga@example.org\n"
    ),
    # The worker stages the keys when it starts, a moment before a person at a keyboard comes here.
    "for what in credentials statements; do\n": (
        "for what in credentials statements; do\n"
        "    until .venv/bin/python manage.py signing_key_csr --for $what > request.pem; do sleep 1; done\n"
    ),
    # The status is 1 if something is to be done soon, 2 if now.
    "manage.py doctor\n": "manage.py doctor || test $? = 1\n",
}


def replaced(script: str) -> str:
    for command, instead in INSTEAD.items():
        assert script.count(command) == 1, command
        script = script.replace(command, instead)
    return script


def hosts(folder: Path) -> None:
    """Another authority, and the certificates of nginx and of the mail server."""
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90"
    ends = "-addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:"
    script = f"""
{request} -subj /CN=Hosts -keyout hosts.key -out hosts.pem
{request} -CA hosts.pem -CAkey hosts.key -subj /CN=h {ends}{HOST} -keyout privkey.pem -out fullchain.pem
{request} -CA hosts.pem -CAkey hosts.key -subj /CN=m {ends}mail.example -keyout mail.key -out mail.pem
"""
    subprocess.run(["sh", "-ec", script], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    """A machine on which every command of the section has been run."""
    if not has_python_of_the_tests():
        pytest.skip("could not run without Debian's version of Python")
    source, certificates = (tmp_path_factory.mktemp(name) for name in ("source", "certificates"))
    copy_project(source)
    (source / ".venv").unlink()
    commit = "git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm t"
    subprocess.run(["sh", "-ec", commit], cwd=source, check=True)
    authority(certificates)
    hosts(certificates)
    (certificates / "answers").write_text(ANSWERS)
    folders = {ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), source, certificates}
    try:
        with Booted(*folders) as booted:
            mail = (str(certificates / name) for name in ("mail.pem", "mail.key"))
            booted.in_its_network(sys.executable, "-m", "tests.mail_for_booted", *mail, "587")
            booted.shell(f"""
echo 127.0.0.1 {HOST} mail.example >> /etc/hosts
ln -s {source} /root/address
git config --global --add safe.directory '*'
mkdir /root/certificates
cp {certificates}/answers /root/
cp {certificates}/*.pem {certificates}/*.key /root/certificates
cp {certificates}/hosts.pem /usr/local/share/ca-certificates/hosts.crt
update-ca-certificates 2>&1
""")
            script = "export DJANGO_SUPERUSER_PASSWORD='a long password, really'\n"
            printed = booted.shell(script + replaced(commands_of(SECTION)))
            assert printed.count('"status": "ready"') == 2, printed
            yield booted
    except NotBootedError as error:
        pytest.skip(f"could not run without systemd in namespaces: {error}")


def in_the_release(script: str) -> str:
    """A script in the shell that docs/keys.md opens."""
    shell = KEYS.partition("### First, open a shell")[2].partition("```console\n")[2].partition("```")[0]
    lines = [line.removeprefix("# ") for line in shell.splitlines() if line.startswith("# ")]
    opened = "\n".join(line for line in lines if not line.startswith(("alias", "echo", "manage.py")))
    return f"{opened}\n{script}"


def test_the_first_start_ends_with_a_doctor_who_has_nothing_to_do_now(machine: Booted) -> None:
    examined = machine.run(in_the_release(".venv/bin/python manage.py doctor --json"))

    checks = {each["check"]: each for each in json.loads(examined.stdout)["checks"]}
    assert [each for each in checks.values() if each["state"] == "NOW"] == []
    for name in ("signing_keys", "presentation", "tls", "files", "mail", "backup", "jobs"):
        assert checks[name]["state"] == "ok", checks[name]


def test_nginx_answers_at_the_port_of_the_address_and_redirects_there(machine: Booted) -> None:
    document = machine.shell(f"curl --silent --show-error --fail {BASE_URL}/.well-known/openid-configuration")
    redirected = machine.shell(
        f"curl --silent --output /dev/null --write-out '%{{redirect_url}}' http://{HOST}/a?b"
    )
    statements = machine.shell(f"curl --silent --show-error --fail {BASE_URL}/statements/jwks")

    assert json.loads(document)["issuer"] == BASE_URL
    assert redirected == f"{BASE_URL}/a?b"
    assert len(json.loads(statements)["keys"]) == 1


def test_every_unit_runs_as_its_user_and_none_has_failed(machine: Booted) -> None:
    units = "presentation@8001 presentation@8002 presentation-worker"

    assert machine.shell(f"systemctl is-active nginx {units}").split() == ["active"] * 4
    assert machine.shell("systemctl --failed --plain --no-legend") == ""
    for pid in main_processes(machine):
        assert machine.shell(f"stat --format %U /proc/{pid}") == "presentation\n"


def main_processes(machine: Booted) -> list[str]:
    """Of both instances and the worker."""
    units = "presentation@8001 presentation@8002 presentation-worker"
    return machine.shell(f"systemctl show --property=MainPID --value {units}").split()


def test_the_service_has_the_answers_as_they_were_given(machine: Booted) -> None:
    answers = dict(line.split("=", 1) for line in ANSWERS.splitlines() if line)

    for pid in main_processes(machine):
        lines = machine.shell(f"cat /proc/{pid}/environ").split("\0")
        assert answers.items() <= dict(line.split("=", 1) for line in lines if line).items()


def test_the_setup_tries_the_release_and_the_files_as_the_services_user(machine: Booted) -> None:
    setup = "/srv/presentation/current/deploy/setup --for systemd --into /root/made --answers /root/more"
    machine.shell("""
install --directory --mode 0700 /root/closed
echo not a key > /root/closed/audit.pem
(cat /root/answers; echo AUDIT_FOLDER=/tmp; echo AUDIT_KEY_FILE=/root/closed/audit.pem) > /root/more
""")

    file_refused = machine.run(f"python3 {setup}")
    release = f"/srv/presentation/releases/{current()}"
    release_refused = machine.run(f"chmod 0700 {release}; python3 {setup} || (chmod 0755 {release}; false)")

    why = "the user presentation may not enter the folder /root."
    named = f"AUDIT_KEY_FILE names /root/closed/audit.pem, which the worker reads: {why}"
    assert file_refused.stderr == f"Nothing was written. {named}\n"
    assert release_refused.stderr == (
        f"Nothing was written. The check of the settings failed. Can the user presentation read {release}?\n"
    )
    assert machine.run("ls /root/made").returncode == 2


def test_a_restart_is_refused_while_the_services_user_cannot_read_a_file_that_a_setting_names(
    machine: Booted,
) -> None:
    """As an operator would make the key of the audit record by hand, in a folder that is closed to others."""
    before = main_processes(machine)
    machine.shell("""
install --directory --mode 0700 /etc/presentation-audit
openssl genpkey -algorithm ed25519 -out /etc/presentation-audit/audit.pem
install --directory --owner=presentation --mode=0700 /var/lib/presentation-audit
cp /etc/presentation/environment /root/environment.before
echo AUDIT_KEY_FILE=/etc/presentation-audit/audit.pem >> /etc/presentation/environment
echo AUDIT_FOLDER=/var/lib/presentation-audit >> /etc/presentation/environment
""")

    refused = machine.run("/srv/presentation/current/deploy/restart")

    assert refused.returncode == 1
    assert "The check or the migration failed, so nothing was restarted." in refused.stderr
    assert main_processes(machine) == before
    journal = machine.shell("journalctl --unit presentation-migrate --output cat")
    why = "the user presentation may not enter the folder /etc/presentation-audit."
    assert f"AUDIT_KEY_FILE names /etc/presentation-audit/audit.pem, which the worker reads: {why}" in journal


def test_a_restart_says_of_which_unit_the_check_knows_nothing(machine: Booted) -> None:
    """After the test above: a restart is refused, so nothing else happens here."""
    folder = "/etc/systemd/system/presentation-worker.service.d"
    drop_in = f"mkdir {folder} && printf '[Service]\\nUser=www-data\\n' > {folder}/user.conf"
    machine.shell(f"{drop_in} && systemctl daemon-reload")

    refused = machine.run("/srv/presentation/current/deploy/restart")
    machine.shell(f"rm -r {folder} && systemctl daemon-reload")

    assert refused.returncode == 1
    [said] = [line for line in refused.stderr.splitlines() if " runs as " in line]
    assert said.startswith(
        "presentation-worker.service runs as www-data. The settings are checked as presentation,"
    )


def test_a_restart_refuses_a_patience_that_is_no_number_before_anything_else(machine: Booted) -> None:
    for patience in ("banana", "-1", "08", "1.5"):
        refused = machine.run(f"PATIENCE={patience} /srv/presentation/current/deploy/restart")

        assert (refused.returncode, refused.stderr) == (1, "PATIENCE must be a whole number of seconds.\n")


def test_a_restart_takes_a_key_of_the_audit_record_that_was_made_as_the_document_says(
    machine: Booted,
) -> None:
    """docs/operators.md, "Audit record"; after the test above."""
    section = (
        (ROOT / "docs" / "operators.md").read_text().partition("## Audit record")[2].partition("\n## ")[0]
    )
    made = [line for line in re.findall(r"^\$ (.*?)(?:  +# .*)?$", section, re.M) if "audit" in line]
    made = [line for line in made if line.startswith(("openssl genpkey", "install"))]
    assert len(made) == 2
    [drop_in] = re.findall("`(ReadWritePaths=.*?)`", section)
    machine.shell(f"""
cp /root/environment.before /etc/presentation/environment
rm -r /etc/presentation-audit /var/lib/presentation-audit
{chr(10).join(made)}
echo AUDIT_KEY_FILE=/etc/presentation/audit.pem >> /etc/presentation/environment
echo AUDIT_FOLDER=/var/lib/presentation-audit >> /etc/presentation/environment
mkdir --parents /etc/systemd/system/presentation-worker.service.d
printf '[Service]\\n%s\\n' '{drop_in}' > /etc/systemd/system/presentation-worker.service.d/audit.conf
systemctl daemon-reload
""")

    restarted = machine.run("/srv/presentation/current/deploy/restart")

    assert restarted.returncode == 0, restarted.stderr
    assert "cannot read" not in restarted.stderr  # all units run as one user
    instance, _second, worker = main_processes(machine)
    as_the_service = "setpriv --reuid presentation --regid presentation --clear-groups"
    writable = f"--mount {as_the_service} test -w /var/lib/presentation-audit"
    assert machine.run(f"nsenter --target {worker} {writable}").returncode == 0
    assert machine.run(f"nsenter --target {instance} {writable}").returncode == 1
    examined = machine.run(in_the_release(".venv/bin/python manage.py doctor --json"))
    found = {each["check"]: each["state"] for each in json.loads(examined.stdout)["checks"]}
    assert "NOW" not in found.values(), examined.stdout
    assert found["audit_record"] == "ok"
