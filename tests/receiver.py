"""A relying party's response URI: a real web server on loopback."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps


@dataclass(frozen=True)
class Posted:
    """One received request."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: str


@dataclass
class Receiver:
    """Stores what is posted, runs `before`, and answers with `status` and `body`."""

    posted: list[Posted] = field(default_factory=list)
    status: int = 200
    body: bytes = b"{}"
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    uri: str = ""

    def redirects_to(self, uri: str) -> None:
        """Answer with this `redirect_uri` from now on (OpenID4VP 1.0 §8.2)."""
        self.body = dumps({"redirect_uri": uri}).encode()


@contextmanager
def listening() -> Iterator[Receiver]:
    """A receiver while it runs; its address is `uri`."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.posted.append(Posted(self.path, headers, self.rfile.read(length).decode()))
            receiver.before()
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", receiver.content_type)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            with suppress(OSError):  # the service has closed the connection
                self.wfile.write(receiver.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.uri = f"http://127.0.0.1:{server.server_port}/answers"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
