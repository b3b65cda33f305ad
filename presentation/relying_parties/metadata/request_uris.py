"""Rules for the registered addresses of signed requests (RFC 9101 §10.4). Pure."""

import re
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext_lazy as _

from infra.outbound.targets import TargetError, parse
from infra.words import Words

# Characters that one server may read as the end of a segment or of the path, and another may not.
_DIVIDES = re.compile(r"[\x00-\x1f\x7f/\\%;?#]")


def problem_with(prefix: str, *, loopback: bool = False) -> Words | None:
    """Why this address cannot be registered, for the operator; None if it can.

    loopback: accept http on this machine.
    """
    try:
        target = parse(prefix, loopback=loopback)
    except TargetError as error:
        return error.reason
    if not prefix.endswith("/") and target.path == "/":
        return _("End the address with a slash, or name the one that is meant.")
    if _leads_elsewhere(urlsplit(prefix).path):
        return _("The address has steps in it that can be read in two ways.")
    return None


def is_registered(uri: str, prefix: str, *, loopback: bool = False) -> bool:
    """Whether `uri` is the registered address, or below it if the address ends with a slash."""
    below = prefix.endswith("/") and uri.startswith(prefix)
    return bool(prefix) and (below or uri == prefix) and problem_with(uri, loopback=loopback) is None


def _leads_elsewhere(path: str) -> bool:
    """Whether a server that decodes the path differently could read another path."""
    *segments, last = path.split("/")[1:] or [""]
    return "" in segments or any(map(_is_ambiguous, [*segments, last]))


def _is_ambiguous(segment: str) -> bool:
    try:
        plain = normalize("NFKC", unquote(segment, errors="strict"))
    except UnicodeDecodeError:
        return True
    return bool(_DIVIDES.search(plain)) or (plain != "" and not plain.strip(". "))
