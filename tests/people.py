"""Named people with fixed relations: Alice is enrolled, Bob has another wallet, Nora is new.

Acme Bank and Corner Shop are relying parties. Tests get them as fixtures; they are real rows, not mocks.
"""

from collections.abc import Callable
from copy import copy
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models.base import ModelState

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from keys.models import IdTokenKey, SigningKey
    from presentation.models import RelyingParty
    from wallet.credential.birth_dates import BirthDate
    from wallet.credential.evidence import Evidence
    from wallet.models import HolderSession, Wallet

ALICE = "alice@example.org"
BOB = "bob@example.org"
NORA = "nora@example.org"


DETAILS = {
    "address": {
        "formatted": "1 Main Street\nFlat 2\nN1 1AA London\nEngland\nUnited Kingdom",
        "street_address": "1 Main Street\nFlat 2",
        "locality": "London",
        "postal_code": "N1 1AA",
        "region": "England",
        "country": "GB",
    },
    "place_of_birth": {"locality": "Leeds", "region": "Yorkshire", "country": "GB"},
    "document": {
        "type": "passport",
        "number": "P1234567",
        "issuing_country": "IE",
        "expiry_date": "2035-01-31",
    },
}


def enroll(
    email: str, *, given_name: str, family_name: str, birth_date: "BirthDate", details: Any = None
) -> "Wallet":
    """A wallet with a verified identity, by way of an approved verification."""
    from django.db import transaction
    from django.utils import timezone

    from wallet.credential import credentials
    from wallet.credential.claims import Identity
    from wallet.models import IdentityEvidence, IdentityVerification, Wallet

    now = timezone.now()
    wallet = Wallet.objects.create(email=email, created_at=now)
    verification = IdentityVerification.objects.create(
        wallet=wallet, state="approved", provider="tests", created_at=now, changed_at=now
    )
    identity = Identity(
        given_name=given_name,
        family_name=family_name,
        birth_date=birth_date,
        nationalities=("GB",),
        verification=evidence_of(verified_at=now).verification(),
        details=details or {},
    )
    IdentityEvidence.objects.create(
        verification=verification,
        method="in_person",
        trust_framework="https://id.example/assurance",
        assurance_level="in_person",
        verified_by="The tests",
        verified_at=now,
    )
    with transaction.atomic():
        credentials.issue(wallet, identity, verification, now=now)
    return Wallet.objects.select_related("credential").get(id=wallet.id)


def evidence_of(**facts: Any) -> "Evidence":
    """How an operator verified somebody with a passport, unless `facts` say otherwise."""
    from wallet.credential.evidence import Assurance, Evidence

    defaults = {
        "method": "in_person",
        "assurance": Assurance("https://id.example/assurance", "in_person"),
        "verified_by": "The tests",
        "verified_at": datetime(2026, 1, 1, 12, tzinfo=UTC),
        "document_kind": "passport",
        "issuing_country": "IE",
    }
    return Evidence(**(defaults | facts))


def give_session(context: Any, wallet: "Wallet", url: str, agent: str = "") -> None:
    """Signs a context of Chromium in to the wallet, without the pages for it."""
    from django.conf import settings
    from django.http import HttpResponse
    from django.test import RequestFactory
    from django.utils import timezone

    from wallet.sign_in import sessions

    response, request = HttpResponse(), RequestFactory(headers={"user-agent": agent}).get("/")
    sessions.start(request, response, wallet, now=timezone.now())
    name = settings.HOLDER_COOKIE_NAME
    context.add_cookies([{"name": name, "value": response.cookies[name].value, "url": url}])


@pytest.fixture
def alice(db: None) -> "Wallet":
    return enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=date(1990, 4, 1))


@pytest.fixture
def bob(db: None) -> "Wallet":
    return enroll(BOB, given_name="Bob", family_name="Baker", birth_date=date(1985, 12, 24))


@pytest.fixture
def rsa_key(signing_key: Any) -> "IdTokenKey":
    """The active RSA key for ID tokens; it is in the key set beside the signing key."""
    from django.utils import timezone

    from keys.endpoints import jwks
    from keys.models import IdTokenKey
    from keys.rotation import due_steps

    due_steps.rotate(now=timezone.now(), kind=IdTokenKey)
    jwks.refresh()
    return IdTokenKey.objects.get()


