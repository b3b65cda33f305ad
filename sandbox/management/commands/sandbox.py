"""`make sandbox`: prepares a sandbox in an empty folder and serves it."""

import contextlib
import os
import secrets
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections
from django.utils import timezone
from django.utils.text import slugify

from infra.sealing import SealError
from keys.issuer_key import active_issuer_key
from keys.models import KINDS, SigningKey
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation import due_steps
from keys.sandbox_folder import leave_mark
from presentation.models import RedirectURI, RelyingParty, ResponseURI
from presentation.scopes import catalogue
from presentation.transaction_data import types
from sandbox import checks
from sandbox.playground import posted_answers

LOGOS = Path(__file__).resolve().parents[2] / "logos"
AGAIN = "Start over with: make sandbox FRESH=1"
# One of each wire format: the contract's and that of OpenID4VP 1.0.
DEMO_RELYING_PARTIES = [
    (
        "Acme Bank",
        "To open your account we need your name and proof that you are an adult.",
        RelyingParty.WireFormat.STRING,
    ),
    (
        "Corner Shop",
        "We sell wine and beer, so we must know that you are over 18.",
        RelyingParty.WireFormat.OPENID4VP_1_0,
    ),
]


class Command(BaseCommand):
    help = (
        "Prepare the sandbox (database, authority, signing key, demo relying parties, operator) and serve it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fresh", action="store_true", help="delete the sandbox's database first")
        parser.add_argument("--prepare-only", action="store_true", help="prepare only; do not serve")

    def handle(self, *args: Any, fresh: bool, prepare_only: bool, **options: Any) -> None:
        port = int(os.environ.get("PORT") or 8000)
        if not prepare_only:
            refuse_taken_port(port)
        try:
            if fresh:
                forget_database()
            call_command("migrate", verbosity=0, interactive=False)
            for kind in KINDS:
                due_steps.rotate(now=timezone.now(), kind=kind)
            active_issuer_key(now=timezone.now())  # unseals the key: a lost secret is found now
            register_demo_relying_parties()
            password = create_operator()
        except SealError as error:
            raise CommandError(
                f"The sandbox's database was made with other secrets: {error}. {AGAIN}"
            ) from error
        except SignerUnavailableError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The sandbox's database cannot be used: {error}".strip()) from error
        leave_mark(settings.STATIC_ROOT.parent, settings.BASE_URL)
        self.stdout.write(welcome(password))
        for message in checks.developers_prove_their_address(None):
            self.stderr.write(str(message))
        if not prepare_only:
            serve(port)


def refuse_taken_port(port: int) -> None:
    """Raise CommandError if the port is taken; gunicorn would retry five times first."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used ({error.strerror}). Choose another: make sandbox PORT={port + 1}"
            ) from error


def forget_database() -> None:
    """Delete the SQLite files. Raises CommandError for another database, which its operator has to drop."""
    database = settings.DATABASES["default"]
    if not database["ENGINE"].endswith("sqlite3"):
        raise CommandError("FRESH=1 removes the sandbox's SQLite file; DATABASE_URL names another database.")
    connections.close_all()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database['NAME']}{suffix}").unlink(missing_ok=True)


def register_demo_relying_parties() -> None:
    """Register Acme Bank and Corner Shop with the playground's addresses; keep what an operator changed."""
    for name, purpose, wire_format in DEMO_RELYING_PARTIES:
        party, _created = RelyingParty.objects.get_or_create(
            name=name,
            defaults={
                "purpose": purpose,
                "logo": (LOGOS / f"{slugify(name)}.png").read_bytes(),
                "wire_format": wire_format,
                "privacy_policy_url": "https://relying-party.example/privacy",
                "terms_url": "https://relying-party.example/terms",
                "allowed_scopes": list(catalogue.current()),
                "allowed_transaction_data_types": list(types.TYPES),
            },
        )
        RedirectURI.objects.get_or_create(
            relying_party=party, uri=f"{settings.BASE_URL}/playground/callback/"
        )
        if not posted_answers.obstacle():
            ResponseURI.objects.get_or_create(relying_party=party, uri=posted_answers.response_uri())


def create_operator() -> str | None:
    """Create the operator's account and return its password; None if the account exists."""
    users = get_user_model().objects
    if users.filter(username="operator").exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser("operator", password=password)
    return password


def welcome(password: str | None) -> str:
    """The addresses to open, as text."""
    base = settings.BASE_URL
    shown = f"password {password} (shown only now)" if password else "the password shown at the first start"
    active = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).values_list("id", flat=True).first()
    return f"""
The sandbox is at {base}

  Try it       {base}/playground/      ask for claims as a relying application, be the holder, see the token
  Develop      {base}/sandbox/relying-parties/   register your own application
  Read         {base}/sandbox/guide/   from registration to a verified claim (docs/integrate.md)
  Operate it   {base}/admin/           sign in as operator, {shown}
  Discovery    {base}/.well-known/openid-configuration
  Key set      {base}/openid-connect/jwks   (signing with {active})

No e-mail is sent: the page shows the sign-in code, and {base}/sandbox/mailbox/ shows all e-mails.
Stop with Ctrl-C. All data is in {settings.STATIC_ROOT.parent.name}/. {AGAIN}
"""


def serve(port: int) -> None:
    """Replace this process by gunicorn, so that signals such as Ctrl-C reach it directly."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "gunicorn", "config.wsgi_with_jobs"]
    options = ["--config", "deploy/gunicorn.conf.py", "--bind", f"127.0.0.1:{port}"]
    os.chdir(settings.BASE_DIR)
    os.execv(sys.executable, [*command, *options])  # noqa: S606 - our own interpreter, no shell
