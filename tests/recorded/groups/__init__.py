"""The table: groups of stories, each of which becomes one file of the record."""

from collections.abc import Callable

from tests.recorded.groups import (
    authorize,
    developers,
    documents,
    holders,
    operating,
    outages,
    playing,
    pushing,
    request_objects,
    signing_keys,
    tokens,
    wallets,
    webhooks,
)
from tests.recorded.stage import Stage

Group = Callable[[Stage], None]

GROUPS: dict[str, Group] = {
    "documents": documents.play,
    "operating": operating.play,
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
LAST_GROUPS: dict[str, Group] = {"outages": outages.play, "signing-keys": signing_keys.play}
