"""Has providers erase the data that they keep of an attempt, once the result is committed here.

Each erasure may be asked for any number of times, so a sweep that stops in between does no harm.
"""

from datetime import datetime, timedelta

import structlog
from django.db.models import F, Q, QuerySet

from wallet.identity import progress
from wallet.identity.state_machine import FINAL
from wallet.models import IdentityVerification
from wallet.providers import registry
from wallet.providers.contract import Provider, ProviderError

log = structlog.get_logger(__name__)
State = IdentityVerification.State

RETRY = timedelta(hours=1)  # after an erasure that failed or came too early
FAILED_FOR = timedelta(hours=24)  # until then the person may go on with an attempt that the provider failed


def forget_decided(*, now: datetime, batch: int = 500) -> int:
    """Erase decided attempts at their providers, at most `batch` of them; returns how many were erased.

    A provider that fails is left alone until the next sweep. That one begins with the attempts that have
    waited longest, so one attempt in trouble does not stop the others.
    """
    return sum(
        _forget_at(provider, list(_due(name, now=now)[:batch]), now=now)
        for name, provider in registry.offered().items()
        if provider.keeps_data
    )


def forget(verification: IdentityVerification, *, now: datetime) -> bool:
    """Erase at the provider what it keeps of this ended attempt, whenever that was last tried.

    True if nothing is kept there any more. A provider that is not configured any more cannot be asked: the
    operator has to, as the log says.
    """
    provider = registry.by_name(verification.provider)
    if provider is None:
        log.error("identity_kept_by_unknown_provider", verification=str(verification.id))
        return False
    return _forget_at(provider, [verification], now=now) == 1


def _due(name: str, *, now: datetime) -> QuerySet[IdentityVerification]:
    over = Q(state__in=FINAL | {State.APPROVED}) | Q(state=State.ERROR, changed_at__lte=now - FAILED_FOR)
    never_tried = Q(asked_at__isnull=True) | Q(asked_at__lte=F("changed_at"))
    rows = IdentityVerification.objects.filter(provider=name, kept_by_provider=True)
    rows = rows.filter(over, never_tried | Q(asked_at__lte=now - RETRY))
    return rows.select_related("wallet").order_by(F("asked_at").asc(nulls_first=True), "id")


def _forget_at(provider: Provider, due: list[IdentityVerification], *, now: datetime) -> int:
    done = 0
    for verification in due:
        if not _claim(verification, now=now):  # another sweep was here
            continue
        try:
            done += _forget(provider, verification, now=now)
        except Exception as error:  # a provider with a mistake must not stop the sweep
            is_provider_error = isinstance(error, ProviderError)
            log.warning(
                "identity_not_erased_at_provider",
                verification=str(verification.id),
                why=str(error) if is_provider_error else type(error).__name__,
                exc_info=not is_provider_error,
            )
            break
    return done


def _claim(verification: IdentityVerification, *, now: datetime) -> bool:
    """Records the try to erase; False if another process has, or if the attempt has continued."""
    seen = {"asked_at": verification.asked_at, "changed_at": verification.changed_at}
    rows = IdentityVerification.objects.filter(id=verification.id, **seen)
    return rows.update(asked_at=now) == 1


def _forget(provider: Provider, verification: IdentityVerification, *, now: datetime) -> bool:
    if not provider.forget(progress.check_of(verification), now=now):
        return False
    # Not if the person has begun again meanwhile: then there is new data to erase one day.
    rows = IdentityVerification.objects.filter(id=verification.id, changed_at=verification.changed_at)
    if rows.update(kept_by_provider=False) != 1:
        return False
    log.info("identity_erased_at_provider", verification=str(verification.id), provider=provider.name)
    return True
