"""deploy/acme with Debian's certbot, an authority that speaks ACME (pebble), and nginx as it is shipped."""

import json
import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from cryptography import x509
from django.core.management import CommandError, call_command

from infra import base64url
from keys.models import KeyEvent, SigningKey, StatementKey
from keys.rotation import renewal
from tests.keys.openssl import openssl
from tests.nginx_in_front import HOST, proxy
from tests.ports import free_port
from tests.project_copy import ROOT

BOTH = (SigningKey, StatementKey)  # that are made by themselves
pytestmark = [pytest.mark.acme, pytest.mark.nginx, pytest.mark.slow, pytest.mark.django_db]
DEPLOY = ROOT / "deploy"
ACCOUNT = ("operations", base64url.encode(b"what the authority told us about the account"))


class Authority(NamedTuple):
    """A running pebble. It asks http://HOST:proofs/ for the proof that a host is ours."""

    directory: str
    certificate: Path
    root: str
    proofs: int


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    folder = tmp_path_factory.mktemp("authority")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority"
    names_itself = ("-addext", "subjectAltName=IP:127.0.0.1")
    openssl(*request.split(), "-keyout", key, "-out", certificate, *names_itself)
    port, management, names, proofs = (free_port() for _ in range(4))
    settings = {
        "listenAddress": f"127.0.0.1:{port}",
        "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(certificate),
        "privateKey": str(key),
        "httpPort": proofs,
        "externalAccountBindingRequired": True,
        "externalAccountMACKeys": dict([ACCOUNT]),
    }
    (folder / "pebble.json").write_text(json.dumps({"pebble": settings}))
    dns = ["pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-dns01", f"127.0.0.1:{names}"]
    dns += [f"{unused}=" for unused in ("-defaultIPv6", "-http01", "-https01", "-tlsalpn01", "-management")]
    pebble = ["pebble", "-strict", "-config", str(folder / "pebble.json"), "-dnsserver", f"127.0.0.1:{names}"]
    # It would also refuse one request in twenty, for clients to try again; certbot does that once.
    as_it_is = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0", "PEBBLE_WFE_NONCEREJECT": "0"}
    with ExitStack() as running:
        for command in (dns, pebble):
            log = running.enter_context((folder / command[0]).open("w"))
            process = subprocess.Popen(command, env=os.environ | as_it_is, stdout=log, stderr=log)
            running.callback(process.wait, 30)
            running.callback(process.terminate)
        root = fetched(f"https://127.0.0.1:{management}/roots/0", certificate)
        yield Authority(f"https://127.0.0.1:{port}/dir", certificate, root, proofs)


def fetched(url: str, certificate: Path) -> str:
    """What is at this address, as soon as its server answers."""
    trusted, until = ssl.create_default_context(cafile=certificate), monotonic() + 60
    while True:
        try:
            with urlopen(url, context=trusted, timeout=10) as answer:
                return str(answer.read().decode())
        except URLError:
            assert monotonic() < until
            sleep(0.05)


@pytest.fixture
def machine(authority: Authority, tmp_path: Path, settings: Any) -> Path:
    """The program of deploy/acme, set up as docs/keys.md says, with the folders of this test."""
    etc, state = tmp_path / "etc", tmp_path / "acme"
    etc.mkdir()
    shipped = (DEPLOY / "acme" / "certbot.ini").read_text()
    for before, here in {
        "https://authority.example/acme/directory": authority.directory,
        "# eab-kid = …": f"eab-kid = {ACCOUNT[0]}",
        "# eab-hmac-key = …": f"eab-hmac-key = {ACCOUNT[1]}",
    }.items():
        assert before in shipped
        shipped = shipped.replace(before, here)
    (etc / "certbot.ini").write_text(shipped)
    (etc / "root.pem").write_text(authority.root)
    program = (DEPLOY / "acme" / "certificate").read_text()
    program = program.replace("/etc/presentation-acme", str(etc))
    program = program.replace("/var/lib/presentation-acme", str(state))
    # The authority's own TLS certificate; on a real machine its root is among the system's.
    program = program.replace("set -eu\n", f"set -eu\nexport REQUESTS_CA_BUNDLE={authority.certificate}\n")
    (made := tmp_path / "certificate").write_text(program)
    made.chmod(0o755)
    settings.CERTIFICATE_COMMAND = str(made)
    settings.SELF_CERTIFYING_AUTHORITY = False
    settings.BASE_URL = f"https://{HOST}"
    return tmp_path


def rotated() -> dict[str, Any]:
    out = StringIO()
    with suppress(CommandError):  # if a certificate was not obtained
        call_command("rotate_signing_keys", json=True, stdout=out)
    return dict(json.loads(out.getvalue()))


def test_a_key_is_certified_by_acme_and_signs_and_its_certificates_are_renewed(
    machine: Path, authority: Authority, now: datetime
) -> None:
    with proxy(machine, free_port(), free_port(), plain=authority.proofs):
        report = rotated()

        assert report["problems"] == []
        steps = ["staged", "certified", "activated"]
        assert [entry["what"] for entry in report["done"]] == [step for step in steps for _kind in BOTH]
        key = SigningKey.objects.get()
        before = key.certified_chain
        assert before
        assert list(before.leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value) == [
            x509.DNSName(HOST)
        ]
        assert before.root == x509.load_pem_x509_certificate(authority.root.encode())

        # certbot waits for whole seconds, so the new certificate ends later.
        done, failed = renewal.renew(now=before.not_after - timedelta(days=29))

    assert ([entry.kid for entry in done], failed) == ([key.pk, StatementKey.objects.get().pk], [])
    key.refresh_from_db()
    after = key.certified_chain
    assert after
    assert after.not_after > before.not_after
    assert KeyEvent.objects.filter(action="certified", actor="CERTIFICATE_COMMAND", kid=key.pk).count() == 2


def test_proofs_are_gone_afterwards_and_the_account_stays_secret(machine: Path, authority: Authority) -> None:
    with proxy(machine, free_port(), free_port(), plain=authority.proofs):
        rotated()

    state = machine / "acme"
    assert not [path for path in (state / "www").rglob("*") if path.is_file()]
    (account,) = state.glob("account/accounts/**/private_key.json")
    assert account.stat().st_mode & 0o077 == 0


def test_a_host_that_the_authority_cannot_reach_gets_no_certificate(machine: Path, capfd: Any) -> None:
    """Nothing listens where the authority asks for the proof."""
    report = rotated()

    assert "certificate_not_obtained" in [entry["what"] for entry in report["problems"]]
    assert SigningKey.objects.get().chain_pem == ""
    assert "connection refused" in capfd.readouterr().err
