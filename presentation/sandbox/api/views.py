"""The description of the endpoints for machines: for programs as OpenAPI, for people as a page."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from presentation.sandbox.api.openapi import openapi
from presentation.sandbox.api.page import groups
from wallet.reading import only_read


@only_read
def document(request: HttpRequest) -> HttpResponse:
    """The OpenAPI 3.1 document; any page may read it."""
    return JsonResponse(
        openapi(), headers={"Access-Control-Allow-Origin": "*"}, json_dumps_params={"indent": 1}
    )


@only_read
def page(request: HttpRequest) -> HttpResponse:
    """The same to be read."""
    description = openapi()
    facts = {"groups": groups(description), "base_url": description["servers"][0]["url"]}
    return render(request, "developer/api.html", facts)
