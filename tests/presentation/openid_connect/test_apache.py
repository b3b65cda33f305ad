"""Apache's mod_auth_openidc in front of a page, with the settings of docs/products.md, in Chromium."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

import pytest
from django.utils import timezone

from infra.sealing import sha256_hex
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from tests.people import give_session, register
from tests.ports import free_port
from tests.programs import APACHE_MODULES, apache
from tests.relying_party import take_apart
from tests.source_modules import ROOT
from wallet.models import Wallet

pytestmark = [pytest.mark.apache, pytest.mark.browser]
PRINTED = ROOT / "tools/products/settings/mod_auth_openidc.conf"
CLIENT_ID, SECRET = "shop-behind-apache", "s" * 43
MODULES = [
    "mpm_event",
    "authn_core",
    "authz_core",
    "authz_user",
    "alias",
    "include",
    "rewrite",
    "auth_openidc",
]
# Every address shows the same page: all that Apache tells an application. `User` counts if root starts it.
SITE = """
{modules}
User www-data
Group www-data
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/error.log
Mutex file:{folder} default
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
AliasMatch ^ {folder}/page
<Directory {folder}>
  Options Includes
  ForceType text/html
  SetOutputFilter INCLUDES
</Directory>
{guide}
"""
PAGE = "<!doctype html><title>Shop</title><h1>Welcome</h1><pre><!--#printenv --></pre>"


@dataclass
class Site:
    """A running Apache with a page that only people with an answer see."""

    url: str

    def shown(self, page: Any) -> dict[str, str]:
        """What the page behind Apache was told, once the browser is there."""
        page.get_by_role("heading", name="Welcome").wait_for()
        assert page.url == f"{self.url}/secret"
        lines = page.locator("pre").inner_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line.startswith("OIDC_"))


@pytest.fixture(scope="module")
def site(live_server: Any) -> Iterator[Site]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    guide = PRINTED.read_text()
    for shown, here in {
        "{base_url}": live_server.url,
        "<client ID>": CLIENT_ID,
        "<client secret>": SECRET,
        "<32 random characters>": "c" * 32,
        "https://shop.example": url,
    }.items():
        assert shown in guide
        guide = guide.replace(shown, here)
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # for `User`
        (folder / "page").write_text(PAGE)
        loads = [f"LoadModule {module}_module {APACHE_MODULES}/mod_{module}.so" for module in MODULES]
        facts = {"folder": folder, "port": port, "modules": "\n".join(loads), "guide": guide}
        (folder / "site.conf").write_text(SITE.format(**facts))
        command = [str(apache()), "-f", str(folder / "site.conf"), "-DFOREGROUND"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
            _wait_for(port, running)
            yield Site(url)
            running.terminate()


def _wait_for(port: int, running: subprocess.Popen[str]) -> None:
    while running.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        sleep(0.05)
    assert running.stderr
    raise AssertionError(running.stderr.read())


@pytest.fixture
def shop(service: Any, signing_key: Any, alice: Wallet, page: Any, site: Site) -> RelyingParty:
    """The shop behind Apache; Alice is signed in to her wallet in the browser."""
    party = register("Shop", f"{site.url}/oidc/cb", wire_format="openid", client_id=CLIENT_ID)
    client_secrets.rotate(party, now=timezone.now())
    party.client_secrets.update(digest=sha256_hex(SECRET))  # Apache was started with it
    give_session(page.context, alice, service.url)
    return party


def test_a_protected_page_shows_the_claims_and_the_evidence_after_a_yes(
    shop: RelyingParty, page: Any, site: Site
) -> None:
    page.goto(f"{site.url}/secret")
    page.get_by_role("button", name="Share these").click()

    shown = site.shown(page)
    assert (shown["OIDC_CLAIM_given_name"], shown["OIDC_CLAIM_family_name"]) == ("Alice", "Archer")
    binding = take_apart(shown["OIDC_CLAIM_vp_token"])[2].payload
    assert (binding["nonce"], binding["aud"]) == (shown["OIDC_CLAIM_nonce"], CLIENT_ID)

    page.goto(f"{site.url}/secret")
    site.shown(page)
    assert Interaction.objects.count() == 1, "who has a session there is not asked again"


def test_a_declined_request_ends_on_a_page(shop: RelyingParty, page: Any, site: Site) -> None:
    page.goto(f"{site.url}/secret")
    page.get_by_role("button", name="Don’t share").click()

    page.get_by_text("access_denied").first.wait_for()
    assert page.url.startswith(f"{site.url}/oidc/cb?error=access_denied")
    assert Interaction.objects.count() == 1, "whoever declines is not asked again"
