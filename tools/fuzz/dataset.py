"""The data of a run: relying parties of every kind with their server, holders, a developer, an operator."""

import hashlib
import json
import secrets
import socket
import threading
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.utils import timezone

from consent.models import Consent
from infra.limits import LimitReachedError
from infra.models import Allowance
from keys.models import KINDS, SigningKey
from keys.rotation import due_steps
from presentation.models import Interaction, RedirectURI, RelyingParty, ResponseURI
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.scopes import catalogue
from presentation.transaction_data import entries
from presentation.webhooks import signing_secrets
from presentation.webhooks.models import WebhookEvent
from tests.forgery import Key, new_key, public_jwk
from tests.presentation.relying_parties.png_files import png
from wallet.credential import credentials
from wallet.credential.claims import NAMES, Identity
from wallet.models import Credential, HolderSession, IdentityVerification, RedirectTask, Wallet, WalletClosure
from wallet.sign_in.allowances import CODES_TO_STRANGERS
from wallet.sign_in.sessions import ABSOLUTE

HOLDERS = 8
PARTIES = 18
SHOPS = 3  # clients of OpenID Connect
WEB = "https://relying-party{number}.example/callback"
LOOPBACK = "http://127.0.0.1:5000/callback"


class PartyServer:
    """The relying parties' server on loopback: key sets, signed requests, and response URIs."""

    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}  # complete HTTP answers by path
        self.reply = b""  # the answer to every POST
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with suppress(OSError), connection:
                connection.settimeout(2)
                head = connection.recv(65_536)
                path = head.split(b" ")[1].decode("latin-1") if head.count(b" ") > 1 else ""
                connection.sendall(self.documents.get(path, self.reply))


