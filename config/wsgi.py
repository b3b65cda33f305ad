"""The WSGI application: serves published documents directly, and everything else through Django.

Relying parties poll the documents, which are prepared bytes. They need nothing of what Django does for a
request, such as sessions, the cross-site check, the check of the host, and the request log.
"""

import os
import sys
from collections.abc import Callable, Iterable
from email.message import Message
from typing import Any

import django
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# What Django raises for parameters of a header with an unknown encoding, or in no order (RFC 2231 §3).
UNREADABLE_PARAMETERS = (ValueError, LookupError, TypeError)
GUNICORN_GIVES_UP = 3  # exit status; after any other one gunicorn restarts the worker without end


class Request(WSGIRequest):
    """Django's request, which no header of a body breaks: that of the request, and those of its parts.

    Django reads `Content-Type` before any view or middleware, so every value of it is accepted.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        if ";" in (content_type := environ.get("CONTENT_TYPE", "")):
            environ["CONTENT_TYPE"] = readable(content_type)
        super().__init__(environ)

    def parse_file_upload(self, META: Any, post_data: Any) -> Any:
        """The fields and files of a body of parts (RFC 7578).

        Raises MultiPartParserError, which Django answers with 400, if the headers of a part are malformed. Of
        their parameters, Django 5.2 and 6.1 handle only some errors themselves.
        """
        try:
            return super().parse_file_upload(META, post_data)
        except UNREADABLE_PARAMETERS as error:
            raise MultiPartParserError("The headers of a part are malformed.") from error


def readable(content_type: str) -> str:
    """The header without `charset`, because all text is read as UTF-8; empty if Django could not read it."""
    try:
        kind, parameters = parse_header_parameters(content_type)
    except UNREADABLE_PARAMETERS:
        return ""
    if "charset" not in parameters:
        return content_type
    header = Message()
    header["Content-Type"] = kind
    if "boundary" in parameters:
        header.set_param("boundary", parameters["boundary"])
    return str(header["Content-Type"])


class Handler(WSGIHandler):
    request_class = Request


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _documents_before(handler: Application) -> Application:
    # Imported here, because Django has to be set up first.
    from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
    from infra.database import hung_database, kept_connections
    from wallet.identity.arriving_bodies import UNREAD, AnswerBeforeBody

    kept_connections.receive_signals()
    documents: dict[str, Application] = {
        f"/{path}": document.wsgi for path, document in PUBLISHED_DOCUMENTS.items()
    }
    documents |= {f"/{path}/": family.wsgi for path, family in PUBLISHED_FAMILIES.items()}

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        published = documents.get(path) or documents.get(path[: path.rfind("/") + 1])
        if published is not None:
            return published(environ, start_response)
        hung_database.begin(settings.DATABASE_ANSWER_TIMEOUT)
        answer = handler(environ, start_response)
        if UNREAD in environ and "gunicorn.socket" in environ:
            return AnswerBeforeBody(answer, environ["gunicorn.socket"])
        return answer

    return application


def _checked_application() -> Application:
    """The application; prints one sentence and exits if the settings or the database are wrong."""
    try:
        django.setup(set_prefix=False)
        # The checks that every command runs first. Without them gunicorn would start with faulty settings. By
        # default some ask the database since Django 6.1, and it may be away.
        messages = run_checks(databases=[])
        errors = [message.msg for message in messages if message.is_serious() and not message.is_silenced()]
        if errors:
            raise ImproperlyConfigured(" ".join(errors))
        # Imported here, because Django has to be set up first.
        from infra.database.database_mark import refuse_foreign_database

        refuse_foreign_database()
    except ImproperlyConfigured as error:
        sys.stderr.write(f"Cannot start: {error}\n")
        sys.exit(GUNICORN_GIVES_UP)
    return _documents_before(Handler())


application = _checked_application()
