"""Moves rows when a wallet is merged into another one of the same person, and then deleted.

The apps above keep rows of a wallet and register functions that move them, because imports only go down.
"""

from collections.abc import Callable

from wallet.models import Wallet

Bring = Callable[[Wallet, Wallet], None]

_brings: list[Bring] = []


def register(bring: Bring) -> None:
    """Adds a function of an app, called from its `AppConfig.ready`. Registering it twice has no effect.

    bring: takes the wallet that ends and the one that stays, and runs inside the transaction that merges.
    """
    if bring not in _brings:
        _brings.append(bring)


def bring_all(source: Wallet, into: Wallet) -> None:
    """Give what all apps keep of `source` to `into`."""
    for bring in _brings:
        bring(source, into)
