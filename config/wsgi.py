"""The WSGI application gunicorn serves: published documents at once, everything else by Django.

Relying parties poll the documents. They are bytes that are there already, so nothing that Django does for a
request (sessions, CSRF, hosts, the request log) means anything for them.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application

from keys.kept_connections import close_dead_connections, drop_cursors

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _documents_before(django: Application) -> Application:
    from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES  # only now that Django is set up

    documents: dict[str, Application] = {
        f"/{path}": document.wsgi for path, document in PUBLISHED_DOCUMENTS.items()
    }
    families: dict[str, Application] = {
        f"/{path}/": family.wsgi for path, family in PUBLISHED_FAMILIES.items()
    }

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        answer = documents.get(path) or families.get(path[: path.rfind("/") + 1], django)
        return answer(environ, start_response)

    return application


request_started.connect(close_dead_connections)
request_finished.connect(drop_cursors)
application = _documents_before(get_wsgi_application())
