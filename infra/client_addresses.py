"""Which client a request comes from, for limits: reads what proxies write into `X-Forwarded-For`. Pure.

An entry names a node as RFC 7239 §6 defines it, or as proxies write it: with or without a port, brackets and
quotes. A client can write entries of its own, but only to the left of those of the proxies.
"""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_LONGEST = 200  # characters of an entry; an address with its zone, a port and all quotes has fewer than 80
# A parameter of an element of `Forwarded` (RFC 7239 §4), for proxies that pass that on as `X-Forwarded-For`.
# A value has no escaped quote, so that nothing inside of quotes can look like a parameter of its own.
_PARAMETER = re.compile(r'[ \t]*([A-Za-z]+)=("[^"\\]*"|[^\s"\\;=]+)[ \t]*(?:;|$)')
_BRACKETED = re.compile(r"\[([^\[\]]*)\](?::(?:[0-9]{1,5}|_[0-9A-Za-z._-]+))?")
_WITH_PORT = re.compile(r"(.+):(?:[0-9]{1,5}|_[0-9A-Za-z._-]+)")  # RFC 7239 §6.2

_UNSPECIFIED = str(IPv4Address(0))  # also inside of an IPv6 address
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052 §2.1
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")  # RFC 8215


def forwarded(header: str, proxies: int) -> str:
    """The entry of the outermost of so many trusted proxies; empty if there are fewer entries.

    header: all values of `X-Forwarded-For`, joined by commas. Each proxy has added one entry on the right.
    Empty entries count: a proxy that does not know the client must not make what a client wrote count.
    """
    entries = header.rsplit(",", proxies)
    return entries[-proxies] if len(entries) >= proxies else ""


def read(entry: str) -> str | None:
    """The client that the entry names, as limits count it; None if it does not name one by its address.

    It names none if it is empty, `unknown` or obfuscated (RFC 7239 §6.3), the unspecified address, or
    anything else that is not an IP address.
    """
    if len(entry) > _LONGEST:
        return None
    node = entry.strip(" \t")
    if "=" in node:
        node = _for_parameter(node)
    if len(node) > 1 and node[0] == node[-1] == '"':
        node = node[1:-1]
    parsed = _address(node)
    counted = _counted(parsed) if parsed and not parsed.is_unspecified else None
    return None if counted == _UNSPECIFIED else counted


def _for_parameter(element: str) -> str:
    """The value of the only `for` in an element of `Forwarded`; empty if there is not exactly one."""
    named, end = [], 0
    while end < len(element):
        parameter = _PARAMETER.match(element, end)
        if parameter is None:
            return ""
        if parameter[1].lower() == "for":
            named.append(parameter[2])
        end = parameter.end()
    return named[0] if len(named) == 1 else ""


def _address(node: str) -> IPv4Address | IPv6Address | None:
    """The address of a node; the port is left out.

    Without brackets a port is only found if there is no address with it: `2001:db8::1:8080` is an address.
    """
    if bracketed := _BRACKETED.fullmatch(node):
        return _parsed(bracketed[1])
    with_port = _WITH_PORT.fullmatch(node)
    return _parsed(node) or (_parsed(with_port[1]) if with_port else None)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _counted(address: IPv4Address | IPv6Address) -> str:
    """The IPv4 address, also one inside an IPv6 address; else the /64 network that one subscriber has.

    Whoever has an IPv4 address has all IPv6 addresses that are made of it: with 6to4 those are 65,536
    networks of /64. With NAT64 and Teredo all clients of a translator or server are in one such network.
    """
    if isinstance(address, IPv4Address):
        return str(address)
    inside = address.ipv4_mapped or address.sixtofour or _by_teredo(address) or _by_nat64(address)
    if inside:
        return str(inside)
    if address in _LOCAL_NAT64:
        return str(IPv6Address(int(address)))
    return str(IPv6Network((int(address), 64), strict=False))


def _by_teredo(address: IPv6Address) -> IPv4Address | None:
    """The client's address as its Teredo server saw it (RFC 4380 §4)."""
    server_and_client = address.teredo
    return server_and_client[1] if server_and_client else None


def _by_nat64(address: IPv6Address) -> IPv4Address | None:
    """The address that a translator has put into the last 32 bits (RFC 6052 §2.2).

    Below the local-use prefix a network may choose a shorter prefix than /96. Then the address stands further
    left, nobody else can tell where, and the last 24 bits are zero. Such an IPv6 address is counted as a
    whole, because it belongs to one IPv4 address in any case.
    """
    number = int(address)
    # Bits 64 to 71 are zero in any case.
    in_the_end = number & 0xFFFFFF and not number >> 56 & 0xFF
    if address in _NAT64 or (address in _LOCAL_NAT64 and in_the_end):
        return IPv4Address(number & 0xFFFFFFFF)
    return None
