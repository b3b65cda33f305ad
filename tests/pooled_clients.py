"""Threads that each read and write their own rows through DATABASE_URL. Prints what they received.

Run as a module in a new process, so that the settings are read as at a start of the service.
"""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import django

THREADS, ROUNDS = 6, 60


def work(number: int, begin: Barrier) -> Counter[str]:
    """Counts of one client's results: `mine`, `not mine`, or the name of an error."""
    from django.contrib.auth.models import User
    from django.db import connection, transaction

    # The statements differ from thread to thread, so that equal names mean different statements.
    order = ["id", "email"][: number % 2 + 1]

    def written(name: str) -> str:
        with transaction.atomic():
            user = User.objects.select_for_update().get(username=name)
            user.last_name = name
            user.save()
            user.refresh_from_db()
        return str(user.last_name)

    name = f"user{number}"
    steps: list[Any] = [
        lambda: User.objects.filter(username=name).order_by(*order)[0].username,
        lambda: User.objects.filter(username=name).values_list("username", flat=True)[0],
        lambda: User.objects.exclude(email="x").get(username=name, is_active=True).username,
        lambda: [user.username for user in User.objects.filter(username=name).iterator(chunk_size=1)][0],
        lambda: written(name),
    ]
    found: Counter[str] = Counter()
    begin.wait()
    for _round in range(ROUNDS):
        for step in steps:
            try:
                found["mine" if step() == name else "not mine"] += 1
            except Exception as error:  # swapped statements can raise anything
                found[type(error).__name__] += 1
    connection.close()
    return found


def main() -> None:
    from django.contrib.auth.models import User
    from django.db import connection

    for number in range(THREADS):
        User.objects.get_or_create(username=f"user{number}")
    connection.close()
    begin = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        found = sum(pool.map(lambda number: work(number, begin), range(THREADS)), Counter())
    print(json.dumps(found))


if __name__ == "__main__":
    django.setup()
    main()
