"""The patterns of the service's addresses."""

from collections.abc import Iterator
from functools import cache
from typing import Any


def route_of(path: str) -> str:
    """The pattern of the URLconf that matches a path."""
    from django.urls import Resolver404, resolve

    if path.startswith("/static/"):
        return "/static/"
    try:
        return "/" + resolve(path or "/").route
    except Resolver404:
        return "(nowhere)"


@cache
def routes() -> tuple[str, ...]:
    """Every pattern of the URLconf."""
    from django.urls import get_resolver

    def walk(patterns: Any, before: str) -> Iterator[str]:
        for pattern in patterns:
            route = before + str(pattern.pattern)
            if hasattr(pattern, "url_patterns"):
                yield from walk(pattern.url_patterns, route)
            else:
                yield route

    return tuple(walk(get_resolver().url_patterns, "/"))
