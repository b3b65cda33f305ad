"""The table: groups of scenarios, each of which becomes one file of the record."""

from collections.abc import Callable

from tests.recorded.groups import (
    authorize,
    developers,
    documents,
    holders,
    openid_connect,
    operating,
    outages,
    pushing,
    request_objects,
    sandbox_pages,
    signing_keys,
    tokens,
    wallets,
    webhooks,
)
from tests.recorded.recorder import Recorder

Group = Callable[[Recorder], None]

GROUPS: dict[str, Group] = {
    "documents": documents.run,
    "operating": operating.run,
    "authorize": authorize.run,
    "request-objects": request_objects.run,
    "pushing": pushing.run,
    "tokens": tokens.run,
    "holders": holders.run,
    "wallets": wallets.run,
    "openid-connect": openid_connect.run,
}
SANDBOX_GROUPS: dict[str, Group] = {
    "sandbox-pages": sandbox_pages.run,
    "developers": developers.run,
    "webhooks": webhooks.run,
}
LAST_GROUPS: dict[str, Group] = {"outages": outages.run, "signing-keys": signing_keys.run}
