"""The provider “another wallet”. docs/identity-providers.md says how to configure it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import Any
from urllib.parse import urlencode, urlsplit

import structlog
from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from infra.outbound.calls import Outbound
from wallet.credential.claims import IdentityError
from wallet.credential.evidence import EvidenceError
from wallet.providers.contract import (
    Check,
    Find,
    Message,
    MessageRefusedError,
    Provider,
    ProviderError,
    Received,
    Reply,
    Started,
)
from wallet.providers.findings import Finding, NeedsReview, NotHere, Pending, Refused, Verified
from wallet.providers.options import Options
from wallet.providers.other_wallet import identities, request_objects, responses, statuses
from wallet.providers.other_wallet.access import AccessCertificate
from wallet.providers.other_wallet.responses import UnsuitableError
from wallet.providers.other_wallet.statuses import StatusUnknownError
from wallet.providers.other_wallet.transactions import CODE, HANDLE, LINK, PRESENTED, WAITING, Transaction
from wallet.providers.other_wallet.trust_anchors import AnchorError, TrustAnchors

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=5)  # then an operator decides, if the status list cannot be had
# Paths below "callback/", for the wallet; the handle follows.
REQUEST, ANSWER = "request/", "answer/"


class OtherWallet(Provider):
    """A verifier of PIDs. The browser's part is on a page of this host: see `views`."""

    label = _("Another wallet")
    needs = _("You have an EU Digital Identity Wallet with your identity in it.")
    takes = _("Less than a minute.")
    method = "wallet"
    verifies_details = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.assurance = options.assurance("assurance", "eidas high")
        self.assurances = (self.assurance,)
        self.qr = options.choice("qr", ("on", "review", "off"), "review")
        self.scheme = options.text("scheme", "openid4vp")
        if not request_objects.SCHEME.fullmatch(self.scheme):
            raise options.error("scheme", "must be a scheme of addresses, such as openid4vp, without ://")
        self.access = AccessCertificate.load(options, host=urlsplit(settings.BASE_URL).hostname or "")
        try:
            self.anchors = TrustAnchors.from_folder(options.text("trust_anchors"))
        except AnchorError as error:
            raise options.error("trust_anchors", str(error)) from None
        self.outbound = Outbound(loopback=options.loopback, longest=statuses.LONGEST)

    def start(self, check: Check, *, now: datetime) -> Started:
        """The page with the link; a request that can still be answered, or that was, goes on."""
        transaction = Transaction.kept_in(check.reference, check.memory)
        if transaction is not None and transaction.waits(now):
            return Started(_page(check), check.reference, check.memory)
        return self.by_link(check, now=now)

    def by_link(self, check: Check, *, now: datetime) -> Started:
        """A request for a wallet on the same device. It takes the place of any that was not answered."""
        return self._begin(check, LINK, now=now)

    def by_code(self, check: Check, *, typed: Mapping[str, str], now: datetime) -> Started:
        """A request for a wallet on another device, after the person has typed who they are."""
        if self.qr == "off":
            raise ProviderError("QR codes are switched off.")
        return self._begin(check, CODE, now=now, typed=typed)

    def link(self, check: Check, transaction: Transaction) -> str:
        """What opens the wallet."""
        request_uri = f"{check.messages_url}callback/{REQUEST}{transaction.handle}"
        return request_objects.link(transaction, scheme=self.scheme, request_uri=request_uri)

    def result(self, check: Check, *, now: datetime) -> Finding:
        transaction = Transaction.kept_in(check.reference, check.memory)
        if transaction is None or transaction.outcome == WAITING:
            return Pending()
        if transaction.outcome != PRESENTED:
            return NotHere(transaction.outcome)
        if transaction.needs_return():
            return Pending() if transaction.may_return(now) else NotHere("other_browser")
        return self._finding(transaction, now)

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """The wallet fetches the request or answers it, or the browser comes back from the wallet."""
        if message.from_browser:
            return _returned(message.query, find, now)
        if message.path.startswith(REQUEST):
            return self._requested(message, find, now)
        if message.path.startswith(ANSWER) and message.method == "POST":
            return self._answered(message, find, now)
        raise MessageRefusedError("There is nothing at this address.", status=404)

    def _begin(self, check: Check, kind: str, *, now: datetime, typed: Mapping[str, str] = {}) -> Started:
        if not self.access.is_valid(now):
            raise ProviderError("The access certificate is not valid now.")
        before = Transaction.kept_in(check.reference, check.memory)
        if before is not None and before.is_settled():  # answered a moment ago: the wallet was told so
            return Started(_page(check), check.reference, check.memory)
        begun = Transaction.begin(kind, client_id=self.access.client_id, now=now, typed=typed)
        return Started(_page(check), reference=begun.handle, memory=begun.memory())

    def _requested(self, message: Message, find: Find, now: datetime) -> Received:
        """The signed request; a wallet may fetch it several times until it has answered."""
        check, transaction = _waiting(message.path.removeprefix(REQUEST), find, now, status=404)
        if transaction.client_id != self.access.client_id:
            raise MessageRefusedError("The access certificate has changed since.", status=404)
        nonce = _sent(message).get("wallet_nonce", "") if message.method == "POST" else ""
        if nonce and not request_objects.is_wallet_nonce(nonce):
            raise MessageRefusedError("wallet_nonce is too long, or no text.")
        response_uri = f"{check.messages_url}callback/{ANSWER}{transaction.handle}"
        signed = request_objects.signed(
            transaction, self.access, details=self.details, response_uri=response_uri, wallet_nonce=nonce
        )
        return Received(reply=Reply(content_type=request_objects.MEDIA_TYPE, body=signed.encode()))

    def _answered(self, message: Message, find: Find, now: datetime) -> Received:
        """The first answer that belongs to the request counts; every other one changes nothing."""
        check, transaction = _waiting(message.path.removeprefix(ANSWER), find, now, status=400)
        after = self._after(_sent(message), transaction, now)
        log.info("other_wallet_answered", verification=str(check.id), kind=after.kind, outcome=after.outcome)
        body = json.dumps(_way_back(check, after)).encode()
        return Received((check.reference,), after.memory(), Reply(body=body))

    def _after(self, sent: Mapping[str, str], transaction: Transaction, now: datetime) -> Transaction:
        try:
            if error := responses.error_in(sent, transaction):
                log.info("other_wallet_gave_an_error", error=error)
                return transaction.answered("stopped", now=now)
            shown = responses.read(sent.get("response", ""), transaction, self.anchors, now=now)
        except UnsuitableError as unsuitable:
            return transaction.answered(unsuitable.outcome, now=now)
        unasked = {name for group, name in request_objects.DETAILS.items() if group not in self.details}
        person = {name: value for name, value in shown.person.items() if name not in unasked}
        return transaction.answered(PRESENTED, person=person, proof=shown.proof, now=now)

    def _finding(self, transaction: Transaction, now: datetime) -> Finding:
        """The finding for a PID that was presented in the right browser."""
        person, proof = transaction.person, transaction.proof
        at = datetime.fromtimestamp(transaction.answered_at, UTC)
        identity = evidence = None
        with suppress(IdentityError):
            identity = identities.identity_of(person)
        with suppress(EvidenceError):
            evidence = identities.evidence_of(person, proof, assurance=self.assurance, at=at)
        try:
            status = self._status(proof, now)
        except StatusUnknownError as error:
            log.warning("other_wallet_status_unknown", why=str(error))
            waits = "uri" in proof["status"] and now < at + PATIENCE
            return Pending(submitted=True) if waits else NeedsReview("status_unknown", identity, evidence)
        if status != statuses.VALID:
            return Refused("pid_revoked") if status == statuses.REVOKED else NotHere("pid_suspended")
        if identity is None or evidence is None:
            return NeedsReview("unreadable", identity, evidence)
        if transaction.kind == CODE and not (
            self.qr == "on" and identities.fits(transaction.typed, identity)
        ):
            return NeedsReview("details_differ", identity, evidence, transaction.typed)
        return Verified(identity, evidence)

    def _status(self, proof: Mapping[str, Any], now: datetime) -> int:
        if not proof.get("status"):  # short-lived PIDs have none
            return statuses.VALID
        return statuses.look_up(
            proof["status"], outbound=self.outbound, anchors=self.anchors, country=proof["country"], now=now
        )


