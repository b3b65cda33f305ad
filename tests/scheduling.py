"""Which tests of a parallel run one process takes together: those of a module with fixtures of its own."""

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent


class ByModuleFixture(LoadScopeScheduling):
    """Keeps the tests of such a module together, and shares out all others one by one.

    Not xdist's own groups: with pytest 9.2 xdist 3.8 does not see the marks that name them.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if _has_module_fixture(path) else nodeid

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forgets finished scopes: xdist counts through all of a process after each of ten thousand tests."""
        super().mark_test_complete(node, item_index, duration)
        scopes = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(scopes[scope].values()):
            del scopes[scope]


@cache
def _has_module_fixture(path: str) -> bool:
    return 'scope="module"' in (ROOT / path).read_text()
