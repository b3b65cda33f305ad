"""`manage.py migrate`: Django's, one at a time, and only on a database that belongs to this environment.

Several instances may start at once and migrate; Django's command alone would fail in all of them but one.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from infra.database.database_mark import refuse_to_adopt

LOCK = 0x6D696772617465  # "migrate" in ASCII; PostgreSQL keeps advisory locks apart for each database
BETWEEN_TRIES = 0.2  # seconds


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="Take a database that does not say which environment it belongs to, whatever is in it.",
        )

    def handle(self, *args: Any, adopt: bool = False, **options: Any) -> Any:
        connection = connections[options["database"]]
        if settings.DATABASE_POOLER == "transaction":
            return self._through_pooler(connection)
        with alone(connection, on_wait=self._say_that_it_waits):
            refuse_older_database(connection)
            if not adopt:
                refuse_to_adopt(connection)
            return super().handle(*args, **options)

    def _through_pooler(self, connection: Any) -> None:
        """A start of the service migrates, too; it must succeed when there is nothing to do."""
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError(
                "A pooler that shares connections would lose the lock of migrate. Let DATABASE_URL lead to "
                "PostgreSQL itself, and set DATABASE_POOLER to 'none'."
            )
        self.stdout.write("Nothing to migrate.")

    def _say_that_it_waits(self) -> None:
        self.stdout.write("Another migrate is running on this database; waiting for it to finish.")
        self.stdout.flush()


def refuse_older_database(connection: Any) -> None:
    """Raises CommandError for a database that has run some of the migrations that a squashed one replaces.

    Django would leave the squashed migration out and run those that need it.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    for migration in MigrationLoader(None).replacements.values():
        if applied.intersection(migration.replaces) not in (set(), set(migration.replaces)):
            raise CommandError(
                "This database is older than version 0.1.0. First run `migrate` of version 0.1.0 on it; "
                "docs/operate.md says how, under Updating."
            )


@contextmanager
def alone(connection: Any, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds the one lock of `migrate`."""
    lock = _advisory_lock if connection.vendor == "postgresql" else _file_lock
    with lock(connection, on_wait):
        yield


@contextmanager
def _advisory_lock(connection: Any, on_wait: Callable[[], None]) -> Iterator[None]:
    """A lock of the session, so that a process that is killed leaves none behind.

    It is tried again and again, because waiting inside PostgreSQL would end at `lock_timeout`.
    """
    with connection.cursor() as cursor:
        first = True
        while not _asked(cursor, "SELECT pg_try_advisory_lock(%s)", LOCK):
            if first:
                on_wait()
            first = False
            sleep(BETWEEN_TRIES)
        # A migration may take longer than any statement of a request.
        limit = _asked(cursor, "SELECT current_setting(%s)", "statement_timeout")
        _asked(cursor, "SELECT set_config('statement_timeout', %s, false)", "0")
    try:
        yield
    finally:
        with suppress(DatabaseError), connection.cursor() as cursor:  # the lock ends with a lost connection
            _asked(cursor, "SELECT set_config('statement_timeout', %s, false)", limit)
            _asked(cursor, "SELECT pg_advisory_unlock(%s)", LOCK)


def _asked(cursor: Any, statement: str, value: Any) -> Any:
    cursor.execute(statement, [value])
    return cursor.fetchone()[0]


@contextmanager
def _file_lock(connection: Any, on_wait: Callable[[], None]) -> Iterator[None]:
    """For SQLite, on a file beside the database: closing the database's file would end SQLite's own locks."""
    path = Path(f"{connection.settings_dict['NAME']}.migrate-lock")
    with ExitStack() as opened:
        try:
            file = None if connection.is_in_memory_db() else opened.enter_context(path.open("w"))
        except OSError:  # SQLite cannot write in this folder either, and says so
            file = None
        if file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                on_wait()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
        if file and not connection.in_atomic_block:
            connection.close()  # the last one to close empties the journal, and opening fails meanwhile
