"""What relying parties have on loopback. It remembers what the service sends there, for the record."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FORM = "application/x-www-form-urlencoded"


class FarEnd:
    """Answers GET with `documents`, POST with `reply`, and everything else with 404."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[str, bytes]] = {}  # path: media type, body
        self.reply: tuple[int, bytes] = (200, b"{}")
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []  # method, path, headers, body
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def taken(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        """What came in since the last time."""
        found, self.received[:] = self.received[:], []
        return found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        far_end = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._received(b"")
                path = self.path.partition("?")[0]
                media_type, body = far_end.documents.get(path, ("text/plain", b""))
                self._send(200 if path in far_end.documents else 404, media_type, body)

            def do_POST(self) -> None:
                self._received(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                path = self.path.partition("?")[0]
                if path in far_end.documents:
                    self._send(200, *far_end.documents[path])
                else:
                    self._send(far_end.reply[0], "application/json", far_end.reply[1])

            def _received(self, body: bytes) -> None:
                far_end.received.append((self.command, self.path, dict(self.headers.items()), body))

            def _send(self, status: int, media_type: str, body: bytes) -> None:
                self.send_response_only(status)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
