"""The table: groups of stories, each of which becomes one file of the record."""

from collections.abc import Callable

from tests.recorded.groups import authorize, documents, pushing, request_objects, tokens
from tests.recorded.stage import Stage

Group = Callable[[Stage], None]

GROUPS: dict[str, Group] = {
    "documents": documents.play,
    "authorize": authorize.play,
    "request-objects": request_objects.play,
    "pushing": pushing.play,
    "tokens": tokens.play,
}
SANDBOX_GROUPS: dict[str, Group] = {}
