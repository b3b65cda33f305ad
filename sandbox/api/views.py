"""The description of the endpoints as JSON for programs and as a page for people."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from infra import cross_origin
from infra.reading import only_read
from sandbox.api.description import description, errors, groups


@only_read
def document(request: HttpRequest) -> HttpResponse:
    """The OpenAPI 3.1 document. Pages of every origin may read it."""
    said, headers = description(settings.BASE_URL), cross_origin.READABLE
    return JsonResponse(said, headers=headers, json_dumps_params={"indent": 1})


@only_read
def page(request: HttpRequest) -> HttpResponse:
    """The same document as a page for people."""
    facts = {"groups": groups(settings.BASE_URL), "errors": errors(settings.BASE_URL)}
    return render(request, "developer/api.html", facts | {"base_url": settings.BASE_URL})
