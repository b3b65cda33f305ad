"""Ports for servers that cannot be handed an open socket."""

import random
import socket

# Below the ports that the kernel gives away by itself: no connection takes one before its server does.
RANGE = range(20_000, 32_000)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    for port in random.SystemRandom().sample(RANGE, len(RANGE)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"every port of {RANGE} is taken")
