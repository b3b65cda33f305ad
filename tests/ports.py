"""Ports for servers that cannot use an open socket of the test."""

import os
import random
import re
import socket

# Below the kernel's ephemeral ports, so that no connection takes the port before the server does.
RANGE = range(20_000, 32_000)
# Each process of a parallel run has ports of its own: another would pick one before its server has begun.
_PROCESS = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0) % 8
OURS = RANGE[_PROCESS::8]
_given: set[int] = set()


def free_port() -> int:
    """A free port of loopback that this process was not given before.

    The server that it is for may not have started yet, so that the port still looks free.
    """
    fresh = [port for port in OURS if port not in _given]
    for port in random.SystemRandom().sample(fresh, len(fresh)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise RuntimeError(f"every port of {OURS} is taken")
