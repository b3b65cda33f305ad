"""Verifies a presentation of our own credential for a relying party: every check, then its status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from keys import key_set
from wallet.credential.credentials import credential_type, plain_claims
from wallet.credential.trust_policy import TrustPolicy
from wallet.models import StatusEntry
from wallet.sd_jwt.issuance import SdJwtError
from wallet.status_lists import allocation, statuses

_MOST = 2**31  # above every index


@dataclass(frozen=True, repr=False)  # it holds personal data
class Findings:
    """The result: the checks that were passed, and the one that failed, if any."""

    passed: tuple[str, ...]
    failed: str = ""
    reason: str = ""
    status: str = ""  # its name in lower case; empty if it was not looked up
    credential: Mapping[str, Any] = field(default_factory=dict)  # iss, vct, iat, exp; empty if not valid
    claims: Mapping[str, Any] = field(default_factory=dict)  # the disclosed ones; empty if not valid

    @property
    def valid(self) -> bool:
        """Whether every check was passed."""
        return not self.failed


def examine(
    presentation: str, *, audience: str, nonce: str, transaction_data: Sequence[str], now: datetime
) -> Findings:
    """Verify a presentation that a relying party received as `audience` for its `nonce`."""
    policy = TrustPolicy(settings.BASE_URL, credential_type(), key_set.find)
    passed: list[str] = []
    try:
        payload = policy.verify(
            presentation,
            audience=audience,
            nonce=nonce,
            now=now,
            transaction_data=transaction_data,
            passed=passed.append,
        )
    except SdJwtError as error:
        return refused(error, passed)
    return _with_status(payload, tuple(passed))


def refused(error: SdJwtError, passed: Sequence[str] = ()) -> Findings:
    """The result for a presentation that was refused."""
    return Findings(tuple(passed), error.check, str(error))


def _with_status(payload: Mapping[str, Any], passed: tuple[str, ...]) -> Findings:
    entry = _entry(payload.get("status"))
    status = StatusEntry.Status(statuses.status_of(entry)).name.lower() if entry else "unknown"
    if status != "valid":
        return Findings(passed, "status", f"the credential's status is {status}", status)
    plain = plain_claims().keys()
    return Findings(
        passed=(*passed, "status"),
        status=status,
        credential={name: payload.get(name) for name in ("iss", "vct", "iat", "exp")},
        claims={name: value for name, value in payload.items() if name not in plain},
    )


def _entry(status: Any) -> StatusEntry | None:
    """The entry to which a `status` claim of ours refers (Token Status List §6); None if there is none."""
    place = status.get("status_list") if isinstance(status, dict) else None
    idx, uri = (place.get("idx"), place.get("uri")) if isinstance(place, dict) else (None, None)
    if type(idx) is not int or not isinstance(uri, str):
        return None
    number = uri.rpartition("/")[2]
    if not (number.isascii() and number.isdecimal() and len(number) < 10) or not 0 <= idx < _MOST:
        return None
    if uri != allocation.address(int(number)):
        return None
    entries = StatusEntry.objects.filter(status_list_id=int(number), idx=idx).exclude(credential=None)
    columns = ("status", "credential__state", "credential__wallet__state", "signing_key__state")
    return entries.select_related("credential__wallet", "signing_key").only(*columns).first()
