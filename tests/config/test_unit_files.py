"""The systemd units of deploy/: what they start, how they are confined, and whether systemd accepts them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from infra.mail import sending
from infra.outbound import calls
from keys.certificates import command

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "systemd"
OF_BACKUPS = ROOT / "deploy" / "pgbackrest"
SERVICES = [*sorted(FOLDER.glob("*.service")), OF_BACKUPS / "presentation-record-backup.service"]
SANDBOXING = (FOLDER / "presentation@.service").read_text().partition("# What the process may do")[2]
SANDBOXING = "# What the process may do" + SANDBOXING.partition("\n\n")[0].rstrip() + "\n"
ANALYZE = shutil.which("systemd-analyze")


def name_of(path: Path) -> str:
    return path.name


def test_the_units_that_a_machine_needs_are_there() -> None:
    names = {"presentation@.service", "presentation-migrate.service", "presentation-worker.service"}
    assert {unit.name for unit in SERVICES} == names | {"presentation-record-backup.service"}
    assert (FOLDER / "presentation@.socket").exists()


@pytest.mark.parametrize("unit", SERVICES, ids=name_of)
def test_every_unit_is_confined_alike(unit: Path) -> None:
    assert SANDBOXING in unit.read_text()


@pytest.mark.parametrize(
    "directive",
    ["NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "PrivateUsers=yes"]
    + ["MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service", "RestrictNamespaces=yes"],
)
def test_what_confines_them_has_the_directives_that_matter_most(directive: str) -> None:
    assert f"\n{directive}\n" in SANDBOXING


@pytest.mark.skipif(not ANALYZE, reason="could not run without systemd-analyze")
@pytest.mark.parametrize("unit", SERVICES, ids=name_of)
def test_systemd_rates_the_exposure_of_each_unit_below_3(unit: Path) -> None:
    command = [str(ANALYZE), "security", "--offline=yes", "--threshold=30", "--no-pager", str(unit)]

    rated = subprocess.run(command, capture_output=True, text=True)

    assert rated.returncode == 0, rated.stdout[-300:] + rated.stderr


@pytest.mark.skipif(not ANALYZE, reason="could not run without systemd-analyze")
def test_systemd_finds_no_fault_in_any_unit(tmp_path: Path) -> None:
    """In a copy, where the programs that the units start are there and a template has an instance."""
    for unit in [*FOLDER.iterdir(), *OF_BACKUPS.glob("*.service"), *OF_BACKUPS.glob("*.timer")]:
        name = unit.name.replace("presentation@.", "presentation@8001.")
        text = re.sub(r"/srv/presentation/current/\.venv/bin/\w+", "/bin/true", unit.read_text())
        (tmp_path / name).write_text(text)
    units = [str(path) for path in sorted(tmp_path.iterdir()) if path.suffix != ".conf"]

    found = subprocess.run([str(ANALYZE), "verify", "--man=no", *units], capture_output=True, text=True)

    assert (found.returncode, found.stderr) == (0, "")


def test_an_instance_never_starts_without_its_socket() -> None:
    """Without the socket gunicorn would listen on a port of its own, which nginx does not know."""
    text = (FOLDER / "presentation@.service").read_text()

    assert "\nRequires=presentation@%i.socket\n" in text
    assert "\nListenStream=127.0.0.1:%i\n" in (FOLDER / "presentation@.socket").read_text()


def test_an_instance_has_longer_to_stop_than_its_requests_have_to_end() -> None:
    settings: dict[str, object] = {}
    exec((ROOT / "deploy" / "gunicorn.conf.py").read_text(), settings)

    (patience,) = re.findall(r"^TimeoutStopSec=(\d+)$", (FOLDER / "presentation@.service").read_text(), re.M)

    assert int(patience) > int(str(settings["graceful_timeout"]))


def test_the_migration_runs_each_time_it_is_started_and_the_check_comes_first() -> None:
    text = (FOLDER / "presentation-migrate.service").read_text()

    first, second = re.findall(r"^ExecStart=\S+ manage.py (.+)$", text, re.M)
    assert first == "check --deploy --fail-level WARNING"
    assert second == "migrate --no-input"
    assert "\nRemainAfterExit" not in text
    assert "Type=oneshot" in text


def test_the_worker_is_kept_running_and_watched() -> None:
    text = (FOLDER / "presentation-worker.service").read_text()

    (name,) = re.findall(r"^ExecStart=\S+ manage.py (\w+)$", text, re.M)
    assert name in get_commands()
    for line in ("Type=notify", "NotifyAccess=main", "WatchdogSec=60", "Restart=always"):
        assert f"\n{line}\n" in text


def test_the_worker_has_longer_to_stop_than_anything_takes_that_it_does_not_interrupt() -> None:
    (patience,) = re.findall(
        r"^TimeoutStopSec=(\d+)$", (FOLDER / "presentation-worker.service").read_text(), re.M
    )
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["worker"]

    assert int(patience) > max(2 * sending.DEADLINE, calls.DONE_WITHIN, command.LONGEST)
    assert compose["stop_grace_period"] == f"{patience}s"


def test_what_the_worker_needs_for_certificates_is_a_drop_in_of_its_unit() -> None:
    """It opens keys and runs CERTIFICATE_COMMAND."""
    for name in ("acme.conf", "secrets.conf"):
        assert "presentation-worker.service.d/" in (FOLDER / name).read_text()
