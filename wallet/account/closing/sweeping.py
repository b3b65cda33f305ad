"""Continues each closing: closes wallets after their day, and erases what they left.

Each step may be repeated, so any number of sweeps may run at once and one may be stopped at any time.
"""

from collections import Counter
from datetime import datetime, timedelta
from functools import partial

from infra import personal_data, runs
from infra.personal_data import Person
from wallet.account.closing import closures
from wallet.identity.batches import process
from wallet.models import Credential, FormerAddress, IdentityVerification, StatusEntry, Wallet, WalletClosure

# Requests that began before the wallet was closed are over by then, so nothing refers to its row any more.
ROW_KEPT = timedelta(hours=1)


def sweep(*, now: datetime, batch: int = 500) -> Counter[str]:
    """Takes all due steps; returns how many wallets were closed, and how many are finished."""
    due = WalletClosure.objects.filter(finished_at=None, undone_at=None, closes_at__lte=now)
    close = partial(_go_on, now=now, batch=batch)
    return +sum(process(due, batch, close, failure="wallet_not_closed"), Counter[str]())


def _go_on(closure: WalletClosure, *, now: datetime, batch: int) -> Counter[str]:
    closed = closure.closed_at is None and closures.close(closure, now=now)
    return Counter({"closed wallets": closed, "erased wallets": _finish(closure, now=now, batch=batch)})


def _finish(closure: WalletClosure, *, now: datetime, batch: int) -> bool:
    """Erase what is left of a closed wallet; True once nothing is."""
    if closure.closed_at is None:
        return False
    people = _people(closure, closure.closed_at)
    erasures = [partial(erase, person) for person in people for erase in personal_data.erasers()]
    left = len(erasures)
    for erase in erasures:
        with runs.isolated("person_not_erased", closure=str(closure.id)):
            erase(now=now, batch=batch)
            left -= 1
    return not left and _delete_row(closure, now=now)


def _people(closure: WalletClosure, closed_at: datetime) -> list[Person]:
    """The person by each address that the wallet had lately, the last one at the end."""
    former = FormerAddress.objects.filter(wallet=closure.wallet).order_by("left_at")
    earlier = [Person(closure.wallet, row.email, row.left_at) for row in former]
    return [*earlier, Person(closure.wallet, closures.address_of(closure), closed_at)]


def _delete_row(closure: WalletClosure, *, now: datetime) -> bool:
    """Delete the row of the wallet once nothing refers to it."""
    wallet = closure.wallet
    waits = (
        closure.closed_at is None
        or closure.closed_at > now - ROW_KEPT
        or StatusEntry.objects.filter(credential__wallet=wallet).exists()
        or IdentityVerification.objects.filter(wallet=wallet, kept_by_provider=True).exists()
    )
    if waits:
        return False
    Credential.objects.filter(wallet=wallet).delete()
    Wallet.objects.filter(id=wallet).exclude(closed_at=None).delete()
    unfinished = WalletClosure.objects.filter(id=closure.id, finished_at=None)
    return unfinished.update(finished_at=now, sealed_address=None) == 1
