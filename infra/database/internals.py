"""Whether code that depends on Django's internals may run: only with a version of Django it was tested with.

With any other version the package `prepared` uses Django's public interfaces instead, which give the same
results in more time.
"""

import django
import structlog

log = structlog.get_logger(__name__)
TRIED_WITH = (5, 2)  # change this once the tests have passed with another version
DJANGO_IS_KNOWN_TO_WORK = django.VERSION[:2] == TRIED_WITH


def what_is_slower() -> str:
    """A sentence for operators about what is slower with this version of Django; empty if nothing is."""
    if DJANGO_IS_KNOWN_TO_WORK:
        return ""
    version, tried = (".".join(map(str, numbers[:2])) for numbers in (django.VERSION, TRIED_WITH))
    return f"Each query's SQL is composed anew. Its reuse was tested with Django {tried}, not with {version}."


def warn() -> None:
    """Logs one line when a process starts with an untested version of Django."""
    if not DJANGO_IS_KNOWN_TO_WORK:
        log.warning("django_not_tried", version=django.get_version())
