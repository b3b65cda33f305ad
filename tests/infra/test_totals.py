"""Counts that only grow, also when two processes count at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from infra import totals


@pytest.mark.django_db
def test_what_never_happened_counts_nothing_and_the_rest_adds_up() -> None:
    totals.add("a")
    totals.add("a", 4)
    totals.add("b", 0)
    assert totals.of(["a", "b"]) == {"a": 5, "b": 0}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_none_is_lost_when_several_count_at_once() -> None:
    def count(_: int) -> None:
        for _again in range(20):
            totals.add("raced")
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))

    assert totals.of(["raced"]) == {"raced": 80}
