"""The parameters of an authorization request as they stood in the query string (RFC 6749 §3.1, Appendix B).

Names that were repeated, unreadable or too long are remembered, so that whoever reads the value can say so.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.translation import gettext_lazy as _

from presentation.errors import UntrustedRequestError

LONGEST_QUERY = 8192
FRAGMENT, DIRECT_POST, DIRECT_POST_JWT = "fragment", "direct_post", "direct_post.jwt"
RESPONSE_MODES = (FRAGMENT, DIRECT_POST, DIRECT_POST_JWT)
POSTED = (DIRECT_POST, DIRECT_POST_JWT)

# The parameters this service knows, and how many characters each may have once decoded.
LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "response_type": 100,
        "response_mode": 100,
        "client_id": 100,
        "redirect_uri": 506,  # the longest that can be registered, and a loopback port
        "response_uri": 500,
        "client_metadata": 8192,
        "scope": 1000,
        "dcql_query": 16384,
        "login_hint": 254,
        "nonce": 512,
        "state": 2048,
        "transaction_data": 32768,
        "request": 65536,
        "request_uri": 512,
        "request_uri_method": 100,
    }
)
CARRIERS = frozenset({"request", "request_uri"})  # what a whole request may be carried in (RFC 9101 §5)

# What a query may consist of (RFC 3986 §3.4, generously): visible ASCII, no whitespace.
_UNREADABLE = re.compile(rb"[^\x21-\x7e]|%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, repr=False)  # it names a person and perhaps a payment
class Parameters:
    """Known parameters with a value, each once; and the names whose value cannot be used.

    A parameter without a value counts as left out, and an unknown one is ignored (RFC 6749 §3.1).
    `values` is a plain dict of strings, so it can be stored as JSON and made into `Parameters` again.
    """

    values: Mapping[str, str]
    repeated: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()
    oversized: frozenset[str] = frozenset()

    @classmethod
    def from_query(cls, query_string: str) -> "Parameters":
        """Reads the raw query string, as in WSGI's `QUERY_STRING`.

        Raises UntrustedRequestError if it is longer than LONGEST_QUERY.
        """
        if len(query_string) > LONGEST_QUERY:
            raise UntrustedRequestError(
                _("The address that brought you here is too long."),
                f"The query string may have {LONGEST_QUERY} characters.",
            )
        found: dict[str, list[str | None]] = {}
        for pair in query_string.split("&"):
            raw_name, _equals, raw_value = pair.partition("=")
            name = decoded(raw_name)
            if name is not None and name in LIMITS:
                found.setdefault(name, []).append(decoded(raw_value))
        return cls.of(found)

    @classmethod
    def of(cls, found: Mapping[str, list[str | None]]) -> "Parameters":
        """From the values each known name was found with; None for what could not be read."""
        repeated = frozenset(name for name, values in found.items() if len(values) > 1)
        once = {name: values[0] for name, values in found.items() if name not in repeated}
        unreadable = frozenset(name for name, value in once.items() if value is None)
        read = {name: value for name, value in once.items() if value}
        oversized = frozenset(name for name, value in read.items() if len(value) > LIMITS[name])
        usable = {name: value for name, value in read.items() if name not in oversized}
        return cls(usable, repeated, unreadable, oversized)

    def get(self, name: str) -> str | None:
        """The value of a known parameter, or None if it was left out or cannot be used."""
        if name not in LIMITS:
            raise KeyError(name)
        return self.values.get(name)

    def carriers(self) -> frozenset[str]:
        """Which of CARRIERS were sent, usable or not."""
        return CARRIERS & (self.values.keys() | self.repeated | self.unreadable | self.oversized)

    def problem(self, name: str) -> str | None:
        """Why the parameter cannot be used although it was sent, or None."""
        if name in self.repeated:
            return f"{name} must not be sent more than once"
        if name in self.unreadable:
            return f"{name} must be percent-encoded UTF-8 without NUL"
        if name in self.oversized:
            return f"{name} must not be longer than {LIMITS[name]} characters"
        return None

    def first_problem(self) -> str | None:
        """The first problem of any parameter, in the order of LIMITS, or None."""
        return next((problem for name in LIMITS if (problem := self.problem(name))), None)


def decoded(raw: str) -> str | None:
    """One name or value of a form-encoded query, or None if it cannot be read unambiguously."""
    try:
        encoded = raw.encode("ascii")
    except UnicodeEncodeError:
        return None
    if _UNREADABLE.search(encoded):
        return None
    octets = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), encoded.replace(b"+", b" "))
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text
