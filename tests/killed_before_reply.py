"""The service in a worker that is killed after it has committed and before it sends its reply.

The first POST after the file in `KILLED_AT` was created kills the worker, once.
"""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from config.wsgi import application as service


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    reply = service(environ, start_response)
    armed = Path(os.environ["KILLED_AT"])
    if environ["REQUEST_METHOD"] == "POST" and armed.exists():
        armed.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return reply
