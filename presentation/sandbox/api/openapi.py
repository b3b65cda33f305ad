"""The OpenAPI 3.1 document of this service, made by drf-spectacular from `described`."""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import URLPattern, path
from django.utils.functional import Promise
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.views import APIView

from presentation.sandbox.api.described import ENDPOINTS
from presentation.sandbox.api.described_webhooks import WEBHOOKS
from presentation.sandbox.api.description import SECURITY, Described


def openapi() -> dict[str, Any]:
    """The document, as JSON has it."""
    return _made(settings.BASE_URL)


@cache
def _made(base_url: str) -> dict[str, Any]:
    made = SchemaGenerator(patterns=[_pattern(endpoint) for endpoint in ENDPOINTS]).get_schema(public=True)
    made["servers"] = [{"url": base_url}]
    made["components"]["securitySchemes"] = SECURITY
    made["webhooks"] = WEBHOOKS
    for endpoint in ENDPOINTS:
        if endpoint.body:
            made["paths"][f"/{endpoint.path}"][endpoint.method]["requestBody"]["required"] = True
    plain: dict[str, Any] = json.loads(json.dumps(made, default=_in_words))
    return plain


def _in_words(value: object) -> str:
    if isinstance(value, Promise):
        return str(value)
    raise TypeError(type(value).__name__)


def _pattern(endpoint: Described) -> URLPattern:
    """A route to a view that only describes; what answers is routed in `config.urls`."""

    def method(self: APIView, request: Any) -> None:
        raise NotImplementedError

    describe = extend_schema(
        operation_id=endpoint.name,
        summary=str(endpoint.summary),
        description=str(endpoint.about),
        tags=[str(endpoint.group)],
        parameters=[*_query(endpoint), *_headers(endpoint)],
        request=dict(endpoint.body) or None,
        responses={
            (answer.status, answer.media): OpenApiResponse(answer.schema, description=str(answer.about))
            for answer in endpoint.answers
        },
        auth=[{name: []} if name else {} for name in endpoint.auth],  # type: ignore[misc]
    )
    view: type[APIView] = type(
        endpoint.name, (APIView,), {endpoint.method: describe(method), "schema": AutoSchema()}
    )
    return path(endpoint.path, view.as_view())


def _query(endpoint: Described) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(
            name,
            {member: value for member, value in schema.items() if member != "required"},
            description=str(about),
            required=schema.get("required", False),
        )
        for name, (about, schema) in endpoint.query.items()
    ]


def _headers(endpoint: Described) -> list[OpenApiParameter]:
    return [
        OpenApiParameter(name, str, OpenApiParameter.HEADER, required=True, response=[answer.status])
        for answer in endpoint.answers
        for name in answer.headers
    ]
