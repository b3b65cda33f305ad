"""Drills in which processes are killed at once (`kill -9`)."""

import os
import random
import signal
from collections.abc import Iterator
from time import monotonic, sleep

from tools.drills.drill import under_load
from tools.drills.instances import Instance
from tools.drills.place import Place, installation
from tools.drills.results import Result

WORKERS = 2  # of each instance
LONGEST = 20.0  # seconds


def worker(place: Place) -> Iterator[Result]:
    """Kills one worker after the other while it answers; gunicorn starts another in its place."""
    yield _workers(place, kills=6, people=8, instances=2, flows=20)


def one_worker(place: Place) -> Iterator[Result]:
    """Kills one worker while few people are present."""
    yield _workers(place, kills=1, people=2, instances=1, flows=4)


def _workers(place: Place, *, kills: int, people: int, instances: int, flows: int) -> Result:
    with (
        installation(place, instances=instances) as where,
        under_load(where, people, pause=0, warm=flows, after=flows) as watch,
    ):
        watch.fault()
        for number in range(kills):
            instance = where.instances[number % instances]
            victim = random.choice(instance.workers())
            os.kill(victim, signal.SIGKILL)
            _until_replaced(instance, victim)
        watch.mended()
    count = watch.counted()
    result = Result(f"kill -9 of a worker, {kills} times", count)
    result.untroubled()
    return result


def _until_replaced(instance: Instance, victim: int) -> None:
    deadline = monotonic() + LONGEST
    while monotonic() < deadline:
        if len(set(instance.workers()) - {victim}) >= WORKERS:
            return
        sleep(0.05)
    raise RuntimeError("no new worker")


def master(place: Place) -> Iterator[Result]:
    """Kills gunicorn's master. Its workers notice and end, and systemd starts the unit again."""
    with installation(place) as where:
        with under_load(where) as watch:
            instance = where.instances[0]
            assert instance.process
            workers = instance.workers()
            watch.fault()
            os.kill(instance.process.pid, signal.SIGKILL)
            instance.process.wait()
            deadline = monotonic() + LONGEST
            while any(_runs(pid) for pid in workers) and monotonic() < deadline:
                sleep(0.05)
            instance.start()
            instance.wait()
            watch.mended()
        yield Result("kill -9 of a master, with its workers left behind", watch.counted())


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def instance(place: Place) -> Iterator[Result]:
    """Kills all processes of one instance of two. It starts again after a second, as the unit does."""
    with installation(place) as where:
        with under_load(where) as watch:
            watch.fault()
            where.instances[0].kill()
            sleep(1)
            where.instances[0].start()
            where.instances[0].wait()
            watch.mended()
        result = Result("kill -9 of one instance of two", watch.counted())
        result.said.append(f"longest time without any answer {watch.silence():.1f} s")
        yield result
