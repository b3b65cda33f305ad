"""Checks the base address of the service: an origin exactly as browsers write it (RFC 6454 §6.1). Pure.

The issuer, `Origin` headers and certificates are compared character for character, so another spelling of the
same address is refused.
"""

import ipaddress
import re
from contextlib import suppress

LONGEST = 300  # characters; a host name has at most 253 (RFC 1035 §2.3.4)
_SHAPE = re.compile(r"(https?)://(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def fault(url: str) -> str:
    """The fault of the base address, as the end of a sentence; empty if there is none."""
    shape = _SHAPE.fullmatch(url) if len(url) <= LONGEST else None
    if shape is None:
        return "must be an origin such as https://wallet.example: lower case, without a path or a user"
    scheme, host, port = shape.groups()
    if not _is_host(host):
        return "must name a host as browsers write it, such as wallet.example, 192.0.2.1 or [2001:db8::1]"
    if port and int(port) > 65535:
        return "must have a port from 1 to 65535"
    if port and int(port) == _DEFAULT_PORTS[scheme]:
        return f"must leave out the port {port}, as browsers do"
    return ""


def _is_host(host: str) -> bool:
    if host.startswith("["):
        with suppress(ValueError):
            return str(ipaddress.IPv6Address(host[1:-1])) == host[1:-1]
        return False
    if host.rpartition(".")[2].isdigit() or host.rpartition(".")[2].startswith("0x"):
        with suppress(ValueError):
            return str(ipaddress.IPv4Address(host)) == host
        return False
    return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in host.split("."))
