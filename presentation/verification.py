"""Verifies presentations for relying parties that do not verify them themselves.

The request is a JSON object, read strictly.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from infra import strict_json
from infra.limits import Limit
from infra.strict_json import StrictJsonError
from presentation import evidence
from presentation.errors import InvalidTransactionDataError
from presentation.machine_errors import MachineError
from presentation.models import CertifiedClientID
from presentation.parameters import LIMITS
from presentation.transaction_data import entries
from presentation.transaction_data.fields import FieldError
from wallet.credential import examination
from wallet.credential.examination import Findings
from wallet.credential.trust_policy import CHECKS
from wallet.sd_jwt.issuance import SdJwtError

LONGEST = 262_144  # bytes; twice the longest presentation with the longest transaction data
_KB_AUD = {"name": "kb-aud", "result": "passed"}  # it was made for the caller
# The same limit as for pushed requests: a relying party may send every answer of every holder.
PER_RELYING_PARTY = Limit.from_settings("verifications-per-relying-party")


@dataclass(frozen=True, repr=False)
class VerificationRequest:
    """The presentation, and the nonce and transaction data that it must be bound to."""

    vp_token: str | dict[str, Any]
    nonce: str
    transaction_data: tuple[str, ...]
    evidence: bool = False  # whether to add what proves the result later
    client_id: str = ""  # that of the request, if a certificate proved it


def parse(body: bytes) -> VerificationRequest:
    """The request in the JSON text; raises MachineError."""
    try:
        members = strict_json.loads(body.decode(), deepest=4)
    except UnicodeDecodeError:
        raise MachineError("The body must be UTF-8.") from None
    except StrictJsonError as error:
        raise MachineError(f"The body {error}.") from None
    if not isinstance(members, dict):
        raise MachineError("The body must be a JSON object.")
    vp_token, nonce = members.get("vp_token"), members.get("nonce")
    if not isinstance(vp_token, str | dict) or not vp_token:
        raise MachineError("vp_token is missing or empty; send it unchanged.")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= LIMITS["nonce"]:
        raise MachineError("nonce is missing, empty or too long; send that of the request.")
    wanted = members.get("evidence", False)
    if not isinstance(wanted, bool):
        raise MachineError("evidence must be true or false.")
    client_id = members.get("client_id", "")
    if not isinstance(client_id, str) or len(client_id) > LIMITS["client_id"]:
        raise MachineError("client_id must be that of the request.")
    transaction_data = _transaction_data(members.get("transaction_data"))
    return VerificationRequest(vp_token, nonce, transaction_data, wanted, client_id)


def _transaction_data(given: Any) -> tuple[str, ...]:
    """The values in their order, from a list or from the text of the parameter."""
    try:
        values = entries.separate(given) if isinstance(given, str) and given else given
    except InvalidTransactionDataError as error:
        raise MachineError(f"{error.description}.") from None
    if values is None:
        return ()
    if not isinstance(values, list) or not all(map(entries.is_base64url, values)):
        raise MachineError(
            "transaction_data must be a list of the strings that were sent, which are base64url."
        )
    if len(values) > entries.MOST_VALUES or sum(map(len, values)) > entries.LONGEST_IN_ALL:
        raise MachineError(
            f"transaction_data must have at most {entries.MOST_VALUES} values and {entries.LONGEST_IN_ALL} "
            "characters."
        )
    return tuple(values)


def verify(verification_request: VerificationRequest, *, client_id: str, now: datetime) -> dict[str, Any]:
    """The members of the answer to this client; raises LimitReachedError, and for evidence EvidenceError.

    A presentation for another client is not valid. Several presentations are valid together. Raises
    MachineError if the request names another client.
    """
    PER_RELYING_PARTY.take(client_id, now=now)
    if verification_request.client_id not in ("", client_id):
        own = CertifiedClientID.objects.filter(relying_party__client_id=client_id)
        if not own.filter(client_id=verification_request.client_id).exists():
            raise MachineError("client_id must be one of your own.")
        client_id = verification_request.client_id
    try:
        by_query = _presentations_in(verification_request.vp_token)
    except SdJwtError as error:
        return _told(examination.refused(error))
    bound = [
        (value, by_query.get(_query_of(value, by_query))) for value in verification_request.transaction_data
    ]
    results = {}
    for one in dict.fromkeys(by_query.values()):
        data = [value for value, where in bound if where in (None, one)]
        results[one] = _told(
            examination.examine(
                one, audience=client_id, nonce=verification_request.nonce, transaction_data=data, now=now
            )
        )
    answer = min(results.values(), key=itemgetter("valid"))  # the first that is not valid, if there is one
    if len(results) > 1 and answer["valid"]:
        names = ("status", "credential", "claims")
        of_each = {id: {name: results[one][name] for name in names} for id, one in by_query.items()}
        answer = {"valid": True, "checks": answer["checks"], "presentations": of_each}
    if verification_request.evidence and all(_KB_AUD in result["checks"] for result in results.values()):
        facts = {
            "aud": client_id,
            "nonce": verification_request.nonce,
            "valid": answer["valid"],
            "checks": answer["checks"],
        }
        answer["evidence"] = evidence.document(
            list(results), verification_request.transaction_data, facts, now=now
        )
    return answer


def _query_of(value: str, by_query: Collection[str]) -> str:
    """The query whose presentation has the hash of this transaction data; empty if it cannot be told."""
    try:
        return entries.authorising(entries.decoded(value)["credential_ids"], by_query) or ""
    except (FieldError, KeyError, TypeError):
        return ""


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


def _presentations_in(value: str | dict[str, Any]) -> dict[str, str]:
    """The presentation for each query in a `vp_token`: a JSON object (as text or parsed), or one SD-JWT.

    Raises SdJwtError.
    """
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return {"": value}
    try:
        by_query = strict_json.loads(value, deepest=3) if isinstance(value, str) else value
    except StrictJsonError as error:
        raise SdJwtError(f"vp_token {error}") from None
    lists = by_query.values()
    if not lists or not all(isinstance(array, list) and [*map(type, array)] == [str] for array in lists):
        raise SdJwtError("vp_token is not an object with a list of one presentation for each query")
    presentations = {id: array[0] for id, array in by_query.items()}
    if evidence.repeats_a_credential(set(presentations.values())):
        raise SdJwtError("vp_token presents a credential twice, with other disclosures")
    return presentations
