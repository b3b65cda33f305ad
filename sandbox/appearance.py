"""The wallet of an e-mail address with the identity of a persona, for the holder for tests (`holder`).

Identity checks go through the state machine and the simulated provider as they do for people, but without the
limits on how often one person may try.
"""

from datetime import datetime

from django.conf import settings

from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.identity_provider.provider import NAME
from sandbox.models import PickedOutcome
from wallet.credential import credentials, days
from wallet.credential.evidence import Assurance
from wallet.identity import progress, state_machine
from wallet.identity.state_machine import OPEN, State, move_to
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet
from wallet.providers.findings import Verified

# The state in which an abandoned attempt ends; the others are cancelled.
_ENDS = {State.SUBMITTED: State.ERROR, State.PROCESSING: State.ERROR, State.REVIEW: State.DECLINED}


def appear(redirect_task: RedirectTask, persona: str, *, now: datetime) -> Wallet:
    """The wallet with the redirect task's e-mail address, after an identity check with the outcome `persona`.

    persona: a key of `OUTCOMES`. A wallet with the identity of this persona, or a suspended one, is not
    changed. A credential with another identity expires. Calls for the same e-mail address must not run at the
    same time.
    """
    wallet, _new = Wallet.objects.get_or_create(email=redirect_task.email, defaults={"created_at": now})
    if wallet.can_share and not _has_identity(wallet, persona, now=now):
        _end_identity(wallet, now=now)
        _check(state_machine.create(wallet, redirect_task, provider=NAME, now=now), persona, now=now)
    return wallet


def _has_identity(wallet: Wallet, persona: str, *, now: datetime) -> bool:
    credential = credentials.valid_credential(wallet, now=now)
    # What the persona turns out to be in the end, however many submissions and however much time it takes.
    today = days.of_ages(now, settings.AGE_TIME_ZONE)
    submission = Submission(today, now, 2, now - now, Assurance("simulated"))
    finding = OUTCOMES[persona].finding(submission)
    return (
        credential is not None
        and isinstance(finding, Verified)
        and credentials.holds(credential, finding.identity)
    )


def _end_identity(wallet: Wallet, *, now: datetime) -> None:
    Credential.objects.filter(wallet=wallet, state=Credential.State.VALID).update(expires_at=now)
    for attempt in IdentityVerification.objects.filter(wallet=wallet, state__in=OPEN):
        end = _ENDS.get(State(attempt.state), State.CANCELLED)
        move_to(attempt, end, actor="holder", note="another persona came", now=now)


def _check(attempt: IdentityVerification, persona: str, *, now: datetime) -> None:
    while attempt.state in (State.CREATED, State.RESUBMIT):
        progress.begin(attempt, now=now)
        move_to(attempt, State.SUBMITTED, actor="holder", now=now, charge=+1)
        PickedOutcome.objects.update_or_create(
            verification=attempt, defaults={"outcome": persona, "picked_at": now}
        )
        move_to(attempt, State.PROCESSING, actor="provider", now=now)
        progress.refresh(attempt, now=now)
