"""The operations on identity checks in review."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.operations import Done, Operation
from infra.sealing import SealError
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence
from wallet.identity import review
from wallet.identity.forms import AskAgainForm, IdentityForm
from wallet.models import IdentityVerification
from wallet.operations.with_reason import done, operator_named
from wallet.providers import registry
from wallet.sign_in.forms import ReasonForm

log = structlog.get_logger(__name__)


def _claim(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.claim(verification, operator=operator_named(operator), now=now)
    return Done(_t("Claimed"))


def _release(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.release(verification, now=now)
    return Done(_t("Released"))


def _approve(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    approved = review.approve(
        verification,
        values["identity"],
        replace(_found(verification)[1], **values["document"]),
        operator=operator_named(operator),
        reason=values["reason"],
        now=now,
    )
    return done(_("Approved") if approved else _("Proposed: another operator has to approve it"), values)


def _ask_again(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.ask_again(
        verification, values["why"], operator=operator_named(operator), reason=values["reason"], now=now
    )
    return done(_("Asked again"), values)


def _decline(verification: IdentityVerification, values: Any, operator: str, now: datetime) -> Done:
    review.decline(verification, operator=operator_named(operator), reason=values["reason"], now=now)
    return done(_("Declined"), values)


def _found(verification: IdentityVerification) -> tuple[Identity | None, Evidence]:
    try:
        return review.claims(verification)
    except SealError:  # sealed under a key that is gone: the operator types it in
        log.exception("claims_in_review_do_not_open", verification=str(verification.id))
        return None, review.own_evidence(verification)


def _initial_identity(verification: IdentityVerification) -> dict[str, Any]:
    provider = registry.by_name(verification.provider)
    return IdentityForm.initial_for(*_found(verification), provider.details if provider else ())


def _is_claimed(verification: IdentityVerification) -> bool:
    return verification.claimed_by_id is not None


claimed = partial(Operation, states={IdentityVerification.State.REVIEW}, suits=_is_claimed)
OF_VERIFICATIONS = {
    "claim": Operation(
        label=_("Claim"),
        question=_("You see what the person sent, and decide. Each time you look is written down."),
        run=_claim,
        states={IdentityVerification.State.REVIEW},
        suits=lambda verification: not _is_claimed(verification),
    ),
    "release": claimed(
        label=_("Release"),
        question=_("Another operator can claim it."),
        run=_release,
    ),
    "approve": claimed(
        label=_("Approve"),
        question=_(
            "Check every field against the document. The wallet gets a credential that says exactly this."
        ),
        run=_approve,
        form=IdentityForm,
        initial=_initial_identity,
    ),
    "ask-again": claimed(
        label=_("Ask again"),
        question=_("The person gets an e-mail, and reads the reason when they sign in."),
        run=_ask_again,
        form=AskAgainForm,
    ),
    "decline": claimed(
        label=_("Decline"),
        question=_("The person is told that their identity could not be verified, and may try again later."),
        run=_decline,
        form=ReasonForm,
    ),
}
