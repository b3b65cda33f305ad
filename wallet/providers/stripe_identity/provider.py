"""The provider Stripe Identity (docs/identity-providers.md): one session at Stripe for each attempt."""

import re
from datetime import datetime
from hashlib import sha256
from json import dumps
from typing import Any

import structlog
from django.utils.translation import gettext_lazy as _

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
from wallet.providers.findings import Failed, Finding, Pending
from wallet.providers.options import Options
from wallet.providers.stripe_identity import findings
from wallet.providers.stripe_identity.calls import PUBLIC, Calls, NoSuchSessionError, RefusedError
from wallet.providers.stripe_identity.responses import Session, results
from wallet.providers.stripe_identity.webhooks import session_of

log = structlog.get_logger(__name__)

_KEY = re.compile(r"rk_(live|test)_[A-Za-z0-9_]{1,250}", re.ASCII)
_SECRET = re.compile(r"whsec_[\x21-\x7e]{1,250}", re.ASCII)
DOCUMENT_TYPES = ("passport", "id_card", "driving_license")
SAME_SESSION_FOR = 600  # seconds; a start that is repeated within them creates no other session


class StripeIdentity(Provider):
    """A document and a selfie, checked by machines of Stripe.

    memory: {"round": submissions when the person last began, "seen": the outcome that was settled before}.
    """

    label = _("Online, with your camera")
    needs = _("You take pictures of an identity document and of your face, on a page of Stripe.")
    takes = _("About five minutes; the result comes within a few more.")
    method = "remote_pictures"  # where an operator decides, by the pictures in Stripe's dashboard
    keeps_data = True
    verifies_details = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        key = options.text("key")
        if not _KEY.fullmatch(key):
            raise options.error("key", "must be a restricted key of Stripe, which begins with rk_")
        address = options.address("address", PUBLIC)
        if address != PUBLIC and not (options.loopback and address.startswith("http://")):
            raise options.error("address", "is for tests only")
        self._calls = Calls(key, address, loopback=options.loopback)
        self._page = re.compile(r"https://[^\s\\@]+" if address == PUBLIC else r"http://127[^\s\\@]+")
        if not self._calls.live and not options.test_mode:
            raise options.error("key", "must be a live key: in test mode Stripe verifies nobody")
        self._secrets = options.words("webhook_secret")
        if not all(_SECRET.fullmatch(secret) for secret in self._secrets):
            raise options.error("webhook_secret", "must be signing secrets, which begin with whsec_")
        self._types = options.some_of("document_types", DOCUMENT_TYPES, " ".join(DOCUMENT_TYPES))
        self._live_capture = options.switch("live_capture", default=True)
        self._verified_by = options.text("verified_by", "Stripe")
        self._assurance = options.assurance("assurance", f"{options.own_framework} document_and_selfie")
        if self._assurance.trust_framework == "eidas":
            raise options.error("assurance", "must not be of eidas, whose levels this check does not reach")
        self.assurances = (self._assurance,)

    def start(self, check: Check, *, now: datetime) -> Started:
        """Creates the session, or goes on with it: only the page's address is new each time."""
        session = self._read(check)
        if session is None or session.is_over or (session.status == "verified" and not check.memory):
            # Without memory, an operator asked the person to submit again: a verified session takes no more.
            if session is not None and not session.is_over:
                self._calls.redact(session.id)
            session = self._created(check, now=now)
        if session.status != "requires_input":  # submitted: the result is all that is missing
            address = check.return_url
        elif self._page.fullmatch(session.url):
            address = session.url
        else:
            raise ProviderError("Stripe gave no address for the person to go to.")
        return Started(address, session.id, self._memory(check, session))

    def result(self, check: Check, *, now: datetime) -> Finding:
        """What the session says now."""
        if not check.reference:
            return Pending()
        session = self._read(check)
        if session is None or session.is_over:
            return Failed()  # the next start creates another session
        if session.status == "processing":
            return Pending(submitted=True)
        if session.status == "verified":
            return self._verified(check)
        settled_before = session.outcome == check.memory.get("seen") and not check.submitted
        if not session.outcome or settled_before:
            return Pending()
        if not findings.is_known(session.error):
            log.warning("identity_stripe_unknown_error", code=session.error, verification=str(check.id))
        return findings.of_error(session.error, tries=check.submissions + (not check.submitted))

    def receive(self, message: Message, find: Find, *, now: datetime) -> Received:
        """A signed event of Stripe. Those about other people's sessions are fine too: accounts are shared."""
        if message.from_browser or message.path:
            raise MessageRefusedError("Stripe sends events to another address.", status=404)
        if message.method != "POST":
            raise MessageRefusedError("Stripe sends events by POST.", status=405)
        signature = message.headers.get("stripe-signature", "")
        reference = session_of(message.body, signature, secrets=self._secrets, live=self._calls.live)
        return Received(references=(reference,) if reference else ())

    def forget(self, check: Check, *, now: datetime) -> bool:
        """Redaction erases the pictures, the results and the events at Stripe."""
        session = self._read(check)
        if session is None or session.status == "canceled" or session.redaction in ("processing", "redacted"):
            return True
        if session.status == "processing":  # Stripe refuses it until the check is over
            return False
        self._calls.redact(session.id)
        return True

    def _read(self, check: Check) -> Session | None:
        """The session of this attempt; None if there is none."""
        if not check.reference:
            return None
        try:
            session = self._calls.read(check.reference)
        except NoSuchSessionError:
            return None
        if session.id != check.reference or session.client_reference not in ("", str(check.id)):
            raise ProviderError("Stripe answered with the session of another attempt.")
        return session

    def _created(self, check: Check, *, now: datetime) -> Session:
        parameters: dict[str, Any] = {
            "type": "document",
            "client_reference_id": str(check.id),
            "return_url": check.return_url,
            "options": {
                "document": {
                    "allowed_types": list(self._types),
                    "require_live_capture": self._live_capture,
                    "require_matching_selfie": True,
                }
            },
        }
        # Under one key Stripe gives the same answer for a day, also if that is an error or a session that is
        # over by now, and it refuses the key with other parameters.
        differs = [parameters, check.reference, int(now.timestamp()) // SAME_SESSION_FOR]
        digest = sha256(dumps(differs).encode()).hexdigest()[:16]
        session = self._calls.create(parameters, key=f"{check.id}:{check.submissions}:{digest}")
        if session.client_reference != str(check.id):
            raise ProviderError("Stripe answered with the session of another attempt.")
        return session

    def _memory(self, check: Check, session: Session) -> dict[str, Any]:
        """The memory of this round: "seen" is the failure in the session that was settled before it began."""
        if check.memory.get("round") == check.submissions:
            return dict(check.memory)
        return {"round": check.submissions, "seen": session.outcome}

    def _verified(self, check: Check) -> Finding:
        try:
            facts = self._calls.read_results(check.reference)
        except RefusedError as error:
            log.warning("identity_stripe_results_withheld", why=str(error), verification=str(check.id))
            facts = self._calls.read_plain_results(check.reference)
        if self._calls.checked(facts).is_over:  # redacted since: it says "verified", and all data is gone
            return Failed()
        return findings.of_results(results(facts), assurance=self._assurance, verified_by=self._verified_by)
