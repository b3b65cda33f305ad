"""Where an answer goes: one registered URI, compared as an exact string (RFC 9700 §2.1, §4.1.3).

The browser carries it there in a fragment, or it is posted (OpenID4VP 1.0 §8.2).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from presentation.errors import UntrustedRequestError

# Native applications listen on a port they cannot know in advance (RFC 8252 §7.3): for these two literal
# hosts, and only these, the port may differ.
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]))(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)", re.DOTALL)


FRAGMENT, DIRECT_POST, DIRECT_POST_JWT = "fragment", "direct_post", "direct_post.jwt"
RESPONSE_MODES = (FRAGMENT, DIRECT_POST, DIRECT_POST_JWT)
POSTED = (DIRECT_POST, DIRECT_POST_JWT)


@dataclass(frozen=True)
class ReturnAddress:
    """The way home. Made with `registered`, so holding one proves that answers may go there.

    `state` is what the request said, byte for byte, or None when it said nothing.
    """

    uri: str
    state: str | None = None
    response_mode: str = FRAGMENT

    @classmethod
    def registered(
        cls,
        uri: str,
        registered_uris: Iterable[str],
        *,
        state: str | None = None,
        response_mode: str = FRAGMENT,
    ) -> "ReturnAddress":
        """The address `uri`, if it is one of the registered URIs; raises UntrustedRequestError if not.

        For an answer that is posted these are the response URIs, otherwise the redirect URIs.
        """
        posted = response_mode in POSTED
        if not (uri in registered_uris if posted else is_registered(uri, registered_uris)):
            kind = "response" if posted else "redirect"
            raise UntrustedRequestError(
                _("The application that sent you here wants its answer at an address it has not registered."),
                f"{kind}_uri must equal a registered {kind} URI, character for character",
            )
        return cls(uri, state, response_mode)

    @property
    def posted(self) -> bool:
        """Whether the answer is posted there, instead of carried by the browser."""
        return self.response_mode in POSTED

    @property
    def destination(self) -> str:
        """Where that is, in short, for people: the host, or the scheme an app on the device answers to."""
        parts = urlsplit(self.uri)
        return parts.hostname or "" if parts.scheme in ("https", "http") else parts.scheme


def is_registered(uri: str, registered_uris: Iterable[str]) -> bool:
    """Whether `uri` is registered, or differs from a registered loopback URI in nothing but its port."""
    return any(uri == candidate or _same_but_for_port(uri, candidate) for candidate in registered_uris)


def _same_but_for_port(uri: str, registered: str) -> bool:
    ours, theirs = _LOOPBACK.fullmatch(registered), _LOOPBACK.fullmatch(uri)
    if ours is None or theirs is None or int(theirs[2] or 80) > 65535:
        return False
    return (ours[1], ours[3]) == (theirs[1], theirs[3])
