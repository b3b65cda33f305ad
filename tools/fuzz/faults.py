"""Faults that a test puts into the service, to see that a fuzz run finds them."""

from collections.abc import Callable


def nothing() -> None:
    """No fault."""


def unguarded_ascii() -> None:
    """Tokens with characters outside ASCII reach the verification of signatures."""
    from keys import jws

    class Careless(str):
        def isascii(self) -> bool:
            return True

    careful = jws.take_apart
    from presentation.relying_parties.authentication import access_tokens, signed_jwt

    for module in (access_tokens, signed_jwt):
        module.take_apart = lambda token: careful(Careless(token))  # type: ignore[attr-defined]


def any_redirect() -> None:
    """Every redirect URI counts as registered."""
    from presentation.requests import client

    client.is_registered = lambda uri, registered: True  # type: ignore[assignment]


FAULTS: dict[str, Callable[[], None]] = {
    "nothing": nothing,
    "unguarded-ascii": unguarded_ascii,
    "any-redirect": any_redirect,
}
