"""`manage.py record_backup`: when a backup ended, from pgBackRest or from a file of pg_dump."""

import io
import json
import os
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from infra import runs
from infra.models import LastRun

pytestmark = pytest.mark.django_db
NOON = 1_795_780_800


def stanza(*backups: dict[str, Any], code: int = 0) -> dict[str, Any]:
    return {"name": "main", "status": {"code": code, "message": "said"}, "backup": list(backups)}


def backup(stop: int, *, error: bool = False) -> dict[str, Any]:
    return {"error": error, "timestamp": {"start": stop - 60, "stop": stop}, "type": "full"}


def recorded(monkeypatch: pytest.MonkeyPatch, text: str) -> datetime:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    call_command("record_backup", stdout=StringIO())
    return LastRun.objects.get(command=runs.BACKUP).at


def test_the_newest_backup_without_an_error_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([stanza(backup(NOON), backup(NOON - 99), backup(NOON + 99, error=True))])
    assert recorded(monkeypatch, text) == datetime.fromtimestamp(NOON, UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", "3", '"x"', "[1]", '[{"status": null}]'),
        json.dumps([stanza()]),
        json.dumps([stanza(backup(NOON, error=True))]),
        json.dumps([stanza(backup(NOON)), stanza(code=1)]),
        json.dumps([stanza({"timestamp": {}})]),
    ],
)
def test_a_repository_without_a_usable_backup_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with pytest.raises(CommandError, match="knows no usable backup"):
        recorded(monkeypatch, text)
    assert not LastRun.objects.exists()


def test_a_dump_counts_from_when_it_was_written(tmp_path: Path) -> None:
    dump = tmp_path / "presentation.dump"
    dump.write_bytes(b"PGDMP")
    os.utime(dump, (NOON, NOON))
    call_command("record_backup", "--file", str(dump), stdout=StringIO())
    assert LastRun.objects.get(command=runs.BACKUP).at == datetime.fromtimestamp(NOON, UTC)


@pytest.mark.parametrize("content", [None, b""])
def test_a_dump_that_is_missing_or_empty_is_refused(tmp_path: Path, content: bytes | None) -> None:
    dump = tmp_path / "presentation.dump"
    if content is not None:
        dump.write_bytes(content)
    with pytest.raises(CommandError, match="no such file, or it is empty"):
        call_command("record_backup", "--file", str(dump))
