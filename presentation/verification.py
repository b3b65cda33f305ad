"""Verifies presentations for relying parties that do not verify them themselves."""

from datetime import datetime, timedelta
from typing import Any

from infra.limits import Limit
from presentation.verification_request import VerificationRequest, presentation_in
from wallet import examination
from wallet.examination import Findings
from wallet.sd_jwt.issuance import SdJwtError
from wallet.trust_policy import CHECKS

# The same limit as for pushed requests: a relying party may send every answer of every holder.
PER_CLIENT = Limit("verifications_of_client", most=1200, window=timedelta(minutes=1))


def verify(asked: VerificationRequest, *, client_id: str, now: datetime) -> dict[str, Any]:
    """The members of the answer to this client; raises LimitReachedError.

    A presentation for another client is not valid.
    """
    PER_CLIENT.take(client_id, now=now)
    try:
        presentation = presentation_in(asked.vp_token)
    except SdJwtError as error:
        return _told(examination.refused(error))
    return _told(
        examination.examine(
            presentation,
            audience=client_id,
            nonce=asked.nonce,
            transaction_data=asked.transaction_data,
            now=now,
        )
    )


def _told(findings: Findings) -> dict[str, Any]:
    answer: dict[str, Any] = {"valid": findings.valid, "checks": [_check(name, findings) for name in CHECKS]}
    if findings.status:
        answer["status"] = findings.status
    if findings.valid:
        answer |= {"credential": findings.credential, "claims": findings.claims}
    return answer


def _check(name: str, findings: Findings) -> dict[str, str]:
    if name == findings.failed:
        return {"name": name, "result": "failed", "reason": findings.reason}
    return {"name": name, "result": "passed" if name in findings.passed else "not reached"}
