"""The number by which one sector recognises a holder: `pairwise_subject` (OpenID Connect Core 1.0 §8.1).

It is computed from a random seed that only this wallet and this sector have, so the numbers of two sectors
have nothing in common, and nobody can compute one without the database and its sealing key.
"""

import hmac
import secrets
from datetime import datetime

from django.db import transaction

from infra import base64url
from infra.sealing import seal_column, unseal_column
from wallet.credential.credentials import CredentialNotUsableError
from wallet.models import Subject, Wallet

SEED = 32  # bytes


def of(wallet: Wallet, sector: str, *, now: datetime) -> str:
    """The number of this wallet for this sector, made when it is first needed.

    Raises SealError, and CredentialNotUsableError if the wallet was closed or moved meanwhile.
    """
    if existing := existing_number(wallet, sector):
        return existing
    with transaction.atomic():
        # Of parallel first requests one makes the number, and the others find it.
        if not Wallet.objects.select_for_update().filter(id=wallet.pk, closed_at=None):
            raise CredentialNotUsableError("The wallet was closed or moved just now.")
        if existing := existing_number(wallet, sector):
            return existing
        reset(wallet, sector)  # a seed whose sealing key is lost
        row = Subject(wallet=wallet, sector=sector, created_at=now)
        row.sealed_seed = seal_column(row, "sealed_seed", secrets.token_bytes(SEED))
        row.save(force_insert=True)
        return number(row)


def existing_number(wallet: Wallet, sector: str) -> str:
    """The number, if there is one; otherwise empty. Raises SealError."""
    row = Subject.objects.filter(wallet=wallet, sector=sector).exclude(sealed_seed=b"").first()
    return number(row) if row else ""


def number(row: Subject) -> str:
    """The number itself, 43 characters; raises SealError."""
    return base64url.encode(hmac.digest(unseal_column(row, "sealed_seed"), row.sector.encode(), "sha256"))


def reset(wallet: Wallet, sector: str) -> None:
    """Forgets the number: the next one has nothing in common with it."""
    Subject.objects.filter(wallet=wallet, sector=sector).delete()


def is_used(sector: str, **by: Wallet) -> bool:
    """Whether anybody has a number for it, or with `wallet` this holder."""
    return Subject.objects.filter(sector=sector, **by).exists()


def bring(source: Wallet, into: Wallet) -> None:
    """Gives the numbers of `source` to `into`, which keeps its own; called where two wallets become one."""
    own = into.subjects.values("sector")
    source.subjects.exclude(sector__in=own).update(wallet=into)
