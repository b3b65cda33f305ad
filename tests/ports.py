"""Ports for servers that cannot use an open socket of the test."""

import random
import socket

# Below the kernel's ephemeral ports, so that no connection takes the port before the server does.
RANGE = range(20_000, 32_000)


def free_port() -> int:
    """A free port of loopback."""
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"every port of {RANGE} is taken")
