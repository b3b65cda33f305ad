"""Limits the time for work that takes no limit of its own, such as the system's resolver."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

Result = TypeVar("Result")


def in_time(work: Callable[[], Result], seconds: float) -> Result:
    """The result of `work`, or TimeoutError; a thread goes on with it then, until it ends by itself."""
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except Exception as error:
            done.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error:
        raise error
    return cast(Result, result)
