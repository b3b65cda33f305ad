"""The parameters of an authorization request as received in the query string (RFC 6749 §3.1, Appendix B).

Names that were repeated, unreadable or too long are kept, so that the error can name the parameter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from django.utils.translation import gettext_lazy as _

from presentation.errors import UntrustedRequestError

LONGEST_QUERY = 8192
FRAGMENT, DIRECT_POST, DIRECT_POST_JWT = "fragment", "direct_post", "direct_post.jwt"
RESPONSE_MODES = (FRAGMENT, DIRECT_POST, DIRECT_POST_JWT)
POSTED = (DIRECT_POST, DIRECT_POST_JWT)
VP_TOKEN, CODE = "vp_token", "code"  # the response types; the second is that of OpenID Connect
QUERY, FORM_POST = "query", "form_post"  # the response modes of OpenID Connect
# In a request with another response type they are unknown.
OF_OPENID_CONNECT = frozenset({"claims", "code_challenge", "code_challenge_method", "max_age", "prompt"})

# The known parameters, and how many characters each may have once decoded.
LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "response_type": 100,
        "response_mode": 100,
        "client_id": 266,  # the longest with a DNS name
        "redirect_uri": 506,  # the longest registrable URI (500) plus a loopback port
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
        "ui_locales": 200,
        "claims": 8192,
        "code_challenge": 128,
        "code_challenge_method": 100,
        "max_age": 100,
        "prompt": 100,
    }
)
SHORTEST_NONCE = 16
VISIBLE = re.compile(r"[\x21-\x7e]+")
# The parameters that pass a whole request, by value or by reference (RFC 9101 §5).
REQUEST_OBJECT_PARAMETERS = frozenset({"request", "request_uri"})

# Matches what a query must not contain (RFC 3986 §3.4, read generously): anything but visible ASCII.
_UNREADABLE = re.compile(rb"[^\x21-\x7e]|%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, repr=False)  # no repr: it would show the e-mail address and payment in logs
class Parameters:
    """The known parameters with their values, and why the value of others cannot be used, by their names.

    A parameter without a value counts as left out, and an unknown one is ignored (RFC 6749 §3.1).
    `values` holds only strings, so it can be stored as JSON and restored.
    """

    values: Mapping[str, str]
    problems: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_query(cls, query_string: str) -> "Parameters":
        """Reads a raw query string (WSGI's `QUERY_STRING`).

        Raises UntrustedRequestError if it is longer than LONGEST_QUERY.
        """
        if len(query_string) > LONGEST_QUERY:
            raise UntrustedRequestError(
                _("The address that brought you here is too long."),
                f"The query string must have at most {LONGEST_QUERY} characters.",
            )
        values_by_name: dict[str, list[str | None]] = {}
        for pair in query_string.split("&"):
            raw_name, _equals, raw_value = pair.partition("=")
            name = raw_name if raw_name in LIMITS else decoded(raw_name)
            if name is not None and name in LIMITS:
                values_by_name.setdefault(name, []).append(decoded(raw_value))
        return cls.of(values_by_name)

    @classmethod
    def of(cls, values_by_name: Mapping[str, list[str | None]]) -> "Parameters":
        """The parameters with these values by name; None stands for a value that could not be read."""
        if not OF_OPENID_CONNECT.isdisjoint(values_by_name) and values_by_name.get("response_type") != [CODE]:
            values_by_name = {
                name: values for name, values in values_by_name.items() if name not in OF_OPENID_CONNECT
            }
        usable, problems = dict[str, str](), dict[str, str]()
        for name, (value, *others) in values_by_name.items():
            if others:
                problems[name] = f"{name} must not be sent more than once"
            elif value is None:
                problems[name] = f"{name} must be percent-encoded UTF-8 without NUL"
            elif len(value) > LIMITS[name]:
                problems[name] = f"{name} must not be longer than {LIMITS[name]} characters"
            elif value:
                usable[name] = value
        return cls(usable, problems)

    def request_object_parameters(self) -> frozenset[str]:
        """Which of REQUEST_OBJECT_PARAMETERS the request has, usable or not."""
        return REQUEST_OBJECT_PARAMETERS & (self.values.keys() | self.problems.keys())

    @property
    def nonce(self) -> str:
        """The nonce that a key binding repeats, and that identifies the request; empty if there is none.

        Many clients of OpenID Connect send none, or a short one. The code challenge is new in every request
        too.
        """
        return self.values.get(self.name_of_nonce, "")

    @property
    def name_of_nonce(self) -> str:
        """The name of the parameter that serves as the nonce."""
        by_code = self.values.get("response_type") == CODE
        if by_code and not is_bindable(self.values.get("nonce", "")) and "code_challenge" in self.values:
            return "code_challenge"
        return "nonce"

    def first_problem(self) -> str | None:
        """The first problem of any parameter, in the order of LIMITS, or None."""
        return next((self.problems[name] for name in LIMITS if name in self.problems), None)


def is_bindable(nonce: str) -> bool:
    """Whether a key binding can repeat this nonce: it is long enough, and of visible ASCII characters."""
    return len(nonce) >= SHORTEST_NONCE and VISIBLE.fullmatch(nonce) is not None


def space_delimited(value: str) -> list[str]:
    """The values of a list such as `scope` (RFC 6749 §3.3), each once, in their order.

    Libraries that put such a list together leave spaces in it that separate nothing; they are ignored.
    """
    return list(dict.fromkeys(filter(None, value.split(" "))))


def spaces_explained(value: str) -> str:
    """The end of an error about a value that must have no space, for its developer; empty if it has none."""
    return "; it has a space, which an unencoded + is read as: send + as %2B" if " " in value else ""


def decoded(raw: str) -> str | None:
    """One decoded name or value of a form-encoded query; None if it is malformed or ambiguous."""
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
