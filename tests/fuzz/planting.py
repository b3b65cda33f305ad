"""Faults put into the service on purpose, so that a test can see that they are found."""

from collections.abc import Callable


def nothing() -> None:
    """The service as it is."""


def unguarded_ascii() -> None:
    """Tokens beyond ASCII reach the signature's check, as they once did."""
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


PLANTS: dict[str, Callable[[], None]] = {
    "nothing": nothing,
    "unguarded-ascii": unguarded_ascii,
    "any-redirect": any_redirect,
}
