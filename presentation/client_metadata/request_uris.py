"""Where relying applications publish signed requests: registered in advance (RFC 9101 §10.4). Pure."""

import re
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from presentation.outbound.targets import TargetError, parse

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# What servers read in more than one way: steps upwards, and slashes that are not to be seen.
_AMBIGUOUS = re.compile(r"/\.{1,2}(?:[/?]|$)|%2e|%2f|%5c|//", re.IGNORECASE)


def problem_with(prefix: str) -> "StrOrPromise | None":
    """Why this cannot be registered, for the person who typed it; None when it can."""
    try:
        target = parse(prefix)
    except TargetError as error:
        return error.reason
    if not prefix.endswith("/") and target.path == "/":
        return _("End the address with a slash, or name the one that is meant.")
    return _("The address has steps in it that can be read in two ways.") if _odd(prefix) else None


def is_registered(uri: str, prefix: str) -> bool:
    """Whether `uri` is the registered address, or below it where that ends with a slash."""
    below = prefix.endswith("/") and uri.startswith(prefix)
    return bool(prefix) and (below or uri == prefix) and problem_with(uri) is None


def _odd(uri: str) -> bool:
    return bool(_AMBIGUOUS.search(uri.partition("://")[2]))
