"""Files that settings name: tried as the service's user, whom a folder on the way may keep out."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from infra import diagnosis
from infra.doctor import State
from infra.files import FileError, content, is_missing, obstacle
from infra.named_files import RUNS, WRITES, NamedFile, faults
from tests.config.documented_variables import VARIABLES
from tests.deployment_check import production_environment
from tests.own_databases import manage
from tests.warm_start import run

OTHER = "nobody"  # stands for the service's user, who is not root
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="could not run without root, to become another user"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, other than the ones that pytest makes."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


# The interpreter may be where only root can reach it, so the user changes when it runs already.
AS_THE_OTHER = f"""
import os, pwd, runpy, sys
account = pwd.getpwnam("{OTHER}")
os.setgroups([]); os.setgid(account.pw_gid); os.setuid(account.pw_uid)
sys.dont_write_bytecode = True
"""
CHECK = (
    AS_THE_OTHER
    + """
sys.argv = ["manage.py", "check", "--deploy", "--fail-level", "WARNING"]
runpy.run_path("manage.py", run_name="__main__")
"""
)


def checked_by_the_other(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`check --deploy`, as the unit runs it that comes before each restart."""
    return run(production_environment() | environment, "-c", CHECK)


@needs_root
def test_the_check_names_the_folder_that_keeps_the_service_s_user_out(folder: Path) -> None:
    private = folder / "etc"
    private.mkdir(mode=0o700)
    (private / "audit.pem").write_text("the check does not open it")
    environment = {"AUDIT_KEY_FILE": str(private / "audit.pem"), "AUDIT_FOLDER": str(folder)}

    words = ("check", "--deploy", "--fail-level", "WARNING")
    as_root = manage(production_environment() | environment, *words)
    as_the_user = checked_by_the_other(environment)
    private.chmod(0o711)
    once_it_may = checked_by_the_other(environment)

    assert as_root.returncode == 0, as_root.stderr  # so whoever runs the check has to be that user
    assert as_the_user.returncode == 1
    why = f"the user {OTHER} may not enter the folder {private}."
    said = f"(infra.E004) AUDIT_KEY_FILE names {private}/audit.pem, which the worker reads: {why}"
    assert said in as_the_user.stderr
    assert once_it_may.returncode == 0, once_it_may.stderr


# Each variable that names a file or a folder, and what else has to be set.
NAMING = {
    "IDENTITY_PROVIDERS_FILE": {},
    "SINGLE_SIGN_ON_FILE": {},
    "OPERATOR_LOGO_FILE": {},
    "PKCS11_MODULE": {"PKCS11_PIN": "1234", "PKCS11_TOKEN": "wallet"},
    "AUDIT_KEY_FILE": {"AUDIT_FOLDER": "/"},
    "AUDIT_FOLDER": {"AUDIT_KEY_FILE": "/etc/hostname"},
    "CERTIFICATE_COMMAND": {},
    "SSL_CERT_FILE": {},
}
SECRETS = {
    "KEY_SEALING_KEYS_FILE": {"KEY_SEALING_KEYS": ""},
    "PKCS11_PIN_FILE": {"PKCS11_MODULE": "/usr/lib/module.so", "PKCS11_TOKEN": "wallet"},
}


def test_every_variable_of_the_operators_table_that_names_a_file_is_tried_below() -> None:
    assert {name for name in VARIABLES if re.search("_(FILE|FOLDER|MODULE|COMMAND)$", name)} == {*NAMING}


@needs_root
@pytest.mark.parametrize(("variable", "more"), (NAMING | SECRETS).items(), ids=[*NAMING, *SECRETS])
@pytest.mark.parametrize("closed", ["folder", "file"])
def test_every_variable_that_names_a_file_is_tried_as_the_user_who_runs_the_check(
    folder: Path, variable: str, more: dict[str, str], closed: str
) -> None:
    (folder / "etc").mkdir(mode=0o700 if closed == "folder" else 0o755)
    path = folder / "etc" / "named"
    if variable == "AUDIT_FOLDER":
        path.mkdir()
    else:
        path.write_text("a text of more than 32 characters, for any purpose")
    path.chmod(0o600 if closed == "file" else 0o755)

    refused = checked_by_the_other(more | {variable: str(path)})

    assert refused.returncode == 1
    what = f"enter the folder {folder}/etc" if closed == "folder" else rf"{path}"
    sentences = [line for line in refused.stderr.splitlines() if variable in line and what in line]
    assert [line for line in sentences if f"the user {OTHER} may not " in line], refused.stderr


@needs_root
def test_a_file_that_an_option_names_is_tried_too(folder: Path) -> None:
    (folder / "providers.toml").write_text(f'[in_person]\nplace_file = "{folder}/etc/place"\n')
    (folder / "etc").mkdir(mode=0o700)
    (folder / "etc" / "place").write_text("Main street")

    refused = checked_by_the_other({"IDENTITY_PROVIDERS_FILE": str(folder / "providers.toml")})

    assert f"IDENTITY_PROVIDERS_FILE: in_person.place_file cannot be read: the user {OTHER}" in refused.stderr


def test_a_file_that_only_another_process_has_is_no_fault(settings: Any, folder: Path) -> None:
    missing = str(folder / "nowhere")
    settings.NAMED_FILES = [NamedFile("AUDIT_KEY_FILE", missing, "the worker", elsewhere=True)]
    assert faults(only_reading=True) == []

    settings.NAMED_FILES = [NamedFile("SSL_CERT_FILE", missing, "every process")]
    assert faults(only_reading=True) == [
        f"SSL_CERT_FILE names {missing}, which every process reads: there is no file {missing}."
    ]


def test_the_doctor_says_which_file_the_worker_cannot_use(settings: Any, folder: Path) -> None:
    settings.NAMED_FILES = [NamedFile("AUDIT_FOLDER", str(folder), "the worker", WRITES)]
    assert diagnosis.files(timezone.now())[0] == State.OK

    settings.NAMED_FILES += [NamedFile("CERTIFICATE_COMMAND", str(folder / "none"), "the worker", RUNS)]
    state, seen = diagnosis.files(timezone.now())

    assert state == State.NOW
    assert seen.startswith(
        f"CERTIFICATE_COMMAND names {folder}/none, which the worker runs: there is no file"
    )
    assert diagnosis.CHECKS["files"] is diagnosis.files


@needs_root
def test_only_the_doctor_wants_to_write_into_a_folder(folder: Path) -> None:
    named = f"NamedFile('AUDIT_FOLDER', {str(folder)!r}, 'the worker', WRITES)"
    program = f"""
from django.conf import settings
from infra.named_files import WRITES, NamedFile, faults
settings.configure(NAMED_FILES=[{named}])
print(len(faults(only_reading=True)), *faults(only_reading=False))
"""

    shown = run({}, "-c", AS_THE_OTHER + program)

    assert shown.stdout == (
        f"0 AUDIT_FOLDER names {folder}, which the worker writes into: "
        f"the user {OTHER} may not read and write in {folder}.\n"
    ), shown.stderr


def test_what_is_in_the_way_is_named_whatever_leads_there(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "gone")

    assert obstacle(folder / "link") == f"there is no file {folder}/gone"
    assert obstacle(folder / "no" / "way") == f"there is no file {folder}/no/way"
    assert obstacle(folder) == ""
    assert (is_missing(folder / "gone"), is_missing(folder)) == (True, False)
    with pytest.raises(FileError, match="cannot be read: No such file or directory"):
        content(folder / "gone", most=10)
