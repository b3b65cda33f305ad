"""Benchmark (g): access tokens and pushed requests, compared with django-oauth-toolkit's token endpoint.

The toolkit hashes its clients' secrets as Django hashes passwords, which costs more than all the rest; so it
is measured with the secret in plain text as well. Ours are 256 random bits, for which one SHA-256 is enough.
"""

import base64
import json
from collections.abc import Callable, Iterator
from itertools import cycle
from secrets import token_urlsafe

from tools.benchmarks.browsers import Browser
from tools.benchmarks.bursts import Contender, alternate
from tools.benchmarks.holders import REDIRECT_URI
from tools.benchmarks.oauth_toolkit.prepare import SECRET
from tools.benchmarks.servers import Servers
from tools.benchmarks.sites import Site, cpu_seconds
from tools.benchmarks.table import Row

TARGET = 3.0
FORM = {"grant_type": "client_credentials"}
UNIT = "grants per CPU second"


def run(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Grants and pushes per second of server CPU, and the ratios to the toolkit's grants."""
    clients = [tuple(client) for client in servers.service.facts["clients"]]
    with servers.service.open() as service, servers.toolkit.open() as toolkit:
        measured = alternate(
            [
                Contender("ours", _asking(service, "/oauth/v2/token", cycle(clients)), _accounts(service)),
                Contender("pushes", _pushing(service, cycle(clients)), _accounts(service)),
                *(
                    Contender(
                        client, _asking(toolkit, "/o/token/", cycle([(client, SECRET)])), _accounts(toolkit)
                    )
                    for client in ("plain-client", "hashed-client")
                ),
            ],
            bursts=bursts,
            size=size,
        )
    ours, pushes, plain, hashed = range(4)
    of_plain = measured.ratio(pushes, plain).median
    note = f"its grants as they come; {of_plain:.2f} × those with secrets in plain text"
    return [
        Row("g", "an access token for client credentials", measured.rate(ours), UNIT),
        Row(
            "g",
            "from django-oauth-toolkit, secrets in plain text",
            measured.rate(plain),
            UNIT,
            measured.ratio(ours, plain),
        ),
        Row(
            "g",
            "from django-oauth-toolkit as it comes",
            measured.rate(hashed),
            UNIT,
            measured.ratio(ours, hashed),
            TARGET,
        ),
        Row(
            "g",
            "a pushed request",
            measured.rate(pushes),
            "pushes per CPU second",
            measured.ratio(pushes, hashed),
            TARGET,
            note=note,
        ),
    ]


def _asking(site: Site, path: str, clients: Iterator[tuple[str, str]]) -> Callable[[int], None]:
    return _posting(site, path, ((client, FORM) for client in clients), "access_token")


def _pushing(site: Site, clients: Iterator[tuple[str, str]]) -> Callable[[int], None]:
    requests = ((client, _request(client[0])) for client in clients)
    return _posting(site, "/verifiable-credentials/v1/presentation/par", requests, "request_uri")


def _request(client_id: str) -> dict[str, str]:
    """The parameters of an authorization request."""
    return {
        "response_type": "vp_token",
        "client_id": client_id,
        "redirect_uri": REDIRECT_URI,
        "scope": "urn:service:params:scope:verifiable-credentials:basic",
        "login_hint": "alice@example.org",
        "nonce": token_urlsafe(24),
        "state": token_urlsafe(16),
    }


def _posting(
    site: Site, path: str, forms: Iterator[tuple[tuple[str, str], dict[str, str]]], member: str
) -> Callable[[int], None]:
    """Posts forms of several clients; every answer must contain `member`."""
    addresses = cycle(f"192.0.2.{number}" for number in range(1, 200))

    def burst(size: int) -> None:
        with Browser(site.port) as server:
            for _ in range(size):
                client, form = next(forms)
                basic = base64.b64encode(":".join(client).encode()).decode()
                answer = server.post(
                    path, form, Authorization=f"Basic {basic}", X_Forwarded_For=next(addresses)
                )
                if answer.status not in (200, 201) or member not in json.loads(answer.body):
                    raise RuntimeError(f"{path} answered {answer.status}: {answer.body[:200]!r}")

    return burst


def _accounts(site: Site) -> Callable[[], float]:
    return lambda: cpu_seconds(site.worker)
