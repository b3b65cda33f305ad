"""`manage.py migrate`: Django's, one at a time, and only on a database that belongs to this environment.

Several instances may start at once and migrate; Django's command alone would fail in all of them but one.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import DatabaseError, connections

from keys.database_mark import refuse_to_adopt

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
        with alone(connection, on_wait=self._say_that_it_waits) as released:
            if not adopt:
                refuse_to_adopt(connection)
            result = super().handle(*args, **options)
        if not all(released):
            self.stderr.write(
                "The lock of migrate could not be given back: DATABASE_URL seems to lead through a pooler "
                "that shares connections. Run migrate on PostgreSQL itself."
            )
        return result

    def _say_that_it_waits(self) -> None:
        self.stdout.write("Another migrate is at work on this database; waiting for its end.")
        self.stdout.flush()


@contextmanager
def alone(connection: Any, *, on_wait: Callable[[], None]) -> Iterator[list[bool]]:
    """Holds the one lock of `migrate`; yields a list that afterwards says whether it was given back."""
    if connection.vendor == "postgresql":
        with _advisory_lock(connection, on_wait) as released:
            yield released
    else:
        with _file_lock(connection, on_wait):
            yield []


@contextmanager
def _advisory_lock(connection: Any, on_wait: Callable[[], None]) -> Iterator[list[bool]]:
    """A lock of the session, so that a process that is killed leaves none behind.

    It is tried again and again, because waiting inside PostgreSQL would end at `lock_timeout`.
    """
    released: list[bool] = []
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
        yield released
    finally:
        with suppress(DatabaseError), connection.cursor() as cursor:  # the lock ends with a lost connection
            _asked(cursor, "SELECT set_config('statement_timeout', %s, false)", limit)
            released.append(_asked(cursor, "SELECT pg_advisory_unlock(%s)", LOCK))


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
