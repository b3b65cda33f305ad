"""How many calls may be under way at once from a process: a slow far end must not take all its threads."""

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager

from infra.outbound.calls import NotReachedError
from infra.waiting import NoThreadFreeError, waiting_for


class NoLaneFreeError(NotReachedError):
    """Too many calls are under way from this process; soon there may be fewer."""


@contextmanager
def lane(called: Hashable) -> Iterator[None]:
    """Make one call to `called` inside. Raises NoLaneFreeError when too many calls are under way."""
    with ExitStack() as held:
        try:
            held.enter_context(waiting_for(called))
        except NoThreadFreeError as error:
            raise NoLaneFreeError("Too many calls are under way.") from error
        yield
