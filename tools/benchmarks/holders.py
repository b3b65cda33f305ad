"""Fill this service's database: a signing key, a relying party, signed-in holders. Prints them as JSON."""

import hashlib
import json
import os
import secrets
import sys
from datetime import date, datetime
from typing import TYPE_CHECKING

import django
from django.conf import settings

if TYPE_CHECKING:
    from presentation.models import RelyingParty

CLIENTS = 100  # enough that no client exceeds the limit of tokens
REDIRECT_URI = "https://relying-party.example/callback"


def prepare(holders: int) -> dict[str, object]:
    """Migrate, make a key, register, enrol, sign in. Returns what the browsers need."""
    from django.core.management import call_command
    from django.utils import timezone

    from keys.rotation import due_steps

    now = timezone.now()
    call_command("migrate", verbosity=0, interactive=False)
    due_steps.rotate(now=now)
    signed_in = [sign_in(f"holder{number}@example.org", now) for number in range(holders)]
    return {
        "clients": [client(number, now) for number in range(CLIENTS)],
        "client_id": register().client_id,
        "redirect_uri": REDIRECT_URI,
        "emails": [email for email, _ in signed_in],
        "cookies": [cookies for _, cookies in signed_in],
    }


def register() -> "RelyingParty":
    from presentation.dcql.queries import BASIC
    from presentation.models import RedirectURI, RelyingParty

    party = RelyingParty.objects.create(
        name="Acme Bank",
        purpose="To open your account we need your name and proof that you are an adult.",
        privacy_policy_url="https://relying-party.example/privacy",
        terms_url="https://relying-party.example/terms",
        allowed_scopes=[BASIC],
    )
    RedirectURI.objects.create(relying_party=party, uri=REDIRECT_URI)
    return party


def client(number: int, now: datetime) -> tuple[str, str]:
    """A relying party whose server may get access tokens and push requests: client ID and secret."""
    from presentation.dcql.queries import BASIC
    from presentation.models import RedirectURI, RelyingParty
    from presentation.relying_parties.authentication import client_secrets

    party = RelyingParty.objects.create(
        name=f"Client {number}", grants=["presentation:verify"], allowed_scopes=[BASIC]
    )
    RedirectURI.objects.create(relying_party=party, uri=REDIRECT_URI)
    return party.client_id, client_secrets.rotate(party, now=now).text


def sign_in(email: str, now: datetime) -> tuple[str, dict[str, str]]:
    """The cookies of an enrolled holder's browser."""
    from django.db import transaction

    from wallet.credential import credentials
    from wallet.credential.claims import Identity
    from wallet.models import HolderSession, IdentityVerification, Wallet
    from wallet.sign_in.sessions import ABSOLUTE

    wallet = Wallet.objects.create(email=email, created_at=now)
    verification = IdentityVerification.objects.create(
        wallet=wallet,
        state=IdentityVerification.State.APPROVED,
        provider="simulated",
        created_at=now,
        changed_at=now,
    )
    identity = Identity("Zoë Amélie", "Fernández-O’Connor", date(1990, 2, 28), ("IE", "ES"))
    with transaction.atomic():
        credentials.issue(wallet, identity, verification, now=now)
    secret = secrets.token_urlsafe(32)
    HolderSession.objects.create(
        digest=hashlib.sha256(secret.encode()).hexdigest(),
        wallet=wallet,
        signed_in_at=now,
        last_seen_at=now,
        expires_at=now + ABSOLUTE,
    )
    browser = secrets.token_urlsafe(32)
    return email, {settings.HOLDER_COOKIE_NAME: secret, settings.BROWSER_COOKIE_NAME: browser}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    json.dump(prepare(int(sys.argv[1])), sys.stdout)
