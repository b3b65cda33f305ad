"""The commands of "Backup and restore" in docs/operate.md, executed as they stand there."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.colleagues import operators_with_codes
from tests.deployment_check import production_environment
from tests.own_databases import ROOT, manage, own_database
from tests.pgbackrest import accept_the_gap, after_a_restore

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]
SECTION = (
    (ROOT / "docs" / "operate.md").read_text().partition("\n## Backup and restore\n")[2].partition("\n## ")[0]
)


def shell(command: str, url: str, folder: Path) -> str:
    """What a command prints, with the database of the URL."""
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url}
    run = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_database_is_restored_from_its_backup_and_has_the_same_keys(tmp_path: Path) -> None:
    dump, record, restore, analyze = re.findall(r"^# (.+)$", SECTION, re.MULTILINE)[:4]
    key, folder, log = (tmp_path / name for name in ("audit.pem", "audit", "log"))
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    folder.mkdir()
    log.touch()
    audit = {"AUDIT_KEY_FILE": str(key), "AUDIT_FOLDER": str(folder)}
    environment = production_environment() | audit
    with own_database() as before, own_database() as after:
        for words in (["migrate"], ["stage_signing_key"], ["stage_signing_key", "--for", "statements"]):
            assert manage(environment | {"DATABASE_URL": before}, *words).returncode == 0
        keys = manage(environment | {"DATABASE_URL": before}, "list_signing_keys").stdout

        codes = operators_with_codes(environment | {"DATABASE_URL": before}, "anna", "ben")
        shell(dump, before, tmp_path)
        words = record.replace("presentation.dump", str(tmp_path / "presentation.dump")).split("manage.py ")[
            1
        ]
        assert "ended on" in manage(environment | {"DATABASE_URL": before}, *words.split()).stdout
        for later in (["reset_second_factor", "anna", "--reason", "ticket 17"], ["sign_audit_record"]):
            assert manage(environment | {"DATABASE_URL": before}, *later).returncode == 0
        shell(restore, after, tmp_path)
        shell(analyze, after, tmp_path)
        mounted = folder.stat().st_ino
        after_a_restore(environment | {"DATABASE_URL": after}, "2026-11-26 12:00:00+00", log)
        assert folder.stat().st_ino == mounted  # a mount point can neither be renamed nor made anew
        restored = environment | {"DATABASE_URL": after}
        assert manage(restored, "sign_audit_record").returncode == 1
        assert "Gap 1 is signed" in accept_the_gap(restored, codes)
        assert manage(restored, "sign_audit_record").returncode == 0
        assert "Restore, case 4711" in manage(restored, "verify_audit_record").stdout
        assert "staged" in keys
        assert manage(environment | {"DATABASE_URL": after}, "list_signing_keys").stdout == keys


def test_the_list_of_what_a_restore_needs_names_every_kind_of_secret() -> None:
    for needed in (
        *("`KEY_SEALING_KEYS`", "`SECRET_KEY`", "`AUDIT_KEY_FILE`", "`AUDIT_FOLDER`"),
        *("environment variables", "identity providers", "single sign-on", "webhooks"),
        *(
            "PIN of the hardware module",
            "module’s own backup",
            "TLS key and certificate",
            "ACME account",
            "`CERTIFICATE_COMMAND`",
        ),
    ):
        assert needed in SECTION, needed


def test_the_question_whether_the_database_writes_is_answered_also_when_it_does_not(tmp_path: Path) -> None:
    """The command under "It is down"."""
    [command] = re.findall(r"`(psql .+?)`", (ROOT / "docs" / "operate.md").read_text())
    with own_database() as url:
        assert shell(command, url, tmp_path) == "CREATE TABLE\n"
        with pytest.raises(AssertionError, match="read-only transaction"):
            shell(f"PGOPTIONS='-c default_transaction_read_only=on' {command}", url, tmp_path)
