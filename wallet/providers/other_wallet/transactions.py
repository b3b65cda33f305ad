"""One request to another wallet and its answer, as they stand in the memory of a check. Pure.

There is one at a time in each check. A transaction for a link and one for a QR code are never the same: only
the first gives the wallet an address to lead the person to, and only the second ends without that.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from jwcrypto.jwk import JWK

LINK, CODE = "link", "code"  # a link on the same device; a QR code for another one
WAITING = "waiting"  # for the wallet's answer
PRESENTED = "presented"  # the wallet has shown a PID; `person` and `proof` say what was in it
# Other outcomes are keys of `findings.REASONS`: the check ends without a result.

HANDLE = re.compile(r"[A-Za-z0-9_-]{32}", re.ASCII)
LIFE = {LINK: timedelta(minutes=10), CODE: timedelta(minutes=5)}
RETURN_WITHIN = timedelta(minutes=10)  # after the answer to a link, the browser has to be back


@dataclass(frozen=True)
class Transaction:
    """What is kept of one request; the wallet's side knows `handle`, `state` and `nonce`, and nothing else.

    key: the private key to which the answer is encrypted, as a JWK; gone with the answer. typed: what the
    person said about themselves before the QR code was shown. code: what the browser has to bring back after
    the answer to a link. confirmed: whether it did. person: the claims that were read. proof: where the
    status is, and who issued it.
    """

    kind: str
    handle: str
    client_id: str
    began_at: int
    ends_at: int
    state: str = ""
    nonce: str = ""
    key: Mapping[str, Any] = field(default_factory=dict, repr=False)
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)
    outcome: str = WAITING
    answered_at: int = 0
    code: str = field(default="", repr=False)
    confirmed: bool = False
    person: Mapping[str, Any] = field(default_factory=dict, repr=False)
    proof: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def begin(cls, kind: str, *, client_id: str, now: datetime, typed: Mapping[str, str] = {}) -> Self:
        """A new request, with fresh secrets and a fresh key."""
        key = JWK.generate(kty="EC", crv="P-256", alg="ECDH-ES", use="enc", kid=secrets.token_urlsafe(12))
        moment = int(now.timestamp())
        return cls(
            kind=kind,
            handle=secrets.token_urlsafe(24),
            client_id=client_id,
            began_at=moment,
            ends_at=moment + int(LIFE[kind].total_seconds()),
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            key=key.export(as_dict=True),
            typed=typed,
        )

    @classmethod
    def kept_in(cls, reference: str, memory: Mapping[str, Any]) -> Self | None:
        """The transaction in a check's memory; None if there is none that this release can read.

        reference: the check's own, which is the handle.
        """
        try:
            return cls(handle=reference, **memory)
        except TypeError:
            return None

    def memory(self) -> dict[str, Any]:
        """As JSON, without the handle; what has its default is left out."""
        kept = {name: value for name, value in asdict(self).items() if value not in ("", {}, 0, False)}
        del kept["handle"]
        return kept

    def waits(self, now: datetime) -> bool:
        """Whether the wallet may still answer."""
        return self.outcome == WAITING and now.timestamp() < self.ends_at

    def needs_return(self) -> bool:
        """Whether a PID was shown that counts only in the browser in which the person began."""
        return self.kind == LINK and self.outcome == PRESENTED and not self.confirmed

    def is_settled(self) -> bool:
        """Whether the result is known, because nothing more is expected from the person."""
        return self.outcome != WAITING and not self.needs_return()

    def may_return(self, now: datetime) -> bool:
        """Whether the browser may still bring the code back."""
        return now.timestamp() < self.answered_at + RETURN_WITHIN.total_seconds()

    def answered(self, outcome: str, *, now: datetime, **shown: Any) -> Self:
        """The same after the wallet's answer; the private key and what belongs to the request are gone.

        shown: `person` and `proof`, if the wallet has shown a PID.
        """
        code = secrets.token_urlsafe(24) if self.kind == LINK and outcome == PRESENTED else ""
        return replace(
            self,
            state="",
            nonce="",
            key={},
            code=code,
            outcome=outcome,
            answered_at=int(now.timestamp()),
            **shown,
        )
