"""Calls the operator's program that gets certificates: the request on its input, the chain on its output.

No shell is involved. The program gets nothing of the service's environment, because that has secrets, and it
has LONGEST seconds and MAX_PEM bytes. What it answers is checked by the caller like what an operator uploads.
"""

import os
import selectors
import signal
import stat
import subprocess
from contextlib import suppress
from time import monotonic
from uuid import UUID

from infra.files import obstacle
from keys.certificates.chain import MAX_PEM

LONGEST = 60.0  # seconds
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CommandFailedError(Exception):
    """The program gave no chain; the text says why, without its output."""


def fault(path: str) -> str:
    """Why this cannot be the program, as half a sentence; empty if it can."""
    try:
        status = os.stat(path)
    except PermissionError:
        return f"names a file that cannot be reached: {obstacle(path)}"
    except (OSError, ValueError):
        return "names no file"
    if not os.path.isabs(path):
        return "must be an absolute path"
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK):
        return "must be a program that this account may run"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be changed by other accounts (chmod go-w)"
    return ""


def chain_for(request: str, *, path: str, kid: UUID, longest: float = LONGEST) -> bytes:
    """The chain that the program returns for this certificate request (PEM); raises CommandFailedError.

    longest: the seconds after which the program is ended, with all that it has started.
    """
    if why := fault(path):
        raise CommandFailedError(f"CERTIFICATE_COMMAND {why}.")
    ends = monotonic() + longest
    try:
        running = subprocess.Popen(  # noqa: S603 - the operator's own program, without a shell
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": PATH, "LANG": "C.UTF-8", "SIGNING_KEY_ID": str(kid)},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailedError(f"CERTIFICATE_COMMAND does not run: {error.strerror}.") from error
    with running:
        try:
            answer = _answer(running, request.encode(), ends)
            status = running.wait(max(ends - monotonic(), 0))
        except subprocess.TimeoutExpired:
            _end(running)
            raise CommandFailedError(f"CERTIFICATE_COMMAND took longer than {longest:g} seconds.") from None
        except BaseException:
            _end(running)
            raise
    if status:
        raise CommandFailedError(f"CERTIFICATE_COMMAND ended with status {status}; its own messages say why.")
    return answer


def _answer(running: "subprocess.Popen[bytes]", request: bytes, ends: float) -> bytes:
    """The program's whole output. Raises TimeoutExpired, or CommandFailedError if the output is too long."""
    assert running.stdin
    assert running.stdout
    with suppress(BrokenPipeError):  # it need not read the request; a pipe holds more than one is long
        running.stdin.write(request)
        running.stdin.close()
    answer = b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(running.stdout, selectors.EVENT_READ)
        while waiting.select(max(ends - monotonic(), 0)):
            part = os.read(running.stdout.fileno(), MAX_PEM)
            answer += part
            if len(answer) > MAX_PEM:
                raise CommandFailedError(f"CERTIFICATE_COMMAND wrote more than {MAX_PEM} bytes.")
            if not part:
                return answer
    raise subprocess.TimeoutExpired(running.args, ends)


def _end(running: "subprocess.Popen[bytes]") -> None:
    """Kills the program's session, that is the program and its children. It must not be reaped before."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, signal.SIGKILL)
