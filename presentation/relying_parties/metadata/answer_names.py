"""The names of the parameters of answers, which the query of a registered address must leave free. Pure.

An application that reads a name from its address may otherwise get the value that was registered, and not
that of the answer: another `state` passes for its own, an `error` hides the `code`. One list for both sides:
an answer has no other names (`client.parameters_of`), and no query with one is registered (`in_query`).
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus, urlsplit

# Parameters of authorization responses in IANA's registry of OAuth parameters, and the one of OpenID Connect
# Session Management 1.0 §2. Also those that this service does not send, because libraries read them.
OF_ANSWERS = frozenset(
    {
        *("code", "state", "iss", "error", "error_description", "error_uri"),  # RFC 6749 §4.1.2, RFC 9207 §2
        *("access_token", "token_type", "expires_in", "scope"),  # RFC 6749 §4.2.2
        *("id_token", "session_state"),  # Multiple Response Types §5
        *("vp_token", "response"),  # OpenID4VP 1.0 §8.1, §8.3
    }
)
# Parameters with which a request is begun at `initiate_login_uri` (OpenID Connect Core 1.0 §4).
OF_BEGINNINGS = frozenset({"iss", "login_hint", "target_link_uri"})


def in_query(uri: str, names: Iterable[str] = OF_ANSWERS) -> list[str]:
    """Those of the names that an application may find in the query of this URI, in alphabetical order."""
    query_names = {_as_read(pair.partition("=")[0]) for pair in re.split("[&;]", urlsplit(uri).query)}
    return sorted(query_names & set(names))


def _as_read(name: str) -> str:
    """What the name means to the frameworks that take most for the same.

    Some ignore case, read `state[]` and `state[0]` as a list `state`, a dot and a space as `_`, drop spaces
    before it and everything behind a NUL, or decode before they look for the `=`.
    """
    plain = unquote_plus(name, errors="replace").partition("\x00")[0].strip()
    plain = re.split(r"[\[=]", plain)[0]
    return re.sub(r"[. ]", "_", plain).casefold()
