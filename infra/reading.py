"""Pages that are only read: every method but GET and HEAD is refused as such (RFC 9110 §15.5.6)."""

from collections.abc import Callable
from typing import TypeVar

from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

View = TypeVar("View", bound=Callable[..., object])


def only_read(view: View) -> View:
    """A view that answers other methods with 405 and `Allow`.

    The check of forms comes before any view and would speak of a page left open; here it guards nothing.
    """
    return csrf_exempt(require_safe(view))
