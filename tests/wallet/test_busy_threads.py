"""gunicorn with four threads, of which pictures occupy as many as they may: everything else is answered."""

import os
import signal
import socket
import struct
import sys
import zlib
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse
from django.utils import timezone

from tests.processes import environment
from tests.wallet.pictures import costly, file, picture
from tests.wallet.typed_identities import TYPED_BY_NORA
from tests.warm_start import WarmSite
from tools.benchmarks.sites import children
from wallet.identity.views.upload import UPLOADS

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(sys.platform != "linux", reason="could not run without /proc"),
]
HOST = "127.0.0.1:8000"
DISCOVERY, SIGN_IN = "/.well-known/openid-configuration", "/wallet/sign-in/"


class Answer(NamedTuple):
    status: int
    retry_after: str | None
    text: str


class Holder:
    """Sends requests to one gunicorn process as a holder who is signed in and has begun a check."""

    def __init__(self, site, client, form):
        self.site, self.form = site, form
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        self.headers = {"Host": HOST, "Cookie": cookies, "Sec-Fetch-Site": "same-origin"}

    def ask(self, path, body=None, **more):
        with closing(HTTPConnection("127.0.0.1", self.site.port, timeout=60)) as connection:
            connection.request("GET" if body is None else "POST", path, body, self.headers | more)
            answer = connection.getresponse()
            if cookie := answer.headers["Set-Cookie"]:
                self.headers["Cookie"] += f"; {cookie.partition(';')[0]}"
            return Answer(answer.status, answer.headers["Retry-After"], answer.read().decode())

    def upload(self, front):
        body = encode_multipart(BOUNDARY, TYPED_BY_NORA | {"front": file(front), "face": file(front)})
        return self.ask(self.form, body, **{"Content-Type": MULTIPART_CONTENT})

    def begin_upload(self):
        """Sends the beginning of a form, for whose end the service then waits."""
        connection = socket.create_connection(("127.0.0.1", self.site.port))
        headers = self.headers | {"Content-Type": MULTIPART_CONTENT, "Content-Length": "1000000"}
        lines = [f"POST {self.form} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        connection.sendall("\r\n".join([*lines, "", f"--{BOUNDARY}\r\n"]).encode())
        return connection


@pytest.fixture
def holder(client, nora, redirect_task, sign_in, settings, tmp_path, signing_key):
    settings.IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}
    sign_in(nora)
    form = client.post(reverse("wallet_identity_start", args=[redirect_task.id])).url
    providers = tmp_path / "providers.toml"
    providers.write_text("[from_afar]")
    own = {"BASE_URL": f"http://{HOST}", "TRUSTED_PROXY_COUNT": "0"}
    own["IDENTITY_PROVIDERS_FILE"] = str(providers)
    with WarmSite("config.wsgi", environment(settings, tmp_path) | own, ready="/health/live") as site:
        yield Holder(site, client, form)


def slow():
    """A picture of many chunks that mean nothing, over which decoders go one by one."""
    plain = picture((400, 400), "PNG")
    chunk = struct.pack(">I", 0) + b"quIt" + struct.pack(">I", zlib.crc32(b"quIt"))
    return plain[:33] + chunk * 300_000 + plain[33:]


def decoder_of(worker, running):
    """The process that decodes a picture for this worker, stopped."""
    while running.is_alive():
        for pid in children(worker):
            if b"picture_decoder" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGSTOP)
                return pid
    raise AssertionError("No process decoded the picture.")


def test_pages_are_answered_while_pictures_occupy_every_other_thread(holder, nora):
    answers = []
    upload = Thread(target=lambda: answers.append(holder.upload(slow())))
    upload.start()
    decoder = decoder_of(holder.site.worker, upload)
    with ExitStack() as open_connections:
        refused = holder.upload(picture())
        for _ in range(2):
            open_connections.enter_context(holder.begin_upload())
        while UPLOADS.left(str(nora.id), now=timezone.now()) > UPLOADS.most - 4:
            assert upload.is_alive()
        found = [holder.ask(path).status for path in ("/health/live", "/health/ready", DISCOVERY, SIGN_IN)]
    os.kill(decoder, signal.SIGCONT)
    upload.join(60)

    assert (refused.status, refused.retry_after) == (503, "10")
    assert found == [200, 200, 200, 303]  # who is signed in is sent on
    assert answers


def test_of_many_costly_pictures_at_once_each_is_refused_and_the_service_goes_on(holder):
    worker, front, answers = holder.site.worker, costly(), []
    uploads = [Thread(target=lambda: answers.append(holder.upload(front))) for _ in range(16)]
    for upload in uploads:
        upload.start()
    live = holder.ask("/health/live").status
    for upload in uploads:
        upload.join(60)

    assert live == 200
    assert len(answers) == 16
    assert {422} <= {answer.status for answer in answers} <= {422, 503}
    assert holder.site.worker == worker
    assert not children(worker), "no decoder is left"
