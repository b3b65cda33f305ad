"""The table: groups of stories, each of which becomes one file of the record."""

from collections.abc import Callable

from tests.recorded.groups import (
    authorize,
    developers,
    documents,
    holders,
    operating,
    playing,
    pushing,
    request_objects,
    tokens,
    wallets,
    webhooks,
)
from tests.recorded.stage import Stage

Group = Callable[[Stage], None]

GROUPS: dict[str, Group] = {
    "documents": documents.play,
    "authorize": authorize.play,
    "request-objects": request_objects.play,
    "pushing": pushing.play,
    "tokens": tokens.play,
    "holders": holders.play,
    "wallets": wallets.play,
}
SANDBOX_GROUPS: dict[str, Group] = {
    "playing": playing.play,
    "developers": developers.play,
    "webhooks": webhooks.play,
}
LAST_GROUPS: dict[str, Group] = {"operating": operating.play}  # changes what all others depend on
