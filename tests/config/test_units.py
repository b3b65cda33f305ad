"""The systemd units: the hourly commands, and the processes that run all the time."""

import shlex
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class


@pytest.mark.parametrize("failing", ["rotate_signing_keys", "clear_expired", "none of them"])
def test_of_what_is_due_every_hour_each_runs_whatever_becomes_of_the_others(
    tmp_path: Path, failing: str
) -> None:
    unit = (Path(__file__).parents[2] / "deploy" / "systemd" / "presentation-hourly.service").read_text()
    line = unit.split("ExecStart=")[1].replace("\\\n", " ").splitlines()[0]
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$2" >> ran\ntest "$2" != "{failing}"\n')
    python.chmod(0o755)

    run = subprocess.run(shlex.split(line.replace("$$", "$")), cwd=tmp_path)  # systemd writes $ as $$

    ran = (tmp_path / "ran").read_text().split()
    assert {"rotate_signing_keys", "sweep_identity_verifications", "clear_expired"} <= set(ran)
    assert "sign_audit_record" in ran
    assert set(ran) <= set(get_commands())
    assert (run.returncode != 0) == (failing in ran)


@pytest.mark.parametrize(("what", "every"), [("webhooks", 5), ("emails", 0.5)])
def test_what_sends_webhooks_and_e_mails_is_kept_running_as_a_command_that_there_is(
    what: str, every: float
) -> None:
    folder = Path(__file__).parents[2] / "deploy" / "systemd"
    unit = (folder / f"presentation-{what}.service").read_text()
    _python, program, name, *options = shlex.split(unit.split("ExecStart=")[1].splitlines()[0])

    command = load_command_class(get_commands()[name], name)
    parsed = command.create_parser(program, name).parse_args(options)

    assert parsed.every == every
    assert "Restart=always" in unit
