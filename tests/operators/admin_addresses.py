"""Every address of the admin."""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, URLResolver


def addresses(found: Any = None, before: str = "/admin/") -> Iterator[str]:
    """Every URL of the site, with `{}` for the parameter in the path."""
    for entry in admin.site.get_urls() if found is None else found:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, route)
        elif isinstance(entry, URLPattern) and not route.endswith("$"):
            yield re.sub(r"<[^>]+>", "{}", route)
