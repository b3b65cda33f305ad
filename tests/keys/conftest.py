"""Fixtures for the tests of keys: the time, fresh documents, and concurrent calls."""

from collections.abc import Callable
from datetime import datetime
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from keys import endpoints


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture(autouse=True)
def _fresh_documents() -> None:
    """Prepared bytes outlive the database of a test, so each test has them rebuilt."""
    for document in (endpoints.jwks, endpoints.root_pem, endpoints.root_der):
        document.refresh()


@pytest.fixture
def at_once() -> Callable[..., list[Any]]:
    """Runs calls in threads that start at the same time; gives results and exceptions in their order."""

    def run(*calls: Callable[[], Any]) -> list[Any]:
        barrier, results = Barrier(len(calls)), [None] * len(calls)

        def work(position: int) -> None:
            try:
                connection.ensure_connection()
                barrier.wait(10)
                results[position] = calls[position]()
            except Exception as error:  # noqa: BLE001
                results[position] = error
            finally:
                connection.close()

        threads = [Thread(target=work, args=(position,)) for position in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return results

    return run
