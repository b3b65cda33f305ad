"""Bench (g): access tokens for client credentials, beside django-oauth-toolkit's token endpoint.

The toolkit hashes its clients' secrets as Django hashes passwords, which costs more than all the rest; so it
is measured with the secret in plain text as well. Ours are 256 random bits, for which one SHA-256 is enough.
"""

import base64
import json
from collections.abc import Callable, Iterator
from itertools import cycle

from tests.benchmarks.browsers import Browser
from tests.benchmarks.bursts import Contender, alternate
from tests.benchmarks.oauth_toolkit.prepare import SECRET
from tests.benchmarks.sites import Site, cpu_seconds
from tests.benchmarks.stage import Stage
from tests.benchmarks.table import Row

TARGET = 3.0
FORM = {"grant_type": "client_credentials"}
UNIT = "grants per CPU second"


def run(stage: Stage, *, bursts: int, size: int) -> list[Row]:
    """Grants per second of server CPU, and the ratio to the toolkit's."""
    clients = [tuple(client) for client in stage.service.facts["clients"]]
    with stage.service.open() as service, stage.toolkit.open() as toolkit:
        rates = alternate(
            [
                Contender("ours", _asking(service, "/oauth/v2/token", cycle(clients)), _accounts(service)),
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
    ours, plain, hashed = rates
    return [
        Row("g", "an access token for client credentials", ours, UNIT),
        Row(
            "g",
            "from django-oauth-toolkit, secrets in plain text",
            plain,
            UNIT,
            ours / plain,
        ),
        Row("g", "from django-oauth-toolkit as it comes", hashed, UNIT, ours / hashed, TARGET),
    ]


def _asking(site: Site, path: str, clients: Iterator[tuple[str, str]]) -> Callable[[int], None]:
    addresses = cycle(f"192.0.2.{number}" for number in range(1, 200))

    def burst(size: int) -> None:
        with Browser(site.port) as server:
            for _ in range(size):
                basic = base64.b64encode(":".join(next(clients)).encode()).decode()
                answer = server.post(
                    path, FORM, Authorization=f"Basic {basic}", X_Forwarded_For=next(addresses)
                )
                if answer.status != 200 or "access_token" not in json.loads(answer.body):
                    raise RuntimeError(f"{path} answered {answer.status}: {answer.body[:200]!r}")

    return burst


def _accounts(site: Site) -> Callable[[], float]:
    return lambda: cpu_seconds(site.worker)
