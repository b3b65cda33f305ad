"""Where this service may be made to connect: https addresses in registered URLs, and public networks. Pure.

What a relying application registers decides where we connect (RFC 9101 §10.4.1, OpenID4VP 1.0 §14): never to
ourselves, our neighbours or the cloud's own addresses.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LONGEST = 500
Address = IPv4Address | IPv6Address

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_VISIBLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}")
# Not of the public Internet, whatever the version of Python thinks (IANA's special-purpose registries).
_SPECIAL: tuple[IPv4Network | IPv6Network, ...] = (
    *(IPv4Network(text) for text in ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15")),
    *(IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "2001::/23")),
    *(IPv6Network(text) for text in ("2002::/16", "3fff::/20", "5f00::/16", "fec0::/10")),
)
_NAT64 = IPv6Network("64:ff9b::/96")  # a translator's: what counts is the IPv4 address inside (RFC 6052)


class TargetError(ValueError):
    """The URL may not be called; `reason` says why to the person who registered it."""

    def __init__(self, reason: "StrOrPromise") -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True)
class Target:
    """A URL, taken apart: whom to connect to, and what to ask there."""

    host: str
    port: int
    path: str  # with the query
    tls: bool = True  # False only for this machine itself

    @property
    def authority(self) -> str:
        """As the `Host` header has it (RFC 9110 §7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parse(url: str, *, loopback: bool = False) -> Target:
    """The target of an https URL; raises TargetError for whatever could be read in two ways.

    loopback: http on this machine is a target as well, for developers' machines.
    """
    if len(url) > LONGEST or not _VISIBLE.fullmatch(url) or "\\" in url:
        raise TargetError(_("Enter an address of at most 500 characters, without spaces."))
    try:
        parts = urlsplit(url)
        port = (443 if parts.scheme == "https" else 80) if parts.port is None else parts.port
    except ValueError:
        raise TargetError(_("The host or port is not valid.")) from None
    tls = not (loopback and parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if tls and parts.scheme != "https":
        raise TargetError(_("Enter an address that begins with https://."))
    if "@" in parts.netloc or "#" in url:
        raise TargetError(_("An address without user information (@) and fragment (#) is needed."))
    if not parts.hostname or not _HOST.fullmatch(parts.hostname) or port == 0:
        raise TargetError(_("The host or port is not valid."))
    query = f"?{parts.query}" if parts.query else ""
    return Target(parts.hostname, port, (parts.path or "/") + query, tls)


def is_public(address: Address) -> bool:
    """Whether it is an address of the public Internet."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if any(address in network for network in _SPECIAL if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def is_loopback(address: Address) -> bool:
    """Whether it is this machine itself."""
    return address.is_loopback


def as_address(text: str) -> Address:
    """An address as the resolver wrote it, without the zone (`%eth0`) of a link-local one."""
    return ip_address(text.partition("%")[0])