@pytest.fixture
def signing_key(db: None) -> "SigningKey":
    """The active key of the sandbox's authority."""
    from django.db import transaction
    from django.utils import timezone

    from keys.models import SigningKey
    from keys.rotation import due_steps

    # Making a key would take half of the time of many tests, so they get a copy of the first one.
    now, first = timezone.now(), not SigningKey.objects.exists()
    if first and (known := _keys_made.get(_said_of_keys())):
        with transaction.atomic():
            _write_again(known, now)
    else:
        due_steps.rotate(now=now)
        if first:
            _keys_made[_said_of_keys()] = (now, _rows_of_keys())
    return SigningKey.objects.get(state=SigningKey.State.ACTIVE)


_keys_made: dict[str, tuple[datetime, list["Model"]]] = {}


def _said_of_keys() -> str:
    """The values of all settings that a key depends on."""
    from django.conf import settings

    names = ("BASE_URL", "KEY_SEALING_KEYS", "SELF_CERTIFYING_AUTHORITY", "CERTIFICATE_SUBJECT")
    names += (
        "SIGNING_KEY_STORE",
        "SIGNING_KEY_PERIOD",
        "SIGNING_KEY_STAGED_FOR",
        "PKCS11_TOKEN",
        "PKCS11_PIN",
    )
    return repr([getattr(settings, name) for name in names])


def _rows_of_keys() -> list["Model"]:
    from keys.models import Authority, KeyEvent, SigningKey

    return [
        row for model in (Authority, SigningKey, KeyEvent) for row in model._default_manager.order_by("pk")
    ]


def _write_again(known: tuple[datetime, list["Model"]], now: datetime) -> None:
    """Insert copies of the rows with their times moved to now."""
    made, rows = known
    for row in map(copy, rows):
        for field in row._meta.concrete_fields:
            if isinstance(value := getattr(row, field.attname), datetime):
                setattr(row, field.attname, value + (now - made))
        if row._meta.auto_field:
            row.pk = None
        row._state = ModelState()
        row.save(force_insert=True)


def register(name: str, *redirect_uris: str, **fields: Any) -> "RelyingParty":
    """A relying party that may ask for everything, unless `fields` say otherwise."""
    from presentation.dcql.queries import BASIC
    from presentation.models import RedirectURI, RelyingParty
    from presentation.transaction_data import entries

    allowed = {
        "allowed_scopes": [BASIC],
        "allowed_transaction_data_types": list(entries.TYPES),
    }
    party = RelyingParty.objects.create(name=name, **(allowed | fields))
    for uri in redirect_uris:
        RedirectURI.objects.create(relying_party=party, uri=uri)
    return party


@pytest.fixture
def acme_bank(db: None) -> "RelyingParty":
    return register("Acme Bank", "https://bank.example/callback", "https://bank.example/other?lang=en")


@pytest.fixture
def corner_shop(db: None) -> "RelyingParty":
    return register("Corner Shop", "https://shop.example/callback")


@pytest.fixture
def sign_in(client: "Client") -> Callable[..., "HolderSession"]:
    """Signs a wallet in to the test client. `ago`: the time since the factor was used."""
    from django.conf import settings
    from django.http import HttpResponse
    from django.test import RequestFactory
    from django.utils import timezone

    from wallet.models import HolderSession
    from wallet.sign_in import sessions

    def sign_in(wallet: "Wallet", *, ago: timedelta = timedelta(0), browser: Any = None) -> "HolderSession":
        response = HttpResponse()
        sessions.start(RequestFactory().get("/"), response, wallet, now=timezone.now())
        target = browser or client
        target.cookies[settings.HOLDER_COOKIE_NAME] = response.cookies[settings.HOLDER_COOKIE_NAME].value
        session = HolderSession.objects.filter(wallet=wallet).latest("signed_in_at")
        if ago:
            session.signed_in_at -= ago
            session.save()
        return session

    return sign_in


@pytest.fixture
def holder(client: "Client", alice: "Wallet", sign_in: Callable[..., "HolderSession"]) -> "Client":
    """The browser of Alice, who is signed in."""
    sign_in(alice)
    return client
