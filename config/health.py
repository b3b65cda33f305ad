"""The checks of `/health/ready`: whether this instance can do its work."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from time import monotonic

import structlog
from django.contrib.staticfiles.storage import staticfiles_storage
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.timezone import now

from infra.database import refused_writes
from infra.database.database_mark import compare
from infra.database.hung_database import bounded
from keys.issuer_key import active_issuer_key

log = structlog.get_logger(__name__)

_REMEMBERED = 1.0  # seconds for which a result is given again, so that probes cost the database nothing
_LONGEST = 1.0  # seconds to wait for the database to answer one statement
_PATIENCE = 4.0  # seconds to wait for another thread that runs the checks
Results = dict[str, bool]


class FailedCheckError(Exception):
    """A check has found that this instance should get no requests."""


class Readiness:
    """Runs checks at most once a second in one thread of the process. Safe for threads."""

    def __init__(self, checks: dict[str, Callable[[], object]]) -> None:
        """Takes the checks by name, in the order in which they run; a check that fails raises."""
        self._checks = checks
        self._lock = Lock()
        self._results: Results = {}
        self._due = 0.0  # when the results are too old, on the monotonic clock

    def results(self) -> Results:
        """Whether each check passed. All have failed if another thread has not ended them in time."""
        if monotonic() < self._due:
            return self._results
        if not self._lock.acquire(timeout=_PATIENCE):
            return dict.fromkeys(self._checks, False)
        try:
            if monotonic() >= self._due:
                self._run()
            return self._results
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Has the next call run the checks."""
        self._due = 0.0

    def _run(self) -> None:
        with bounded(_LONGEST):
            results = {name: self._passes(name) for name in self._checks}
        if results != self._results:  # said once, because probes come every few seconds
            failed = [name for name, passed in results.items() if not passed]
            log.warning("not_ready", failed=failed) if failed else log.info("ready")
        self._results, self._due = results, monotonic() + _REMEMBERED

    def _passes(self, name: str) -> bool:
        try:
            self._checks[name]()
        except Exception as error:  # any failure: the probe wants to know that there is one
            log.info("readiness_check_failed", check=name, reason=type(error).__name__)
            return False
        return True


def migrations() -> None:
    """All migrations of this release are applied; those of a newer release may be as well."""
    applied = set(MigrationRecorder(connection).migration_qs.values_list("app", "name"))
    if not _newest_migrations() <= applied:
        raise FailedCheckError


@cache
def _newest_migrations() -> frozenset[tuple[str, str]]:
    """The last migration of each app in this release."""
    return frozenset(MigrationLoader(None, ignore_no_migrations=True).graph.leaf_nodes())


def _database_writes() -> None:
    """The database has refused no write of this process lately."""
    if refused_writes.seen_lately():
        raise FailedCheckError


readiness = Readiness(
    {
        "database": lambda: compare(connection),  # it answers, and belongs to this environment
        "database_writes": _database_writes,
        "migrations": migrations,
        "signing_key": lambda: active_issuer_key(now=now()),  # it opens, and its chain is valid
        "static_files": lambda: staticfiles_storage.url("style.css"),  # they are collected
    }
)
