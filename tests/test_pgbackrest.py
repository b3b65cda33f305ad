"""deploy/pgbackrest works as shipped: WAL is archived, encrypted, and a moment is restored."""

import io
import time
from collections.abc import Iterator
from contextlib import closing
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command

from infra import runs
from infra.models import LastRun
from tests.pgbackrest import Repository, Restored
from tests.pgcluster import Cluster, binaries

pytestmark = [pytest.mark.pgbackrest, pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def repository() -> Iterator[Repository]:
    found = Repository()
    yield found
    found.remove()


def recorded(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    call_command("record_backup", stdout=StringIO())


def test_a_moment_is_restored_and_the_backup_is_recorded(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    bindir = binaries()
    assert bindir
    first = Cluster(bindir, **repository.options())
    try:
        (repository.root / "conf.d" / "passphrase.conf").write_text("")
        repository.serve(first)
        with pytest.raises(RuntimeError, match="repo1-cipher-pass"):
            repository.run("stanza-create")
        repository.encrypt()
        repository.serve(first)
        with pytest.raises(CommandError, match="knows no usable backup"):
            recorded(monkeypatch, repository.run("info", "--output=json"))
        repository.run("stanza-create")
        repository.run("--type=full", "backup")
        recorded(monkeypatch, repository.run("info", "--output=json"))
        with closing(psycopg.connect(first.url, autocommit=True)) as connection:
            connection.execute("CREATE TABLE what AS SELECT 'before, and searched for' AS said")
            time.sleep(1.1)  # a backup ends at a whole second, which must be before the moment
            [moment] = connection.execute("SELECT clock_timestamp()::text").fetchone() or [""]
            time.sleep(0.1)
            connection.execute("DROP TABLE what")
            connection.execute("SELECT pg_switch_wal()")
        repository.run("check")  # waits until the segment is archived
    finally:
        first.stop()

    second = Restored(bindir, repository, moment)
    try:
        with closing(psycopg.connect(second.url)) as connection:
            assert connection.execute("SELECT said FROM what").fetchall() == [("before, and searched for",)]
    finally:
        second.stop()
    assert LastRun.objects.filter(command=runs.BACKUP).exists()
    files = [path for path in (repository.root / "repository").rglob("*") if path.is_file()]
    assert len(files) > 10
    assert {path.read_bytes()[:8] for path in files} == {b"Salted__"}
