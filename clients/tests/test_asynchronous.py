"""`AsyncWallet`: nothing blocks the event loop, and a client of the loop can make the calls."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from clients.tests.vectors import vectors
from credential_presentation import (
    AsyncWallet,
    Pending,
    Rejected,
    Request,
    Response,
    Unavailable,
    Wallet,
    from_async,
)

T = TypeVar("T")
HONEST = vectors()["as asked"]
PENDING = Pending(**HONEST["pending"])


def run(main: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own, because the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()


def wallet(fetch: Any, **options: Any) -> AsyncWallet:
    facts = {name: HONEST["wallet"][name] for name in ("base_url", "client_id", "redirect_uri", "root")}
    return AsyncWallet(Wallet(**facts, fetch=fetch, clock=lambda: HONEST["wallet"]["now"], **options))


def found(request: Request) -> Response:
    return Response(200, HONEST["wallet"]["documents"][request.url].encode())


def test_a_slow_service_does_not_block_the_loop() -> None:
    """The call ends only when the loop has run something else meanwhile."""
    running, answer = threading.Event(), threading.Event()

    def slow(request: Request) -> Response:
        running.set()
        if not answer.wait(60):
            raise TimeoutError
        return found(request)

    async def main() -> Any:
        finished = asyncio.create_task(wallet(slow).finish(PENDING, HONEST["fields"]))
        while not running.is_set():
            await asyncio.sleep(0)
        answer.set()
        return await finished

    assert run(main()).claims["given_name"] == "Alice"


def test_a_client_of_the_loop_makes_the_calls() -> None:
    loops = []

    async def fetch(request: Request) -> Response:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return found(request)

    async def main() -> None:
        async_wallet = wallet(from_async(fetch))
        results = await asyncio.gather(*(async_wallet.finish(PENDING, HONEST["fields"]) for _ in range(5)))
        assert {result.claims["given_name"] for result in results} == {"Alice"}
        assert set(loops) == {asyncio.get_running_loop()}
        with pytest.raises(Rejected):
            await async_wallet.finish(PENDING, {"state": "other"})

    run(main())


def test_what_a_client_of_the_loop_raises_is_unavailable() -> None:
    async def fetch(_request: Request) -> Response:
        raise ConnectionResetError

    async def main() -> None:
        with pytest.raises(Unavailable, match="ConnectionResetError"):
            await wallet(from_async(fetch), secret="s").request(login_hint="sam@example.org")

    run(main())
