"""Runs one drill in this process: `python -m tools.drills.one MODULE:FUNCTION FILE`, and writes its results.

A drill that fails has a result as well, which says why. SIGTERM ends the drill as an error would, so that it
stops what it started.
"""

import signal
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from pkgutil import resolve_name
from types import FrameType

from tests import relying_party
from tools.benchmarks.servers import MissingProgramError
from tools.drills.drill import about
from tools.drills.place import Place, place
from tools.drills.results import Result, unfinished

LONGEST = 3600  # seconds; no drill takes so long


def results(run: Callable[[Place], Iterator[Result]]) -> Generator[Result, None, None]:
    """The results of this drill, each as soon as it is there."""
    try:
        with place() as where:
            yield from run(where)
    except MissingProgramError as error:
        yield unfinished(about(run), f"did not run: {error}")
    except Exception as error:  # noqa: BLE001 - the table says so, and the next drill runs
        traceback.print_exc()
        yield unfinished(about(run), f"failed: {type(error).__name__}: {str(error)[:300]}")


def _end(_: int, frame: FrameType | None) -> None:
    """Ends the drill, and prints where it stood."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # cleaning up is not interrupted
    traceback.print_stack(frame)
    sys.exit("The drill was ended where the lines above say.")


def main(reference: str, file: str) -> None:
    signal.signal(signal.SIGTERM, _end)
    relying_party.FRESH = LONGEST  # the answers of a drill are verified when it has ended
    # `closing` cleans up also when the signal comes while a result is written.
    with Path(file).open("a") as written, closing(results(resolve_name(reference))) as found:
        for result in found:
            print(result.to_json(), file=written, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
