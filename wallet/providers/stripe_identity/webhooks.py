"""Reads Stripe's webhooks: whether the signature is genuine, and which session an event is about. Pure.

Nothing else is taken from an event. It may come late, twice or out of order, and may be replayed for five
minutes, so all it causes is that the session is read from the API.
"""

from collections.abc import Iterable
from typing import Any

from stripe import SignatureVerificationError, WebhookSignature

from infra.strict_json import StrictJsonError, loads
from wallet.providers.contract import MessageRefusedError
from wallet.providers.stripe_identity.responses import is_session_id

TOLERANCE = 300  # seconds that an event may be old
LONGEST = 32_768  # bytes; an event about a session has less than 4,000
PREFIX = "identity.verification_session."
WITH_RESULT = {PREFIX + what for what in ("verified", "requires_input", "canceled", "processing")}


def session_of(body: bytes, signature: str, *, secrets: Iterable[str], live: bool) -> str | None:
    """The id of the session that a genuine event is about; None for events of other kinds.

    secrets: several while one is being replaced. Raises `MessageRefusedError`.
    """
    if len(body) > LONGEST:
        raise MessageRefusedError("The event is too long.")
    text = body.decode(errors="replace")  # no signature fits a text with a replacement
    if not any(_fits(text, signature, secret) for secret in secrets):
        raise MessageRefusedError("No signature fits, or the event is too old.")
    return _session(_event(text), live=live)


def _fits(text: str, signature: str, secret: str) -> bool:
    # The library compares texts and cannot do that with characters beyond ASCII.
    if not signature.isascii():
        return False
    try:
        return bool(WebhookSignature.verify_header(text, signature, secret, TOLERANCE))
    except SignatureVerificationError:
        return False


def _event(text: str) -> dict[str, Any]:
    try:
        event = loads(text)
    except StrictJsonError as error:
        raise MessageRefusedError(f"The event {error}.") from None
    if not isinstance(event, dict) or event.get("object") != "event":
        raise MessageRefusedError("The body is not an event.")
    return event


def _session(event: dict[str, Any], *, live: bool) -> str | None:
    if event.get("livemode") is not live:
        raise MessageRefusedError("The event is of the other mode, live or test, than the key.")
    kind = event.get("type")
    if not isinstance(kind, str):
        raise MessageRefusedError("The event does not say what has happened.")
    if kind not in WITH_RESULT:
        return None
    data = event.get("data")
    subject = data.get("object") if isinstance(data, dict) else None
    session = subject.get("id") if isinstance(subject, dict) else None
    if not isinstance(session, str) or not is_session_id(session):
        raise MessageRefusedError("The event does not say which session it is about.")
    return session
