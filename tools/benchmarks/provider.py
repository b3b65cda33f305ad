"""node-oidc-provider in one process of Node.js, with its state in PostgreSQL (tools/benchmarks/node)."""

import secrets
import shutil
from pathlib import Path
from urllib.parse import urlencode

from tests.pgcluster import Cluster
from tools.benchmarks.browsers import ORIGIN, Browser
from tools.benchmarks.flows import Holder
from tools.benchmarks.sites import Server

FOLDER = Path(__file__).parent / "node"
NODE = shutil.which("node")
INSTALLED = bool(NODE) and (FOLDER / "node_modules").is_dir()
MISSING = "Node.js with the packages of tools/benchmarks/node"
CLIENT, REDIRECT_URI = "acme-bank", "https://relying-party.example/callback"
YES = ("allow", "yes")
ANSWER = f"{REDIRECT_URI}?code="


class Provider(Server):
    """One running provider, with the database `provider` of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        def command(listener: int) -> list[str]:
            where = [str(cluster.root), "provider"]
            return [
                str(NODE),
                str(FOLDER / "provider.mjs"),
                str(listener),
                ORIGIN,
                *where,
                CLIENT,
                REDIRECT_URI,
            ]

        super().__init__(command, {"NODE_ENV": "production"}, ready="/jwks")


def provider_holders(provider: Provider, number: int) -> list[Holder]:
    """Browsers in which somebody is signed in, each by a first flow that names the person."""
    holders = []
    for one in range(number):
        with Browser(provider.port) as browser:
            home = browser.give(f"{_request()}&login_hint=holder{one}", YES)
            if not home.startswith(ANSWER):
                raise RuntimeError(f"a first flow ended at {home[:300]}")
            holders.append(Holder(browser.cookies, _request, YES, ANSWER))
    return holders


def _request() -> str:
    """`prompt=consent`, because otherwise a person who has agreed once is not asked again."""
    parameters = {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT_URI,
        "scope": "openid profile",
        "prompt": "consent",
        "state": secrets.token_urlsafe(12),
        "nonce": secrets.token_urlsafe(24),
        "code_challenge": secrets.token_urlsafe(32),
        "code_challenge_method": "S256",
    }
    return f"/auth?{urlencode(parameters)}"
