"""Read-only pages: every method except GET and HEAD is refused (RFC 9110 §15.5.6)."""

from collections.abc import Callable
from typing import TypeVar

from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

View = TypeVar("View", bound=Callable[..., object])


def only_read(view: View) -> View:
    """The view, which answers other methods with 405 and `Allow`.

    Exempt from the cross-site check, which would run first and refuse them with a misleading page.
    """
    return csrf_exempt(require_safe(view))
