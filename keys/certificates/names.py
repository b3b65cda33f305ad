"""For which host a certificate is. Pure."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509

from keys.certificates.chain import extension


def is_for_host(certificate: x509.Certificate, url: Any) -> bool:
    """Whether it names the host of an address, without a wildcard (RFC 5280 §4.2.1.6).

    Raises the errors of `cryptography` about malformed certificates.
    """
    host = _host(url)
    names = extension(certificate, x509.SubjectAlternativeName)
    if not host or names is None:
        return False
    try:
        return ip_address(host) in names.get_values_for_type(x509.IPAddress)
    except ValueError:
        return host in [name.lower() for name in names.get_values_for_type(x509.DNSName)]


def _host(url: Any) -> str:
    try:
        return urlsplit(url).hostname or "" if isinstance(url, str) else ""
    except ValueError:
        return ""
