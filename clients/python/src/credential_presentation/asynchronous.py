"""`AsyncWallet`: the same with `await`. What waits for the service runs in a thread and blocks no loop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, TypeVar

from credential_presentation.transport import Fetch, Request, Response
from credential_presentation.wallet import Wallet

P = ParamSpec("P")
T = TypeVar("T")
_loop: ContextVar[asyncio.AbstractEventLoop] = ContextVar("loop")


def _awaited(
    method: Callable[Concatenate[Wallet, P], T],
) -> Callable[Concatenate["AsyncWallet", P], Awaitable[T]]:
    async def in_thread(self: "AsyncWallet", /, *args: P.args, **options: P.kwargs) -> T:
        _loop.set(asyncio.get_running_loop())
        return await asyncio.to_thread(method, self.wallet, *args, **options)

    in_thread.__doc__ = method.__doc__
    return in_thread


class AsyncWallet:
    """A `Wallet` in an event loop."""

    def __init__(self, wallet: Wallet) -> None:
        self.wallet = wallet

    request = _awaited(Wallet.request)
    finish = _awaited(Wallet.finish)
    verify = _awaited(Wallet.verify)


def from_async(fetch: Callable[[Request], Coroutine[Any, Any, Response]]) -> Fetch:
    """The `fetch` of a `Wallet` in an `AsyncWallet`, by a client of its loop, such as httpx or aiohttp."""

    def in_loop(request: Request) -> Response:
        return asyncio.run_coroutine_threadsafe(fetch(request), _loop.get()).result()

    return in_loop
