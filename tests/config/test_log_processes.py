"""Several threads and processes write their log to one place, and no line breaks another."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from select import PIPE_BUF

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
THREADS, LINES = 4, 100  # half of the threads write as libraries do
SCRIPT = f"""
import logging.config, sys
from threading import Thread
import structlog
from config.logs import logging_config, structlog_config

structlog.configure(**structlog_config(level="INFO", as_json=True))
logging.config.dictConfig(logging_config(level="INFO", as_json=True))
logs = [structlog.get_logger("ours"), logging.getLogger("of a library")]

def write(log):
    for _ in range({LINES}):
        log.info("x " * (int(sys.argv[1]) // 2))

threads = [Thread(target=write, args=[log]) for log in logs * {THREADS // 2}]
for thread in threads:
    thread.start()
"""
FORKS = 50
FORKING = f"""{SCRIPT}
import os, signal
for _ in range({FORKS}):
    if os.fork() == 0:
        signal.alarm(20)  # ends a child that waits for ever
        logs[0].info("forked")
        os._exit(0)
    if os.wait()[1]:
        break
"""


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def start(request: pytest.FixtureRequest) -> Callable[..., "subprocess.Popen[bytes]"]:
    """Starts a process that logs events of this length. The container image has Python buffer nothing."""
    environment = os.environ | {"PYTHONUNBUFFERED": request.param}

    def start(length: int, log: int, script: str = SCRIPT) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-c", script, str(length)], cwd=ROOT, env=environment, stderr=log
        )

    return start


def assert_whole(written: bytes, *, processes: int, length: int) -> None:
    """Every line is whole, and none is missing."""
    lines = [json.loads(line) for line in written.splitlines()]
    assert len(lines) == processes * THREADS * LINES
    assert {line["event"] for line in lines} == {"x " * (length // 2)}
    assert {line["logger"] for line in lines} == {"ours", "of a library"}


@pytest.mark.parametrize(
    ("processes", "length"),
    [(1, 20_000), (3, PIPE_BUF - 200)],  # the kernel keeps writes of several processes apart up to PIPE_BUF
)
def test_lines_into_a_pipe_stay_whole(
    start: Callable[..., "subprocess.Popen[bytes]"], processes: int, length: int
) -> None:
    reader, writer = os.pipe()
    running = [start(length, writer) for _ in range(processes)]
    os.close(writer)
    with open(reader, "rb") as pipe:
        written = pipe.read()
    assert [each.wait() for each in running] == [0] * processes
    assert_whole(written, processes=processes, length=length)


def test_lines_into_a_file_stay_whole(
    start: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    path = tmp_path / "log"
    with path.open("ab") as log:
        running = [start(20_000, log.fileno()) for _ in range(3)]
    assert [each.wait() for each in running] == [0] * 3
    assert_whole(path.read_bytes(), processes=3, length=20_000)


def test_a_process_that_is_forked_while_threads_log_can_log(
    start: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    path = tmp_path / "log"
    with path.open("ab") as log:
        assert start(20_000, log.fileno(), FORKING).wait() == 0
    assert path.read_bytes().count(b'"event":"forked"') == FORKS
