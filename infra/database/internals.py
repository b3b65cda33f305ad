"""Whether what leans on Django's internals may be used: only with the Django that it was tried with.

With any other Django the plain way is taken, which gives the same and takes longer: `prepared_statements`,
`kept_connections` and `hung_database` ask here.
"""

import django
import structlog

log = structlog.get_logger(__name__)
TRIED_WITH = (5, 2)  # after the tests have passed with another version, it can be said here
ARE_TRIED = django.VERSION[:2] == TRIED_WITH  # whether this Django is one whose internals are known


def what_is_slower() -> str:
    """A sentence for operators; empty where nothing is."""
    if ARE_TRIED:
        return ""
    version, tried = (".".join(map(str, numbers[:2])) for numbers in (django.VERSION, TRIED_WITH))
    return f"Statements are composed anew each time: this was tried with Django {tried}, not with {version}."


def tell() -> None:
    """One line in the log when a process starts."""
    if what_is_slower():
        log.warning("django_not_tried", version=django.get_version())
