"""Servers for the outbound calls of this service: TLS on loopback, with prepared answers."""

import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from infra.outbound.calls import LONGEST, Outbound
from tests.forgery import Key, new_key

NAME = "keys.bank.example"
Behaviour = Callable[[ssl.SSLSocket], None]


class FarEnd:
    """A running server: the requests it received, and how to reach it."""

    def __init__(self, behaviour: Behaviour, address: str, port: int, *, plain: bool, name: str) -> None:
        self.behaviour, self.plain = behaviour, plain
        self.requests: list[bytes] = []
        self.connections = 0
        self.trusted, self._context = _certified(name)
        self._listening = socket.create_server((address, port))
        self.address, self.port = address, self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def url(self, path: str = "/jwks", host: str = NAME) -> str:
        return f"https://{host}:{self.port}{path}"

    def outbound(self, *addresses: str, longest: int = LONGEST) -> Outbound:
        """An Outbound that trusts its certificate, resolves its name to `addresses`, and may call them."""
        found = list(addresses) or [self.address]
        return Outbound(
            resolve=lambda _host, _port: found,
            allowed=lambda address: str(address) == self.address,
            tls=ssl.create_default_context(cadata=self.trusted),
            longest=longest,
        )

    def close(self) -> None:
        with suppress(OSError):  # closing alone would leave the thread in `accept`
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(10)
            if self.plain:
                self.behaviour(connection)  # type: ignore[arg-type]
                return
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self.requests.append(secured.recv(65_536))
                self.behaviour(secured)


@contextmanager
def far_end(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, plain: bool = False, name: str = NAME
) -> Iterator[FarEnd]:
    """A server until the test ends. plain: without TLS."""
    running = FarEnd(behaviour, address, port, plain=plain, name=name)
    try:
        yield running
    finally:
        running.close()


def says(*pieces: bytes) -> Behaviour:
    """Sends these bytes and closes the connection."""

    def behaviour(connection: ssl.SSLSocket) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return behaviour


def answers(body: bytes, *headers: str, status: str = "200 OK") -> Behaviour:
    """A complete HTTP/1.1 response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return says("\r\n".join(lines).encode() + body)


def _certified(name: str) -> tuple[str, ssl.SSLContext]:
    """A self-signed certificate for this name or address (PEM), and a server context with it."""
    key = new_key()
    with suppress(ValueError):
        return _context(key, x509.IPAddress(ip_address(name)), name)
    return _context(key, x509.DNSName(name), name)


def _context(key: Key, alternative: x509.GeneralName, name: str) -> tuple[str, ssl.SSLContext]:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "both.pem"
        file.write_bytes(pem + private)
        context.load_cert_chain(file)
    return pem.decode(), context
