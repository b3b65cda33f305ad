"""A holder without a screen: the wallet of an address, with the identity of a persona, and no code to type.

The checks go through the state machine and the simulated provider as they do for people; what is left out are
the limits on how often one person may try.
"""

from datetime import datetime

from django.utils import timezone

from sandbox.identity_provider.personas import OUTCOMES, Submission
from sandbox.identity_provider.provider import NAME
from sandbox.models import PickedOutcome
from wallet import credentials
from wallet.evidence import Assurance
from wallet.identity import progress, state_machine
from wallet.identity.state_machine import OPEN, State, move_to
from wallet.models import Credential, Errand, IdentityVerification, Wallet
from wallet.providers.findings import Verified

# How an open attempt ends that is not gone on with.
_ENDS = {State.SUBMITTED: State.ERROR, State.PROCESSING: State.ERROR, State.REVIEW: State.DECLINED}


def appear(errand: Errand, persona: str, *, now: datetime) -> Wallet:
    """The wallet of the errand's address after its holder was checked as `persona`, a key of `OUTCOMES`.

    A wallet that is this persona already stays as it is; any other identity it has ends. One call at a time
    for each address. A suspended wallet is left alone.
    """
    wallet, _new = Wallet.objects.get_or_create(email=errand.email, defaults={"created_at": now})
    if wallet.state == Wallet.State.ACTIVE and not _is_already(wallet, persona, now=now):
        _end_what_was(wallet, now=now)
        _check(state_machine.create(wallet, errand, provider=NAME, now=now), persona, now=now)
    return wallet


def _is_already(wallet: Wallet, persona: str, *, now: datetime) -> bool:
    credential = credentials.valid_credential(wallet, now=now)
    # What the persona turns out to be in the end, however many submissions and however much time it takes.
    submission = Submission(timezone.localdate(now), now, 2, now - now, Assurance("simulated"))
    finding = OUTCOMES[persona].finding(submission)
    return (
        credential is not None
        and isinstance(finding, Verified)
        and credentials.holds(credential, finding.identity)
    )


def _end_what_was(wallet: Wallet, *, now: datetime) -> None:
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