def _page(check: Check) -> str:
    return reverse("wallet_identity_other_wallet", args=[check.redirect_task_id])


def _sent(message: Message) -> Mapping[str, str]:
    return responses.fields(message.body, message.headers.get("content-type", ""))


def _waiting(handle: str, find: Find, now: datetime, *, status: int) -> tuple[Check, Transaction]:
    """The check whose request this is, if it may still be answered."""
    check = find(handle) if HANDLE.fullmatch(handle) else None
    transaction = Transaction.kept_in(check.reference, check.memory) if check else None
    if check is None or transaction is None or not transaction.waits(now):
        raise MessageRefusedError("No request waits for this.", status=status)
    return check, transaction


def _way_back(check: Check, transaction: Transaction) -> Mapping[str, str]:
    """The `redirect_uri` for the wallet; none after a QR code, because the browser is on another device."""
    if transaction.kind == CODE:
        return {}
    if not transaction.needs_return():
        return {"redirect_uri": check.return_url}
    query = urlencode({"check": transaction.handle, "response_code": transaction.code})
    return {"redirect_uri": f"{check.messages_url}return/?{query}"}


def _returned(query: Mapping[str, str], find: Find, now: datetime) -> Received:
    """The browser's return from a wallet on the same device. The caller checks which browser it is."""
    reference = query.get("check", "")
    if not HANDLE.fullmatch(reference):
        raise MessageRefusedError("There is no reference.")
    check = find(reference)
    if check is None:  # decided already: the page of the attempt says how
        return Received((reference,))
    transaction = Transaction.kept_in(check.reference, check.memory)
    if transaction is None or not transaction.code or not transaction.may_return(now):
        raise MessageRefusedError("No answer waits for this browser.")
    if not compare_digest(transaction.code.encode(), query.get("response_code", "").encode()):
        raise MessageRefusedError("response_code is another one.")
    return Received(
        (reference,), None if transaction.confirmed else replace(transaction, confirmed=True).memory()
    )
