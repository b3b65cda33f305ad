"""Another time for one process and its children: a library that the loader puts before the C library.

It replaces `clock_gettime(CLOCK_REALTIME)`, `gettimeofday` and `time`, so everything in the process has the
other time, and the monotonic clock stays. Debian's libfaketime does the same; this needs only a C compiler.
"""

import shutil
import subprocess
from pathlib import Path

from tools.benchmarks.servers import MissingProgramError

_SOURCE = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long shift(void) {
    const char *seconds = getenv("CLOCK_IS_OFF_BY");
    return seconds ? atol(seconds) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *moment) {
    int failed = (int)syscall(SYS_clock_gettime, clock, moment);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) moment->tv_sec += shift();
    return failed;
}
int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *moment) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (moment) *moment = now.tv_sec;
    return now.tv_sec;
}
"""


def off_by(seconds: int, folder: Path) -> dict[str, str]:
    """The environment variables of a process whose clock is off by so much; raises MissingProgramError."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise MissingProgramError("The drills with a wrong clock need a C compiler (Debian’s gcc).")
    library = folder / "clock.so"
    if not library.exists():
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), "-x", "c", "-"],
            input=_SOURCE,
            text=True,
            check=True,
            capture_output=True,
        )
    return {"LD_PRELOAD": str(library), "CLOCK_IS_OFF_BY": str(seconds)}
