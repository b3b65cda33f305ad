"""Redirect URIs that developers may register alone: on their own machine, or under a domain of theirs. Pure.

If anybody could register any address, this service would be an open redirector (RFC 9700 §4.11.2).
"""

from urllib.parse import SplitResult, urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_local(uri: str) -> bool:
    """Whether answers at `uri` stay on the machine of whoever opens it."""
    parts = _parts(uri)
    return parts.scheme in ("http", "https") and (parts.hostname or "") in LOOPBACK


def is_under(uri: str, domain: str) -> bool:
    """Whether `uri` belongs to whoever has the domain."""
    parts = _parts(uri)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https"):  # domain names in reverse (RFC 8252 §7.1)
        host = ".".join(reversed(parts.scheme.split(".")))
    return host == domain or host.endswith("." + domain)


def _parts(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        return urlsplit("")
