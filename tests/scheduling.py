"""Which tests of a parallel run one process takes together: those of a module with fixtures of its own."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent


class ByModuleFixture(LoadScopeScheduling):
    """Keeps the tests of such a module together, and shares out all others one by one.

    Not xdist's own groups: with pytest 9.2 xdist 3.8 does not see the marks that name them.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if _has_module_fixture(path) else nodeid


@cache
def _has_module_fixture(path: str) -> bool:
    return 'scope="module"' in (ROOT / path).read_text()
