"""Which SD-JWT VCs are trusted, beyond RFC 9901 §7: by issuer, type and keys. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from cryptography.hazmat.primitives.asymmetric import ec

from wallet.sd_jwt import verification
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.verification import Passed

# The names of all checks, in the order in which they are made. The first that fails is the last one made.
CHECKS = (
    *("structure", "alg", "typ", "kid", "x5c", "certificate-chain", "issuer-signature", "sd-alg"),
    *("disclosures-form", "digests-once", "disclosures-referenced", "exp", "iss", "vct"),
    *("kb-typ", "kb-signature", "kb-iat", "kb-nonce", "kb-aud", "kb-sd-hash", "transaction-data", "status"),
)


class TrustedKey(Protocol):
    """A published key of the issuer."""

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey: ...

    @property
    def x5c(self) -> tuple[str, ...]: ...

    @property
    def not_after(self) -> datetime: ...


@dataclass(frozen=True)
class TrustPolicy:
    """Trusts one type of credential from one issuer; `find_key` finds the issuer's keys by kid."""

    issuer: str
    vct: str
    find_key: Callable[[str], TrustedKey | None]

    def verify(
        self,
        token: str,
        *,
        audience: str,
        nonce: str,
        now: datetime,
        transaction_data: Sequence[str] = (),
        passed: Passed,
    ) -> dict[str, Any]:
        """Verify a presentation for this audience and request, and return its payload; raises SdJwtError.

        passed: called with the name of every check but `status`, which the caller makes.
        """

        def issuer_key(header: Mapping[str, Any]) -> ec.EllipticCurvePublicKey:
            return self._issuer_key(header, now, passed)

        def check_payload(payload: Mapping[str, Any]) -> None:
            for name, expected in (("iss", self.issuer), ("vct", self.vct)):
                if payload.get(name) != expected:
                    raise SdJwtError(f"another {name}, or none", name)
                passed(name)

        return verification.verify(
            token,
            issuer_key=issuer_key,
            audience=audience,
            nonce=nonce,
            now=now,
            transaction_data=transaction_data,
            required=("exp",),  # `check_payload` checks the others
            passed=passed,
            check_payload=check_payload,
        )

    def _issuer_key(
        self, header: Mapping[str, Any], now: datetime, passed: Passed
    ) -> ec.EllipticCurvePublicKey:
        kid = header.get("kid")
        key = self.find_key(kid) if isinstance(kid, str) else None
        if key is None:
            raise SdJwtError("no published key has this kid", "kid")
        passed("kid")
        if header.get("x5c") != list(key.x5c):
            raise SdJwtError("x5c is not the chain of that key", "x5c")
        passed("x5c")
        if key.not_after <= now:
            raise SdJwtError("a certificate of the chain has ended", "certificate-chain")
        passed("certificate-chain")
        return key.public_key
