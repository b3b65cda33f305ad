"""Pictures that people upload: known by their content, limited, and re-encoded.

What comes out is a JPEG of our own making: no metadata, no position, no appended archive, upright. A child
process makes it (`picture_decoder`), one at a time, so that no file can stop this process.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Timer
from time import monotonic

import structlog

from infra.waiting import Guard, NoThreadFreeError, waiting_for

log = structlog.get_logger(__name__)

LONGEST = 12 * 1024 * 1024  # bytes of one file
LONGEST_MADE = 24 * 1024 * 1024  # bytes that are read of the decoder; a JPEG of noise has a third
# Seconds for the pictures of one form. The decoder's computing time limits what a picture costs; this limits
# how long a person waits when the machine is busy. nginx ends the request after 60.
DONE_WITHIN = 50.0
# Brands of the files that cameras write in the formats HEIC, HEIF and AVIF (ISO/IEC 23008-12 §10 and annex B,
# AVIF 1.1 §6 and §8), for single pictures and for sequences.
_HEIC_BRANDS = frozenset(
    b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 msf1 heif avif avis avio avci avcs MA1A MA1B".split()
)
# Isolated: no folder of ours, no variable of the environment, and no file written.
_DECODER = (sys.executable, "-I", "-B", str(Path(__file__).with_name("picture_decoder.py")))
_one_at_a_time = Guard()


class PictureError(ValueError):
    """The file is not taken.

    `code` says why: "too_long", "format", "incomplete", "heic", "too_large", "too_small", "too_costly",
    "blank".
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NotInTimeError(Exception):
    """The machine was too busy to decode the picture in time. Nothing is known about the picture."""


@contextmanager
def reserved() -> Iterator[None]:
    """No other thread may decode inside the block, unless one does already; `cleaned` finds that out."""
    with ExitStack() as held:
        with suppress(NoThreadFreeError):
            held.enter_context(_one_at_a_time.held())
        yield


def cleaned(data: bytes, *, until: float | None = None) -> bytes:
    """The picture in `data` as a JPEG.

    until: when the person has waited long enough, by time.monotonic(); default: in DONE_WITHIN. Raises
    `PictureError`, `NotInTimeError`, or NoThreadFreeError at once while another thread decodes or too many
    threads wait.
    """
    if len(data) > LONGEST:
        raise PictureError("too_long")
    if is_heic(data):
        raise PictureError("heic")
    seconds = DONE_WITHIN if until is None else max(0, until - monotonic())
    with _one_at_a_time.held(), waiting_for("pictures"):
        code, _, jpeg = _decode(data, seconds).partition(b"\n")
    if code != b"ok":
        raise PictureError(code.decode())
    return jpeg


def is_heic(data: bytes) -> bool:
    """Whether the file says that it is HEIC, HEIF or AVIF.

    It does in the brands of its `ftyp` box (ISO/IEC 14496-12 §4.3): the first is the main one; after its
    version, the compatible ones follow.
    """
    if data[4:8] != b"ftyp":
        return False
    end = min(int.from_bytes(data[:4], "big"), 256)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, end, 4))]
    return not _HEIC_BRANDS.isdisjoint(brands)


def _decode(data: bytes, seconds: float) -> bytes:
    """What the decoder writes.

    Raises `NotInTimeError` if it does not end within `seconds`, or OSError if there is no decoder that works.
    """
    too_late = Event()

    def stop() -> None:
        too_late.set()
        process.kill()

    with Popen(_DECODER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, cwd="/") as process:  # noqa: S603
        assert process.stdin and process.stdout  # noqa: PT018
        limit = Timer(seconds, stop)
        limit.start()
        try:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(data)
            written = process.stdout.read(LONGEST_MADE)
            if len(written) == LONGEST_MADE:
                process.kill()  # it would wait for a reader
            process.wait()
        finally:
            limit.cancel()
    if process.returncode > 0:
        raise OSError(f"The decoder of pictures ended with {process.returncode}.")
    if process.returncode < 0 and too_late.is_set():
        log.warning("picture_decoder_late", seconds=seconds)
        raise NotInTimeError
    if process.returncode < 0:  # by a limit, or because it crashed
        log.warning("picture_decoder_stopped", signal=-process.returncode)
        return b"too_costly"
    return written
