"""Pictures that people upload: known by their content, limited, and re-encoded.

What comes out is a JPEG of our own making: no metadata, no position, no appended archive, upright. A child
process makes it (`picture_decoder`), one at a time, so that no file can stop this process.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer

import structlog

from infra.waiting import Guard, NoThreadFreeError, waiting_for

log = structlog.get_logger(__name__)

LONGEST = 12 * 1024 * 1024  # bytes of one file
LONGEST_MADE = 24 * 1024 * 1024  # bytes that are read of the decoder; a JPEG of noise has a third
DONE_WITHIN = 15.0  # seconds; the decoder may compute for ten of them
# Isolated: no folder of ours, no variable of the environment, and no file written.
_DECODER = (sys.executable, "-I", "-B", str(Path(__file__).with_name("picture_decoder.py")))
_one_at_a_time = Guard()


class PictureError(ValueError):
    """The file is not taken.

    `code` says why: "too_long", "format", "heic", "too_large", "too_small", "too_costly".
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def reserved() -> Iterator[None]:
    """No other thread may decode inside the block, unless one does already; `cleaned` finds that out."""
    with ExitStack() as held:
        with suppress(NoThreadFreeError):
            held.enter_context(_one_at_a_time.held())
        yield


def cleaned(data: bytes) -> bytes:
    """The picture in `data` as a JPEG.

    Raises `PictureError`, or NoThreadFreeError at once while another thread decodes or too many threads wait.
    """
    if len(data) > LONGEST:
        raise PictureError("too_long")
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1"):
        raise PictureError("heic")
    with _one_at_a_time.held(), waiting_for("pictures"):
        code, _, jpeg = _decode(data).partition(b"\n")
    if code != b"ok":
        raise PictureError(code.decode())
    return jpeg


def _decode(data: bytes) -> bytes:
    """What the decoder writes. Raises OSError if there is no decoder that works."""
    with Popen(_DECODER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, cwd="/") as process:  # noqa: S603
        assert process.stdin and process.stdout  # noqa: PT018
        limit = Timer(DONE_WITHIN, process.kill)
        limit.start()
        try:
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(data)
            written = process.stdout.read(LONGEST_MADE)
            process.wait()
        finally:
            limit.cancel()
    if process.returncode > 0:
        raise OSError(f"The decoder of pictures ended with {process.returncode}.")
    if process.returncode < 0:  # by a limit, or because it crashed
        log.warning("picture_decoder_stopped", signal=-process.returncode)
        return b"too_costly"
    return written
