"""The relying parties' server on loopback. It stores what the service sends there, for the record."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FORM = "application/x-www-form-urlencoded"


class PartyServer:
    """Answers GET with `documents`, POST with `reply`, and everything else with 404."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[str, bytes]] = {}  # path: media type, body
        self.reply: tuple[int, bytes] = (200, b"{}")
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []  # method, path, headers, body
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def taken(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        """The requests received since the last call."""
        found, self.received[:] = self.received[:], []
        return found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        party_server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._received(b"")
                path = self.path.partition("?")[0]
                media_type, body = party_server.documents.get(path, ("text/plain", b""))
                self._send(200 if path in party_server.documents else 404, media_type, body)

            def do_POST(self) -> None:
                self._received(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                path = self.path.partition("?")[0]
                if path in party_server.documents:
                    self._send(200, *party_server.documents[path])
                else:
                    self._send(party_server.reply[0], "application/json", party_server.reply[1])

            def _received(self, body: bytes) -> None:
                party_server.received.append((self.command, self.path, dict(self.headers.items()), body))

            def _send(self, status: int, media_type: str, body: bytes) -> None:
                self.send_response_only(status)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
