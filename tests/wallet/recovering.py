"""Alice's identity, and the way of her wallet from a lost mailbox to a new one."""

from dataclasses import replace
from datetime import date, timedelta

from tests.people import ALICE, evidence_of
from tests.wallet.attempts import attempt_in
from wallet.account.recovery import sweeping
from wallet.credential.claims import Identity
from wallet.credential.evidence import Assurance
from wallet.identity import recoveries
from wallet.identity.settling import settle
from wallet.models import Credential
from wallet.providers.findings import Verified

NEW = "alice.archer@example.net"
DAY = timedelta(days=1)
PERSON = Identity("Alice", "Archer", date(1990, 4, 1), ("IE",))
EIDAS = "eidas"
PASSPORT = evidence_of(document_number="P1234567", assurance=Assurance(EIDAS, "substantial"))


def verify(wallet, now, evidence=PASSPORT, identity=PERSON):
    """Let a provider verify this wallet with this evidence."""
    settle(
        attempt_in("processing", wallet, now), Verified(identity, replace(evidence, verified_at=now)), now=now
    )
    return Credential.objects.get(wallet=wallet)


def recover(new, now, evidence=PASSPORT, named=ALICE):
    """Ask, and be verified; returns the recovery."""
    asked = recoveries.ask(new, named, now=now)
    verify(new, now, evidence)
    asked.refresh_from_db()
    return asked


def wait(now, days=7, every=timedelta(hours=12)):
    """Sweep regularly until that many days later; gives the time."""
    for number in range(int(days * DAY / every) + 1):
        sweeping.sweep(now=now + number * every)
    return now + days * DAY
