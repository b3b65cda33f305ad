"""Addresses that developers may register by themselves: on their own machine, or under their domain. Pure.

Without this rule the sandbox would be an open redirector (RFC 9700 §4.11.2).
"""

from urllib.parse import SplitResult, urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_local(uri: str) -> bool:
    """Whether `uri` is on the machine of the browser that opens it."""
    parts = _parts(uri)
    return parts.scheme in ("http", "https") and (parts.hostname or "") in LOOPBACK


def is_under(uri: str, domain: str) -> bool:
    """Whether the host of `uri` is `domain` or below it."""
    parts = _parts(uri)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https"):  # a reversed domain name (RFC 8252 §7.1)
        host = ".".join(reversed(parts.scheme.split(".")))
    return host == domain or host.endswith("." + domain)


def _parts(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        return urlsplit("")
