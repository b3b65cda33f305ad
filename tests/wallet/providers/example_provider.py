"""Identity checks by Example Vendor: a hosted page, a signed callback, and an API to ask for the result."""

import hmac
import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from infra import strict_json
from infra.outbound.calls import Outbound, OutboundError
from infra.waiting import waiting_for
from wallet.credential.claims import Identity, IdentityError
from wallet.credential.evidence import Evidence, EvidenceError
from wallet.providers.contract import (
    Check,
    Find,
    Message,
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Started,
)
from wallet.providers.findings import (
    Failed,
    Finding,
    NeedsReview,
    NotHere,
    Pending,
    Refused,
    SubmitAgain,
    Verified,
)
from wallet.providers.options import Options

# What the vendor's states mean. Those of `_result` are left out.
FINDINGS: dict[str, Finding] = {
    "waiting": Pending(),
    "processing": Pending(submitted=True),
    "blurred": SubmitAgain("blurry"),
    "rejected": Refused("not_verified"),
    "stopped": NotHere("stopped"),
    "broken": Failed(),
}


class ExampleProvider(Provider):
    label = "Example Vendor"
    needs = "You need a passport and a phone with a camera."
    takes = "About three minutes."
    method = "remote_automatic"

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.address = options.address("address")
        self.key = options.text("key")
        self.callback_secret = options.text("callback_secret").encode()
        self.assurances = (options.assurance("assurance", f"{options.own_framework} remote"),)
        self.outbound = Outbound(loopback=options.loopback)

    def start(self, check: Check, *, now: datetime) -> Started:
        if check.reference:
            made = self._call("/result", id=check.reference)
            if made.get("state") == "waiting":
                return Started(_text(made, "url"), check.reference)
        made = self._call(
            "/start", return_url=check.return_url, callback_url=f"{check.messages_url}callback/"
        )
        return Started(_text(made, "url"), _text(made, "id"))

    def result(self, check: Check, *, now: datetime) -> Finding:
        said = self._call("/result", id=check.reference)
        if _text(said, "id") != check.reference:
            raise ProviderError("The vendor answered about another check.")
        state = _text(said, "state")
        if state in FINDINGS:
            return FINDINGS[state]
        if state not in ("verified", "unsure"):
            raise ProviderError("The vendor gave an unknown state.")
        try:
            identity, evidence = self._read(said, now)
        except (IdentityError, EvidenceError, ProviderError, ValueError):
            return NeedsReview("unreadable")
        return (
            Verified(identity, evidence) if state == "verified" else NeedsReview("unsure", identity, evidence)
        )

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        expected = hmac.digest(self.callback_secret, message.body, "sha256").hex()
        signature = message.headers.get("x-example-signature", "")
        if message.from_browser or not hmac.compare_digest(signature.encode(), expected.encode()):
            raise MessageRefusedError("The signature is wrong.", status=403)
        try:
            said = strict_json.loads(message.body.decode())
            return Received(references=(_text(said, "id"),))
        except (ValueError, ProviderError) as error:
            raise MessageRefusedError("The body names no check.") from error

    def _read(self, said: Mapping[str, Any], now: datetime) -> tuple[Identity, Evidence]:
        identity = Identity(
            given_name=_text(said, "given_name"),
            family_name=_text(said, "family_name"),
            birth_date=date.fromisoformat(_text(said, "birth_date")),
        )
        evidence = Evidence(
            method=self.method,
            assurance=self.assurances[0],
            verified_by="Example Vendor",
            verified_at=now,
            document_kind="passport",
            issuing_country=_text(said, "country"),
            document_expires_on=date.fromisoformat(_text(said, "expires_on")),
            document_number=_text(said, "number"),
        )
        return identity, evidence

    def _call(self, path: str, **facts: str) -> Mapping[str, Any]:
        body, headers = json.dumps(facts).encode(), {"Authorization": f"Bearer {self.key}"}
        try:
            with waiting_for(self.address):  # a slow vendor must not take every thread
                answer = self.outbound.post(
                    f"{self.address}{path}", body, content_type="application/json", headers=headers
                )
            said = strict_json.loads(answer.body.decode())
        except (OutboundError, ValueError) as error:
            raise ProviderError("The vendor did not answer, or not in JSON.") from error
        if answer.status != 200 or not isinstance(said, dict):
            raise ProviderError(f"The vendor answered {answer.status}.")
        return said


def _text(said: Any, name: str) -> str:
    value = said.get(name) if isinstance(said, dict) else None
    if not isinstance(value, str):
        raise ProviderError(f"The vendor gave no {name}.")
    return value
