"""A real OpenID provider for tests, and a person's browser that visits it."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc.jwk import ECKey

from infra.outbound import calls
from tests.ports import free_port

NODE = Path(__file__).parents[2] / "node"
SECRET = "a secret with +, % and: a colon!"


@cache
def client_key() -> str:
    """The private key of the client that signs assertions, as PEM."""
    made = generate_private_key(SECP256R1())
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class OpenIDProvider:
    """The process; `close` ends it."""

    def __init__(self) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        key = ECKey.import_key(client_key())
        public = {**key.as_dict(private=False), "kid": key.thumbprint(), "alg": "ES256", "use": "sig"}
        self._process = subprocess.Popen(
            ["node", "identity_provider.mjs", str(self.port), json.dumps(public)],
            cwd=NODE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout
        for line in self._process.stdout:
            if line.strip() == "ready":
                return
        raise AssertionError("the provider did not start")

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)

    def play(self, mode: str = "good", **facts: Any) -> None:
        """What happens from now on; see `identity_provider.mjs`."""
        self._call("POST", "/play", json.dumps({"mode": mode, **facts}))

    def calls(self, path: str) -> int:
        """How often an endpoint was called so far."""
        found: dict[str, int] = json.loads(self._call("GET", "/calls"))
        return found.get(path, 0)

    def visit(self, address: str) -> str | None:
        """A person's browser goes there; gives the address where it leaves the provider, if it does."""
        cookies: dict[str, str] = {}
        for _redirect in range(15):
            status, headers, _body = self._request("GET", address, cookies=cookies)
            if status not in (302, 303):
                return None
            address = urljoin(address, headers["location"])
            if urlsplit(address).port != self.port:
                return address
        raise AssertionError("the provider redirects without an end")

    @contextmanager
    def down(self) -> Iterator[None]:
        """It cannot be reached; what it knows stays."""
        self._process.send_signal(signal.SIGUSR2)
        self._until(listening=False)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGUSR2)
            self._until(listening=True)

    @contextmanager
    def slow(self, mode: str = "slow") -> Iterator[None]:
        """It does not answer within the time that calls may take, which is short in the meantime."""
        usual = calls.DONE_WITHIN
        calls.DONE_WITHIN = 0.7
        self.play(mode)
        try:
            yield
        finally:
            self.play()
            calls.DONE_WITHIN = usual

    def _until(self, *, listening: bool) -> None:
        for _ in range(1000):
            with socket.socket() as probe:
                if (probe.connect_ex(("127.0.0.1", self.port)) == 0) == listening:
                    return
            time.sleep(0.01)
        raise AssertionError("the provider did not obey")

    def _call(self, method: str, path: str, body: str = "") -> bytes:
        status, _headers, answer = self._request(method, urljoin(self.issuer, path), body=body)
        assert status == 200, (path, status)
        return answer

    def _request(
        self, method: str, address: str, *, body: str = "", cookies: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(address)
        connection = HTTPConnection("127.0.0.1", parts.port, timeout=30)
        try:
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in (cookies or {}).items())}
            connection.request(method, f"{parts.path}?{parts.query}", body, headers)
            response = connection.getresponse()
            for name, value in response.getheaders():
                if cookies is not None and name.lower() == "set-cookie":
                    kept, _, text = value.partition(";")[0].partition("=")
                    cookies[kept] = text
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()


def settings_for(provider: OpenIDProvider, **changes: str | None) -> dict[str, str]:
    """What IDENTITY_PROVIDERS holds for it: a client that signs assertions, unless `changes` differ."""
    settings: dict[str, str | None] = {
        "type": "openid_connect",
        "issuer": provider.issuer,
        "client_id": "asserting",
        "client_key": client_key(),
        "assurance": "eidas substantial, eidas high",
        "organisation": "The Bank",
    }
    return {name: value for name, value in (settings | changes).items() if value is not None}