def answer(body: bytes, content_type: str = "application/json", status: str = "200 OK") -> bytes:
    """A complete HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@dataclass
class Party:
    """A relying party with the secrets of its server."""

    number: int
    client_id: str
    redirect_uris: tuple[str, ...]
    response_uri: str
    secret: str
    key: Key
    request_uri_prefix: str
    token: str = ""
    token_until: datetime | None = None


@dataclass
class Dataset:
    """All rows that scenarios use, and the ids that one scenario may use of another."""

    party_server: PartyServer
    parties: list[Party] = field(default_factory=list)
    shops: list[Party] = field(default_factory=list)  # clients of OpenID Connect
    holders: list[Wallet] = field(default_factory=list)
    # Made at the beginning and never changed, so that a scenario does not depend on those before it.
    presentations: list[dict[str, Any]] = field(
        default_factory=list
    )  # valid bodies for verification, with the party
    others: tuple[str, ...] = ()  # ids to use in the wrong place

    def repair(self) -> None:
        """Undo what holders and operators do to shared rows, and reset all limits."""
        now = timezone.now()
        Allowance.objects.all().delete()
        RelyingParty.objects.exclude(state="active").update(state="active", suspension_reason="")
        Wallet.objects.exclude(state="active").update(state="active")
        get_user_model().objects.update(is_staff=True, is_superuser=True, is_active=True)
        for kind in KINDS:
            if not kind.objects.filter(state=SigningKey.State.ACTIVE).exists():
                due_steps.rotate(now=now, kind=kind)
        WalletClosure.objects.filter(wallet__in=[holder.pk for holder in self.holders]).delete()
        Credential.objects.filter(state="suspended").update(state="valid")
        for holder in self.holders:
            mine = Wallet.objects.filter(pk=holder.pk)
            mine.update(closes_at=None)
            if not Wallet.objects.filter(email=holder.email).exclude(pk=holder.pk).exists():
                mine.update(email=holder.email)
            enrol(holder, now)

    def operator_cookie(self) -> str:
        """A session of the operator, as created by signing in to the admin."""
        user = get_user_model().objects.filter(username="operator").first() or operator()
        session = SessionStore()
        session["_auth_user_id"] = str(user.pk)
        session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
        session["_auth_user_hash"] = user.get_session_auth_hash()
        session.save()
        return str(session.session_key)

    def holder_cookie(self, holder: Wallet) -> str:
        """A session of a holder, as created by signing in."""
        secret, now = secrets.token_urlsafe(32), timezone.now()
        HolderSession.objects.create(
            digest=hashlib.sha256(secret.encode()).hexdigest(),
            wallet=holder,
            signed_in_at=now,
            last_seen_at=now,
            expires_at=now + ABSOLUTE,
        )
        return secret

    def use_up_codes(self, email: str) -> None:
        """Use up the codes that browsers without an earlier sign-in may request for one mailbox today."""
        now = timezone.now()
        with suppress(LimitReachedError):
            while True:
                CODES_TO_STRANGERS.take(email, now=now)

    def redirect_uris(self, client_ids: Collection[str]) -> set[str]:
        """The redirect URIs that are registered for these clients now."""
        rows = RedirectURI.objects.filter(
            relying_party__client_id__in=[i for i in client_ids if "\0" not in i]
        )
        return set(rows.values_list("uri", flat=True))

    def client_of(self, path: str) -> str:
        """The client ID of the interaction that the path names; empty if there is none."""
        with suppress(Exception):
            found = Interaction.objects.select_related("relying_party").get(id=path.split("/")[5])
            return str(found.relying_party.client_id)
        return ""

    def ids(self) -> tuple[str, ...]:
        """The ids of existing rows of each kind."""
        found: list[str] = [party.client_id for party in self.parties]
        for model in (Interaction, RedirectTask, Consent, SigningKey, Wallet, WebhookEvent):
            found += map(str, model.objects.order_by("pk").values_list("pk", flat=True)[:4])
        return tuple(found)


def build() -> Dataset:
    """Create the dataset with which every run begins."""
    dataset = Dataset(PartyServer())
    for kind in KINDS:
        due_steps.rotate(now=timezone.now(), kind=kind)
    operator()
    dataset.party_server.reply = answer(b"{}")
    dataset.parties = [party(number, dataset.party_server) for number in range(PARTIES)]
    dataset.shops = [party(PARTIES + number, dataset.party_server, openid=True) for number in range(SHOPS)]
    for number in range(HOLDERS):
        holder = Wallet.objects.create(email=f"holder{number}@example.org", created_at=timezone.now())
        enrol(holder, timezone.now())
        dataset.holders.append(holder)
    return dataset


def operator() -> Any:
    """The superuser."""
    return get_user_model().objects.create_superuser("operator", password=secrets.token_urlsafe(12))


def enrol(holder: Wallet, now: datetime) -> None:
    """Give a holder without a credential a verified identity."""
    holder = Wallet.objects.get(pk=holder.pk)
    if credentials.valid_credential(holder, now=now + timedelta(minutes=1)) is not None:
        return
    verification = IdentityVerification.objects.create(
        wallet=holder, state="approved", provider="tests", created_at=now, changed_at=now
    )
    identity = Identity("Zoë", f"Holder {'ABCDEFGH'[holder.pk.int % 8]}", date(1990, 2, 28), ("IE", "ES"))
    with transaction.atomic(), suppress(ValueError):
        credentials.issue(holder, identity, verification, now=now)


def party(number: int, party_server: PartyServer, *, openid: bool = False) -> Party:
    """Registers relying parties that differ in wire format, keys and required kind of request."""
    key = new_key()
    jwks = {"keys": [{"kid": "one", **public_jwk(key)}, {"kid": "enc", "alg": "ECDH-ES", **public_jwk(key)}]}
    published = number % 6 == 5
    prefix = f"{party_server.origin}/requests/{number}/"
    row = RelyingParty.objects.create(
        name=f"Party {number}",
        purpose="To send you a book" if number % 2 else "",
        wire_format=RelyingParty.WireFormat.values[2 if openid else number % 2],
        allowed_scopes=list(catalogue.current()),
        allowed_claims=list(NAMES) if openid or number % 4 else [],
        allowed_transaction_data_types=list(entries.TYPES),
        grants=list(GRANTS),
        jwks=None if published else jwks,
        jwks_uri=f"{party_server.origin}/jwks/{number}" if published else "",
        request_uri_prefix=prefix,
        webhook_url=f"{party_server.origin}/hook" if number % 3 == 0 else "",
        webhook_events=list(WebhookEvent.Type.values) if number % 3 == 0 else [],
        requires_signed_requests=not openid and number % 9 == 7,
        requires_pushed_requests=not openid and number % 9 == 8,
        logo=png(64, 64) if number % 3 == 1 else b"",
    )
    party_server.documents[f"/jwks/{number}"] = answer(json.dumps(jwks).encode())
    uris = (
        WEB.format(number=number),
        LOOPBACK,
        f"{settings.BASE_URL}/playground/callback/",
        "com.example.app:/back",
    )
    for uri in uris:
        RedirectURI.objects.create(relying_party=row, uri=uri)
    response_uri = f"{party_server.origin}/answers/{number}"
    ResponseURI.objects.create(relying_party=row, uri=response_uri)
    if row.webhook_url:
        signing_secrets.rotate(row, now=timezone.now())
    secret = client_secrets.rotate(row, now=timezone.now()).text
    return Party(number, row.client_id, uris, response_uri, secret, key, prefix)
