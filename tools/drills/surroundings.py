"""Drills with what surrounds the service: the disk for logs, the hardware module, the clock."""

from collections.abc import Iterator
from pathlib import Path
from time import sleep

from tests import softhsm
from tools.benchmarks.servers import MissingProgramError
from tools.drills.clock import off_by
from tools.drills.drill import under_load
from tools.drills.place import Place, database, installation
from tools.drills.results import Result

FULL = Path("/dev/full")  # every write fails with ENOSPC, as on a full disk
TWO_HOURS = 7200
AWAY = 4.0  # seconds


def log_disk(place: Place) -> Iterator[Result]:
    """Restarts both instances with their log on a full disk. nginx logs there from the beginning."""
    with installation(place, nginx_logs=FULL) as where, under_load(where) as watch:
        watch.fault()
        for instance in where.instances:
            instance.log = FULL
            instance.restart()
        watch.crowd.wait_for(30)
        watch.mended()
    count = watch.counted()
    result = Result("the disk for logs is full, also during a restart", count)
    result.untroubled()
    yield result


def module(place: Place) -> Iterator[Result]:
    """Kills the server of the hardware module that holds the signing keys (SoftHSM behind p11-kit's)."""
    if not softhsm.INSTALLED:
        raise MissingProgramError("The drill with a hardware module needs SoftHSM 2 and p11-kit’s server.")
    folder = place.folder / "module"
    folder.mkdir()
    token = softhsm.Token(folder)
    server = softhsm.Server(token)
    changes = {**server.environment, **server.settings, "SIGNING_KEY_STORE": "pkcs11"}
    server.start()
    try:
        facts, url = place.fill(place.cluster, "module", **changes), database(place.cluster.url, "module")
        with (
            installation(place, url=url, facts=facts, changes=changes) as where,
            under_load(where) as watch,
        ):
            watch.fault()
            server.stop()
            sleep(AWAY)
            server.start()
            watch.mended()
    finally:
        server.stop()
    result = Result(f"the hardware module is away for {AWAY:.0f} seconds", watch.counted())
    result.said.append(f"first answer {watch.back_after():.1f} s after it was back")
    yield result


def ahead(place: Place) -> Iterator[Result]:
    """The clock of one instance of two is two hours ahead."""
    yield _clock(place, TWO_HOURS, "ahead")


def behind(place: Place) -> Iterator[Result]:
    """The clock of one instance of two is two hours behind."""
    yield _clock(place, -TWO_HOURS, "behind")


def _clock(place: Place, seconds: int, where_to: str) -> Result:
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        where.instances[-1].restart(**off_by(seconds, place.folder))
        watch.crowd.wait_for(30, seconds=15)
        where.instances[-1].restart()
        watch.mended()
    return Result(f"the clock of one instance of two is two hours {where_to}", watch.counted())
