"""Calls of Stripe's API, by its library: create, read and redact a VerificationSession."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import stripe

from infra.outbound.calls import Outbound, OutboundError
from infra.waiting import waiting_for
from wallet.providers.contract import ProviderError
from wallet.providers.stripe_identity.responses import Session, session

VERSION = "2026-10-28.endive"  # of the API; the library's own types are of this one
PUBLIC = "https://api.stripe.com"
# What may be read with any key, and what only a restricted key reads, for 48 hours after the check.
RESULTS = ["verified_outputs", "last_verification_report"]
SENSITIVE = [
    *RESULTS,
    "verified_outputs.dob",
    "last_verification_report.document.expiration_date",
    "last_verification_report.document.number",
]
HEADERS = ("authorization", "stripe-version", "idempotency-key")

# Otherwise the library makes up a machine id, to be sent with each call. This switch exists only globally.
stripe.enable_telemetry = False
logging.getLogger("stripe").setLevel(logging.WARNING)  # below that it writes down addresses with ids


class NoSuchSessionError(ProviderError):
    """This account of Stripe has no such session."""


class RefusedError(ProviderError):
    """Stripe understood the call and refuses it (400 or 403)."""


class Calls:
    """The three calls that the provider makes, each bounded in time and size. All raise `ProviderError`."""

    def __init__(self, key: str, address: str, *, loopback: bool) -> None:
        self.live = key.startswith("rk_live_")
        outbound = Outbound(loopback=loopback)
        self._sessions = stripe.StripeClient(
            key,
            base_addresses={"api": address},
            http_client=_Client(outbound, called=("identity provider", address)),
            max_network_retries=0,
            stripe_version=VERSION,
        ).v1.identity.verification_sessions

    def create(self, parameters: Mapping[str, Any], *, key: str) -> Session:
        """A new session, or the one that was created before with this idempotency key.

        Tried twice, because a person waits; all other calls are repeated by those who come next.
        """
        options: Any = {"idempotency_key": key, "max_network_retries": 1}
        wanted: Any = parameters
        return self.checked(_asked(lambda: self._sessions.create(wanted, options)))

    def read(self, reference: str) -> Session:
        """Raises `NoSuchSessionError` too."""
        return self.checked(_asked(lambda: self._sessions.retrieve(reference)))

    def read_results(self, reference: str) -> Mapping[str, Any]:
        """The answer with everything that was read from the document.

        Raises `RefusedError` too: the key lacks the permission, or 48 hours are over.
        """
        return _asked(lambda: self._sessions.retrieve(reference, {"expand": SENSITIVE}))

    def read_plain_results(self, reference: str) -> Mapping[str, Any]:
        """The answer without date of birth, expiry and number."""
        return _asked(lambda: self._sessions.retrieve(reference, {"expand": RESULTS}))

    def redact(self, reference: str) -> None:
        """Begins the erasure at Stripe, which takes up to four days there."""
        self.checked(_asked(lambda: self._sessions.redact(reference)))

    def checked(self, facts: Mapping[str, Any]) -> Session:
        """The session in an answer."""
        read = session(facts)
        if read.live is not self.live:
            raise ProviderError("Stripe's answer is of the other mode, live or test, than the key.")
        return read


class _Client(stripe.HTTPClient):
    """How the library calls: bounded, to public addresses, without redirects, proxies and telemetry."""

    name = "outbound"

    def __init__(self, outbound: Outbound, *, called: tuple[str, str]) -> None:
        super().__init__()
        self._outbound, self._called = outbound, called

    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any = None, **_rest: Any
    ) -> tuple[str, int, Mapping[str, str]]:
        sent = {name: value for name, value in (headers or {}).items() if name.lower() in HEADERS}
        try:
            with waiting_for(self._called):
                if method == "get":
                    answer = self._outbound.get(url, accept="application/json", headers=sent)
                else:
                    form = "application/x-www-form-urlencoded"
                    body = (post_data or "").encode()
                    answer = self._outbound.post(url, body, content_type=form, headers=sent)
        except OutboundError as error:
            raise stripe.APIConnectionError(str(error), should_retry=True) from error
        return answer.body.decode(errors="replace"), answer.status, {}

    def close(self) -> None:
        pass


def _asked(call: Callable[[], Any]) -> Mapping[str, Any]:
    """The object in Stripe's answer. Stripe's own messages may repeat what was sent, so they are dropped."""
    try:
        answer = call()
        facts = answer.to_dict() if isinstance(answer, stripe.StripeObject) else None
    except stripe.StripeError as error:
        raise _as_ours(error) from None
    except Exception as error:  # the library reads strangers' JSON and is not made for any
        raise ProviderError(f"Stripe's answer makes no sense: {type(error).__name__}.") from None
    if not isinstance(facts, Mapping):
        raise ProviderError("Stripe's answer is not an object.")
    return facts


def _as_ours(error: stripe.StripeError) -> ProviderError:
    status, code = error.http_status, error.code
    if status == 404 and code == "resource_missing":
        return NoSuchSessionError("Stripe knows no such session.")
    if isinstance(error, stripe.APIConnectionError):
        return ProviderError(f"Stripe was not reached: {error.user_message or error}")
    kind = RefusedError if status in (400, 403) else ProviderError
    return kind(f"Stripe answered with {type(error).__name__} ({status}).")
