"""Looks at a presentation of a credential of ours as its verifier would: every check, then its status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from infra.database.prepared_statements import PreparedRead
from keys import key_set
from wallet.credentials import credential_type, plain_claims
from wallet.models import StatusEntry
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.verification import VerifiedSdJwt
from wallet.status_lists import standing, token
from wallet.trust_policy import TrustPolicy

_MOST = 2**31  # of a number of a list or a place in it

_at_place = PreparedRead(
    lambda value: (
        StatusEntry.objects.filter(status_list_id=value("status_list"), idx=value("idx"))
        .exclude(credential=None)
        .select_related("credential__wallet", "signing_key")
        .only("status", "credential__state", "credential__wallet__state", "signing_key__state")
    )
)


@dataclass(frozen=True, repr=False)  # what is disclosed is nobody else's business
class Findings:
    """What came out: the checks that were passed, and the one that was not, unless all were."""

    passed: tuple[str, ...]
    failed: str = ""
    reason: str = ""
    status: str = ""  # as a word, once it was looked up
    credential: Mapping[str, Any] = field(default_factory=dict)  # iss, vct, iat, exp; only of what is valid
    claims: Mapping[str, Any] = field(default_factory=dict)  # what is disclosed; only of what is valid

    @property
    def valid(self) -> bool:
        """Whether every check was made and passed."""
        return not self.failed


def examine(
    presentation: str, *, audience: str, nonce: str, transaction_data: Sequence[str], now: datetime
) -> Findings:
    """What is to be thought of a presentation that somebody received as `audience`, for their `nonce`."""
    policy = TrustPolicy(settings.BASE_URL, credential_type(), key_set.find)
    passed: list[str] = []
    try:
        verified = policy.verify(
            presentation,
            audience=audience,
            nonce=nonce,
            now=now,
            transaction_data=transaction_data,
            passed=passed.append,
        )
    except SdJwtError as error:
        return refused(error, passed)
    return _with_status(verified, tuple(passed))


def refused(error: SdJwtError, passed: Sequence[str] = ()) -> Findings:
    """What to think of what is refused for this reason."""
    return Findings(tuple(passed), error.check, str(error))


def _with_status(verified: VerifiedSdJwt, passed: tuple[str, ...]) -> Findings:
    entry = _entry(verified.payload.get("status"))
    status = StatusEntry.Status(standing.standing(entry)).name.lower() if entry else "unknown"
    if status != "valid":
        return Findings(passed, "status", f"the credential's status is {status}", status)
    plain = plain_claims().keys()
    return Findings(
        passed=(*passed, "status"),
        status=status,
        credential={name: verified.payload.get(name) for name in ("iss", "vct", "iat", "exp")},
        claims={name: value for name, value in verified.payload.items() if name not in plain},
    )


def _entry(status: Any) -> StatusEntry | None:
    """The entry that a `status` claim of ours names (Token Status List §6)."""
    place = status.get("status_list") if isinstance(status, dict) else None
    idx, uri = (place.get("idx"), place.get("uri")) if isinstance(place, dict) else (None, None)
    if type(idx) is not int or not isinstance(uri, str):
        return None
    number = uri.rpartition("/")[2]
    if not (number.isascii() and number.isdecimal() and len(number) < 10) or not 0 <= idx < _MOST:
        return None
    if uri != token.address(int(number)):
        return None
    return _at_place.first(status_list=int(number), idx=idx)
