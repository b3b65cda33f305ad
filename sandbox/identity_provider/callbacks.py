"""The calls that the simulated provider's machine makes to this service.

They go to the address and the view that every provider's machine calls, without the network in between: a
sandbox with one thread could not answer its own call.
"""

import json
from io import BytesIO
from urllib.parse import urlsplit

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.urls import resolve, reverse

from sandbox.identity_provider.provider import NAME, SIGNATURE, signature


def send(reference: str) -> HttpResponse:
    """Say that the check has a result; gives what the service answered."""
    body = json.dumps({"reference": reference}).encode()
    path = reverse("wallet_identity_callback", args=[NAME])
    base = urlsplit(settings.BASE_URL)
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": path,
            "SERVER_NAME": base.hostname or "",
            "SERVER_PORT": str(base.port or 443),
            "wsgi.url_scheme": base.scheme,
            "wsgi.input": BytesIO(body),
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            f"HTTP_{SIGNATURE.upper().replace('-', '_')}": signature(body),
        }
    )
    found = resolve(path)
    answered: HttpResponse = found.func(request, *found.args, **found.kwargs)
    return answered
