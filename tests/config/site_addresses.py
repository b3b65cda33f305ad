"""Every address outside the admin."""

import re
import uuid
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

SOMETHING = {"uuid": str(uuid.UUID(int=1)), "int": "1", "str": "x", "slug": "x", "path": "x"}


def _addresses(resolver: URLResolver, ahead: str = "/") -> Iterator[str]:
    """Every URL outside the admin, with values for its parameters."""
    for entry in resolver.url_patterns:
        route = ahead + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield re.sub("<([a-z]+):[a-z_]+>", lambda part: SOMETHING[part[1]], route)
        elif entry.app_name != "admin":
            yield from _addresses(entry, route)


ADDRESSES = list(_addresses(get_resolver()))
