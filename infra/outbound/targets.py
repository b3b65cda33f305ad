"""The URLs that a relying party may make this service call: https, on public networks. Pure.

A registered URL decides where we connect (RFC 9101 §10.4.1, OpenID4VP 1.0 §14). It must never lead to this
machine, its private network or the metadata service of a cloud.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from infra.registering import NotRegistrableError

LONGEST = 500
Address = IPv4Address | IPv6Address

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_VISIBLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}")
# Not public (IANA's special-purpose registries), although some versions of Python consider them global.
_SPECIAL: tuple[IPv4Network | IPv6Network, ...] = (
    *(IPv4Network(text) for text in ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15")),
    *(IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "2001::/23")),
    *(IPv6Network(text) for text in ("2002::/16", "3fff::/20", "5f00::/16", "fec0::/10")),
)
_NAT64 = IPv6Network("64:ff9b::/96")  # embeds an IPv4 address, which is checked instead (RFC 6052)


class TargetError(NotRegistrableError):
    """The URL may not be called; `reason` is for the person who registers it."""


@dataclass(frozen=True)
class Target:
    """The parts of a URL: where to connect, and the path to request."""

    host: str
    port: int
    path: str  # with the query
    tls: bool = True  # False only for loopback addresses

    @property
    def authority(self) -> str:
        """The value of the `Host` header (RFC 9110 §7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parse(url: str, *, loopback: bool = False) -> Target:
    """The target of an https URL; raises TargetError for a URL that is wrong or ambiguous.

    loopback: http on this machine is accepted, too, for developers' machines.
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
    """Whether the address belongs to the public Internet."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if any(address in network for network in _SPECIAL if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def is_unicast(address: Address) -> bool:
    """Whether the address may belong to one machine anywhere, also in a private network."""
    return not (address.is_multicast or address.is_unspecified)


def is_loopback(address: Address) -> bool:
    """Whether the address is this machine itself."""
    return address.is_loopback


def as_address(text: str) -> Address:
    """The address that the resolver wrote, without the zone (`%eth0`) of a link-local address."""
    return ip_address(text.partition("%")[0])
