"""`manage.py migrate`: Django's command under a lock, and only for a database of this environment.

Several instances may start and migrate at the same time; without the lock all of them but one would fail.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

LOCK = 0x6D696772617465  # "migrate" in ASCII; each PostgreSQL database has its own advisory locks
BETWEEN_TRIES = 0.2  # seconds


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        if settings.DATABASE_POOLER == "transaction":
            return self._through_pooler(connection)
        lock = _advisory_lock if connection.vendor == "postgresql" else _file_lock
        with lock(connection, self._say_that_it_waits):
            refuse_older_database(connection)
            return super().handle(*args, **options)

    def _through_pooler(self, connection: Any) -> None:
        """Succeeds if there is nothing to migrate, because every start of the service migrates."""
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError(
                "A pooler that shares connections would lose the lock of migrate. Set DATABASE_URL to "
                "PostgreSQL itself and DATABASE_POOLER to 'none'."
            )
        self.stdout.write("Nothing to migrate.")

    def _say_that_it_waits(self) -> None:
        self.stdout.write("Another migrate is running on this database; waiting for it to finish.")
        self.stdout.flush()


def refuse_older_database(connection: Any) -> None:
    """Raises CommandError if an app has migrations, but not all that its squashed one replaces.

    Django would create tables that exist already, and fail halfway.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    for (app, _name), squashed in MigrationLoader(None).replacements.items():
        if any(key[0] == app for key in applied) and not applied.issuperset(squashed.replaces):
            raise CommandError(
                "This database is older than version 0.2.0. Upgrade to 0.2.0 (commit 2c2e00e) first; "
                "docs/operate.md says how, under “A new release”. A sandbox starts over with: "
                "make sandbox FRESH=1"
            )


@contextmanager
def _advisory_lock(connection: Any, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds a lock of the database session, which ends even if the process is killed.

    Calls `on_wait` once if it has to wait. Polls for the lock, because a wait inside PostgreSQL would end at
    `lock_timeout`.
    """
    with connection.cursor() as cursor:
        first = True
        while not _value_of(cursor, "SELECT pg_try_advisory_lock(%s)", LOCK):
            if first:
                on_wait()
            first = False
            sleep(BETWEEN_TRIES)
        # A migration may take longer than any statement of a request.
        limit = _value_of(cursor, "SELECT current_setting(%s)", "statement_timeout")
        _value_of(cursor, "SELECT set_config('statement_timeout', %s, false)", "0")
    try:
        yield
    finally:
        with suppress(DatabaseError), connection.cursor() as cursor:  # the lock ends with a lost connection
            _value_of(cursor, "SELECT set_config('statement_timeout', %s, false)", limit)
            _value_of(cursor, "SELECT pg_advisory_unlock(%s)", LOCK)


def _value_of(cursor: Any, statement: str, value: Any) -> Any:
    cursor.execute(statement, [value])
    return cursor.fetchone()[0]


@contextmanager
def _file_lock(connection: Any, on_wait: Callable[[], None]) -> Iterator[None]:
    """Locks a file beside the SQLite database; closing the database file would release SQLite's own locks."""
    path = Path(f"{connection.settings_dict['NAME']}.migrate-lock")
    with ExitStack() as opened:
        try:
            file = None if connection.is_in_memory_db() else opened.enter_context(path.open("w"))
        except OSError:  # SQLite cannot write to this folder either, and reports it
            file = None
        if file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                on_wait()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
        if file and not connection.in_atomic_block:
            connection.close()  # the last connection to close deletes the journal; opening fails during that
