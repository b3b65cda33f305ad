"""Gets certificates without an operator: asks CERTIFICATE_COMMAND for those that lack or end soon.

Only `rotate_signing_keys` does this, never a request, because the program may take a minute. What it answers
goes the way of a chain that an operator installs (`moves.certify`).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from infra.limits import LimitReachedError, RollingLimit
from keys.certificates import command
from keys.certificates.bundle import chain_pem
from keys.certificates.chain import BrokenChainError, CertificateChain
from keys.models import SigningKey
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.key_events import Action
from keys.rotation.moves import certificate_request, certify
from keys.rotation.report import Entry
from keys.rotation.states import RotationRefusedError, State

log = structlog.get_logger(__name__)

ACTOR = "CERTIFICATE_COMMAND"
# A leaf is renewed this long before its end, or when a third of its life is left.
RESERVE = timedelta(days=30)
# All instances run at the same hour. One of them asks for a key; the window is longer than the program has.
TURN = RollingLimit("certificate-command", most=1, window=timedelta(minutes=2))


def renew(*, now: datetime) -> tuple[list[Entry], list[Entry]]:
    """Asks for each certificate that is needed; gives what was done, and what failed.

    Nothing is done without CERTIFICATE_COMMAND. Raises SealError.
    """
    began = monotonic()
    done: list[Entry] = []
    failed: list[Entry] = []
    if not settings.CERTIFICATE_COMMAND or settings.SELF_CERTIFYING_AUTHORITY:
        return done, failed
    for key in SigningKey.objects.filter(state__in=[State.STAGED, State.ACTIVE]).order_by("staged_at"):
        if not is_needed(key, now):
            continue
        try:
            TURN.take(str(key.pk), now=now)
            # A certificate may begin when it is made, which is later for each key.
            _renew(key, lambda: now + timedelta(seconds=monotonic() - began))
        except (LimitReachedError, RotationRefusedError) as refusal:
            # Another instance asks, or has installed what it got; or the key was moved meanwhile.
            log.info("certificate_left", kid=str(key), why=str(refusal))
        except (command.CommandFailedError, BrokenChainError, SignerUnavailableError) as error:
            log.error("certificate_not_obtained", kid=str(key), why=str(error))
            failed.append(Entry("certificate_not_obtained", key.pk, now, str(error)))
        else:
            done.append(Entry(Action.CERTIFIED, key.pk, now, _("Certified key %(kid)s.") % {"kid": key}))
    return done, failed


def is_needed(key: SigningKey, now: datetime) -> bool:
    """Whether the key has no certificate, or one whose end is near for its lifetime."""
    chain = key.certified_chain
    if chain is None:
        return True
    begins, ends = chain.leaf.not_valid_before_utc, chain.leaf.not_valid_after_utc
    return ends - now < min(RESERVE, (ends - begins) / 3)


def _renew(key: SigningKey, clock: Callable[[], datetime]) -> None:
    answer = command.chain_for(certificate_request(key.pk), path=settings.CERTIFICATE_COMMAND, kid=key.pk)
    now = clock()
    before = key.certified_chain
    pem = chain_pem(answer, public_key=key.public_key)
    after = CertificateChain.from_pem(pem, public_key=key.public_key, now=now)
    if before and after.not_after <= before.not_after:
        raise BrokenChainError(_("The new certificates end no later than the present ones."))
    certify(key.pk, answer, now=now, actor=ACTOR, reason=_("It was due."))
