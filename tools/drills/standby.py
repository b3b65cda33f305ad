"""A standby that copies a server synchronously and can be promoted (PostgreSQL's streaming replication)."""

import subprocess
import time
from pathlib import Path

import psycopg

from tests.pgcluster import Cluster

NAME = "standby"


class Standby(Cluster):
    """A running copy of `primary`, which from now on waits for it at each COMMIT."""

    def __init__(self, bindir: Path, primary: Cluster, **options: str) -> None:
        self._primary = primary
        super().__init__(bindir, synchronous_commit="on", **options)
        with psycopg.connect(primary.url, autocommit=True) as connection:
            # Only now: the copy would inherit it, and wait for itself once it is promoted.
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({NAME})'")
            connection.execute("SELECT pg_reload_conf()")
        self._until_synchronous()

    def _make(self) -> None:
        source = f"{self._primary.url}&application_name={NAME}"
        words = ["-D", self.root / "d", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", source]
        subprocess.run(
            [self.bindir / "pg_basebackup", *words], check=True, capture_output=True, **self._common
        )

    def _until_synchronous(self) -> None:
        for _ in range(600):
            with psycopg.connect(self._primary.url) as connection:
                found = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchall()
            if found == [("sync",)]:
                return
            time.sleep(0.05)
        raise RuntimeError(f"the standby does not follow: {(self.root / 'log').read_text()[-2000:]}")

    def promote(self) -> None:
        """Makes it a primary; returns when it accepts writes."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, 60)")


def fence(primary: Cluster) -> None:
    """A former primary that is started again by mistake must not accept writes (docs/database.md)."""
    (primary.root / "d" / "standby.signal").touch()
