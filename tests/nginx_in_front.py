"""Runs nginx with the configuration of deploy/ in front of instances."""

import os
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPResponse, HTTPSConnection
from http.cookies import SimpleCookie
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from time import sleep
from urllib.parse import urlencode

from tests.own_databases import ROOT
from tests.ports import free_port
from tests.programs import nginx

HOST = "wallet.example"
ID = "0c6b4f3e-0000-4000-8000-000000000000"
SHIPPED = (ROOT / "deploy" / "nginx.conf").read_text()
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Visitor:
    """A minimal browser: cookies, `Origin`, and the host with its port."""

    def __init__(self, port: int, name: str, *, address: str = "127.0.0.1") -> None:
        self.port, self.name, self.cookies, self.source = port, name, SimpleCookie(), (address, 0)

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[HTTPResponse, str]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sent = {"Host": self.name, "Cookie": self.cookies.output(attrs=[], header="", sep=";").strip()}
        to_nginx = HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=context, source_address=self.source
        )
        with closing(to_nginx) as connection:
            connection.request(method, path, body, sent | headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            self.cookies.load(cookie)
        return answer, text

    def submit(self, path: str, **fields: str) -> tuple[HTTPResponse, str]:
        """Open the page with the form, then send it as a browser would."""
        answer, page = self.ask("GET", path)
        assert answer.status == 200, page
        token, origin = TOKEN.search(page), f"https://{self.name}"  # only forms of the admin have a token
        body = urlencode(({"csrfmiddlewaretoken": token[1]} if token else {}) | fields)
        form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        return self.ask("POST", path, body, **form, Origin=origin, Referer=f"{origin}{path}")


@contextmanager
def proxy(
    folder: Path, port: int, *instances: int, plain: int | None = None, text: str = SHIPPED
) -> Iterator[None]:
    """Runs nginx with deploy/nginx.conf and the paths, ports and certificate of this test.

    instances: the ports of one instance or two. plain: the port without TLS.
    """
    plain = plain or free_port()
    here = {
        "listen 443 ssl http2": f"listen 127.0.0.1:{port} ssl http2",
        "listen [::]:443 ssl http2": f"listen [::1]:{port} ssl http2",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "listen [::]:80": f"listen [::1]:{plain}",
        "server 127.0.0.1:8001": f"server 127.0.0.1:{instances[0]}",
        "server 127.0.0.1:8002": f"server 127.0.0.1:{instances[-1]}",
        "/var/log/nginx": str(folder),
    }
    with running(folder, port, text, here):
        yield


@contextmanager
def running(folder: Path, port: int, text: str, here: dict[str, str]) -> Iterator[None]:
    """Runs nginx with this configuration until it answers at the port; `here` replaces parts of the text."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={HOST}"
    subprocess.run(
        [*made.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    paths_here = {
        "/srv/presentation/current": str(ROOT),
        "/etc/ssl/presentation/fullchain.pem": str(certificate),
        "/etc/ssl/presentation/privkey.pem": str(key),
        "/var/lib/presentation-acme": str(folder / "acme"),
        "/var/lib/presentation-uploads": str(folder / "uploads"),
    }
    for shipped, replacement in (here | paths_here).items():
        assert shipped in text
        text = text.replace(shipped, replacement)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {folder / kind};" for kind in kinds)
    (folder / "site.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log stderr;\n"
        f"events {{}}\nhttp {{ {paths} include {folder}/site.conf; }}\n"
    )
    command = [str(nginx()), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    if os.geteuid() == 0:
        command += ["-g", "user root;"]  # www-data could not write here
    process = subprocess.Popen(command)
    try:
        for _ in range(1200):
            assert process.poll() is None
            with suppress(OSError):
                Visitor(port, HOST).ask("GET", "/nowhere")
                break
            sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


class Server(ThreadingTCPServer):
    """An instance that reads each request and then either says 204 or is killed; `seen` counts requests.

    `says` is another status that it says.
    """

    daemon_threads = True

    def __init__(self, *, dies: bool, says: str = "204 No Content") -> None:
        self.dies, self.says, self.seen = dies, says, 0
        super().__init__(("127.0.0.1", 0), Exchange)


class Exchange(StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        length = re.search(rb"(?i)content-length: (\d+)", head)
        self.rfile.read(int(length[1]) if length else 0)
        self.server.seen += 1
        if not self.server.dies:
            self.wfile.write(f"HTTP/1.1 {self.server.says}\r\nConnection: close\r\n\r\n".encode())
