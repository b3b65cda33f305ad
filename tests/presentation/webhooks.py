"""The relying party's side of webhooks: a receiver with prepared responses, and a foreign library."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.utils import timezone
from standardwebhooks import Webhook

from infra.outbound.calls import Outbound
from presentation.models import RelyingParty
from presentation.webhooks import delivery, signing_secrets
from presentation.webhooks.models import WebhookEvent

TLS = ssl.create_default_context()  # loads all certificate authorities, which takes longer than a call
EVENTS = list(WebhookEvent.Type.values)


class Receiver:
    """The received (headers, body), and the responses: `statuses` in order, then the last one."""

    def __init__(self) -> None:
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.statuses = [204]
        self.refused = ""  # an id that always gets 400
        self.body = b""
        self.retry_after = ""
        self.before: Callable[[], object] = lambda: None  # called before each response
        self.url = ""

    def answer(self, headers: dict[str, str], body: bytes) -> int:
        self.received.append((headers, body))
        self.before()
        if headers.get("webhook-id") == self.refused:
            return 400
        return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    def verified(self, secret: str) -> list[dict[str, Any]]:
        """Everything received, verified by the library; raises its errors."""
        return [Webhook(secret).verify(body, headers) for headers, body in self.received]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.received]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on its own port."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.answer({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(status)
            if receiver.retry_after:
                self.send_header("Retry-After", receiver.retry_after)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 100

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/told?by=us"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def opted_in(party: RelyingParty, url: str = "https://bank.example/told", *events: str) -> str:
    """Chooses these events, or all, and makes a secret; returns the secret."""
    party.webhook_url, party.webhook_events = url, list(events or EVENTS)
    party.save()
    return signing_secrets.rotate(party, now=timezone.now() - timedelta(days=30))


def waiting(party: RelyingParty, count: int = 1, *, now: datetime | None = None) -> list[WebhookEvent]:
    """Events without a subject, in the order in which they are due."""
    moment = now or timezone.now()
    return [
        WebhookEvent.objects.create(
            relying_party=party,
            type=WebhookEvent.Type.COMPLETED,
            subject=f"{party.pk}-{WebhookEvent.objects.count()}",
            body='{"type": "presentation.completed", "data": {"Grüße": 1}}',
            created_at=moment,
            due_at=moment - timedelta(microseconds=count - 1 - number),
            give_up_at=moment + delivery.TRIED_FOR,
        )
        for number in range(count)
    ]


def deliver(*, now: datetime | None = None, outbound: Outbound | None = None) -> int:
    """Sends the due events at this moment; returns the number delivered."""
    moment = now or timezone.now()
    return delivery.deliver_due(outbound=outbound or Outbound(loopback=True, tls=TLS), clock=lambda: moment)
