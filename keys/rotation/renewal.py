"""Gets missing certificates, and those that end soon, from CERTIFICATE_COMMAND without an operator.

Only `rotate_signing_keys` does this, never a request, because the program may take a minute. What it answers
goes the way of a chain that an operator installs (`transitions.certify`).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import chain
from time import monotonic

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from infra.limits import LimitReachedError, RollingLimit
from keys.certificates import command
from keys.certificates.bundle import chain_pem
from keys.certificates.chain import BrokenChainError, CertificateChain
from keys.models import KINDS, Key
from keys.rotation.key_events import Action
from keys.rotation.report import Entry
from keys.rotation.states import RotationRefusedError, State
from keys.rotation.transitions import certificate_request, certify

log = structlog.get_logger(__name__)

ACTOR = "CERTIFICATE_COMMAND"
# A leaf is renewed this long before its end, or when a third of its life is left.
RESERVE = timedelta(days=30)
# All instances run in the same hour, and one of them calls the program for a key. The window is longer
# than the time that the program has.
TURN = RollingLimit("certificate-command", most=1, window=timedelta(minutes=2))


def renew(*, now: datetime) -> tuple[list[Entry], list[Entry]]:
    """Gets each certificate that is needed; returns the certified keys, and the failures.

    Nothing is done without CERTIFICATE_COMMAND.
    """
    began = monotonic()
    done: list[Entry] = []
    failed: list[Entry] = []
    if not settings.CERTIFICATE_COMMAND or settings.SELF_CERTIFYING_AUTHORITY:
        return done, failed
    living = (kind.objects.filter(state__in=[State.STAGED, State.ACTIVE]) for kind in KINDS)
    for key in chain.from_iterable(rows.order_by("staged_at") for rows in living):
        if not is_needed(key, now):
            continue
        try:
            TURN.take(str(key.pk), now=now)
            # A certificate may begin when it is made, which is later for each key.
            _renew(key, lambda: now + timedelta(seconds=monotonic() - began))
        except (LimitReachedError, RotationRefusedError) as refusal:
            # Another instance calls the program or has installed a chain, or the key has changed its state.
            log.info("certificate_left", kid=str(key), why=str(refusal))
        except Exception as error:  # the other keys need theirs all the same
            TURN.give_back(str(key.pk), taken_at=now)  # so that the next run asks again
            log.exception("certificate_not_obtained", kid=str(key), why=str(error))
            failed.append(Entry("certificate_not_obtained", key.pk, now, str(error)))
        else:
            done.append(Entry(Action.CERTIFIED, key.pk, now, _("Certified key %(kid)s.") % {"kid": key}))
    return done, failed


def is_needed(key: Key, now: datetime) -> bool:
    """Whether the key has no certificate, or one whose end is near compared with its lifetime."""
    certified = key.certified_chain
    if certified is None:
        return True
    begins, ends = certified.leaf.not_valid_before_utc, certified.leaf.not_valid_after_utc
    return ends - now < min(RESERVE, (ends - begins) / 3)


def _renew(key: Key, clock: Callable[[], datetime]) -> None:
    answer = command.chain_for(certificate_request(key.pk), path=settings.CERTIFICATE_COMMAND, kid=key.pk)
    now = clock()
    before = key.certified_chain
    pem = chain_pem(answer, public_key=key.public_key)
    after = CertificateChain.from_pem(pem, public_key=key.public_key, now=now)
    if before and after.not_after <= before.not_after:
        raise BrokenChainError(_("The new certificates end no later than the present ones."))
    certify(key.pk, answer, now=now, actor=ACTOR, reason=_("It was due."))
