"""Which SD-JWT VCs are believed, beyond RFC 9901 §7: whose, which type, by which keys. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from cryptography.hazmat.primitives.asymmetric import ec

from wallet.sd_jwt import verification
from wallet.sd_jwt.issuance import SdJwtError
from wallet.sd_jwt.verification import Passed, VerifiedSdJwt

# Every check by its name, in the order in which they are made: after the first that is not passed, none is.
CHECKS = (
    *("structure", "alg", "typ", "kid", "x5c", "certificate-chain", "issuer-signature", "sd-alg"),
    *("disclosures-form", "digests-once", "disclosures-referenced", "exp", "iss", "vct"),
    *("kb-typ", "kb-signature", "kb-iat", "kb-nonce", "kb-aud", "kb-sd-hash", "transaction-data", "status"),
)


class TrustedKey(Protocol):
    """A key that is known to be the issuer's."""

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey: ...

    @property
    def x5c(self) -> tuple[str, ...]: ...

    @property
    def not_after(self) -> datetime: ...


@dataclass(frozen=True)
class TrustPolicy:
    """One issuer, one type of credential; `find_key` knows the keys that are the issuer's, by kid."""

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
    ) -> VerifiedSdJwt:
        """A presentation for this audience and request that is believed; raises SdJwtError.

        `passed` is told every check but `status`, which is for the caller to find out.
        """

        def issuer_key(header: Mapping[str, Any]) -> ec.EllipticCurvePublicKey:
            return self._issuer_key(header, now, passed)

        def believed(payload: Mapping[str, Any]) -> None:
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
            required=("exp",),  # the others are compared, each in its turn
            passed=passed,
            believed=believed,
        )

    def _issuer_key(
        self, header: Mapping[str, Any], now: datetime, passed: Passed
    ) -> ec.EllipticCurvePublicKey:
        kid = header.get("kid")
        key = self.find_key(kid) if isinstance(kid, str) else None
        if key is None:
            raise SdJwtError("kid is of no published key", "kid")
        passed("kid")
        if header.get("x5c") != list(key.x5c):
            raise SdJwtError("x5c is not the chain of that key", "x5c")
        passed("x5c")
        if key.not_after <= now:
            raise SdJwtError("a certificate of the chain has ended", "certificate-chain")
        passed("certificate-chain")
        return key.public_key
