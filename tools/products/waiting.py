"""Waits until a server that was started answers."""

import subprocess
from pathlib import Path
from time import monotonic, sleep

import requests

LONGEST = 120  # seconds until a server answers for the first time


class NotStartedError(Exception):
    """A server ended, or did not answer in time; the text has the end of its log."""


def until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Returns once the address answers with a page or a redirect. Raises NotStartedError."""
    until = monotonic() + LONGEST
    while process.poll() is None and monotonic() < until:
        try:
            if requests.get(url, timeout=5, allow_redirects=False).status_code < 400:
                return
        except requests.RequestException:
            pass
        sleep(0.2)
    raise NotStartedError(end_of(log))


def end_of(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-25:])
