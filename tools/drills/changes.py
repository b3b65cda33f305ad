"""Drills with what operators do on an ordinary day: restarts, and the rotation of the signing key."""

import signal
from collections.abc import Iterator
from time import sleep

from tests.relying_party import read_jwt
from tools.drills.drill import under_load
from tools.drills.place import Place, installation
from tools.drills.results import Result

ROUNDS = 2


def rolling(place: Place) -> Iterator[Result]:
    """Restarts one instance after the other, twice. Their sockets are held outside and go on listening."""
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        for _ in range(ROUNDS):
            for instance in where.instances:
                instance.restart()
        watch.mended()
    count = watch.counted()
    result = Result(f"rolling restart of two instances, {ROUNDS} times", count)
    result.untroubled()
    result.said.append(f"slowest flow {watch.slowest():.1f} s")
    yield result


def reloaded(place: Place) -> Iterator[Result]:
    """Sends SIGHUP to both masters: new workers take over, the old ones end what they began."""
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        for instance in where.instances:
            assert instance.process
            before = set(instance.workers())
            instance.process.send_signal(signal.SIGHUP)
            while before & set(instance.workers()):
                sleep(0.1)
        watch.mended()
    count = watch.counted()
    result = Result("systemctl reload (SIGHUP) of both instances", count)
    result.untroubled()
    yield result


def rotation(place: Place) -> Iterator[Result]:
    """Runs `rotate_signing_keys` when it is due: the staged key signs from then on."""
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        where.command("rotate_signing_keys")
        watch.mended()
        watch.crowd.wait_for(20)
    count = watch.counted()
    result = Result("the signing key is rotated", count)
    tokens = [flow.token for flow in watch.crowd.flows if flow.token]
    kids = {read_jwt(token.split("~")[0]).header["kid"] for token in tokens}
    result.target(len(kids) == 2, f"{len(kids)} keys signed, and every answer was verified")
    result.untroubled()
    yield result
