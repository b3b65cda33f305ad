"""Faults that a test puts into the service, to see that a fuzz run finds them."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch


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
        patch.object(module, "take_apart", lambda token: careful(Careless(token))).start()


def any_redirect() -> None:
    """Every redirect URI counts as registered."""
    from presentation.requests import client

    patch.object(client, "is_registered", lambda uri, registered: True).start()


def careless_receipts() -> None:
    """A statement that is no receipt raises an error that the page does not expect."""
    from consent import statements

    def read(token: str) -> dict[str, Any]:
        raise KeyError(token)

    patch.object(statements, "read", read).start()


def careless_library() -> None:
    """The Python library raises an error of its parts instead of its own."""
    from tools.fuzz.verifiers import load_library

    library = load_library()
    careful = library.Wallet.finish

    def finish(*arguments: Any) -> Any:
        try:
            return careful(*arguments)
        except library.Rejected as error:
            raise LookupError(error.check) from error

    patch.object(library.Wallet, "finish", finish).start()


FAULTS: dict[str, Callable[[], None]] = {
    "nothing": nothing,
    "unguarded-ascii": unguarded_ascii,
    "any-redirect": any_redirect,
    "careless-receipts": careless_receipts,
    "careless-library": careless_library,
}
