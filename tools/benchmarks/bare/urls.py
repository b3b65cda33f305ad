"""The documents at the same paths as in this service; the folder BARE_DOCUMENTS has their bytes."""

import os
from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.urls import path


def view_of(body: bytes) -> Callable[[HttpRequest], HttpResponse]:
    # Without Content-Length gunicorn would send chunks, which is slower.
    headers = {"Content-Length": str(len(body))}

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(body, content_type="application/json", headers=headers)

    return view


urlpatterns = [
    path(file.name.replace(":", "/"), view_of(file.read_bytes()))
    for file in Path(os.environ["BARE_DOCUMENTS"]).iterdir()
]
