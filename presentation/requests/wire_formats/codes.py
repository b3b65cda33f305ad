"""Codes, tokens and UserInfo (OpenID Connect Core 1.0 §3.1.2.5, §3.1.3, §5.3; PKCE, RFC 7636).

The code is one row with the whole answer, sealed. One transaction exchanges it, and notes in the consent
record that the answer was collected, unless its holder has taken it back. What is behind a code or an access
token leaves only while the presentation is valid: the answer was prepared earlier, and much may have changed
since.

A code that is sent again ends what it was exchanged for; one that comes from another client, or with another
address or verifier, stays as it is, because whoever sends it may have stolen it.
"""

import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction

from consent import decisions
from infra import base64url, log_context
from infra.sealing import SealError, seal_column, sha256_hex, unseal_column
from keys.issuer_key import CANNOT_SIGN, active_issuer_key, id_token_key
from keys.jws import encode_segment, sign_segments
from presentation.errors import TemporarilyUnavailableError
from presentation.machine_errors import InvalidTokenError, MachineError, MissingTokenError, UnavailableError
from presentation.models import AuthorizationCode, Interaction, RelyingParty
from presentation.openid_connect import contents, translation
from presentation.openid_connect.claims_parameter import AUTH_TIME
from presentation.openid_connect.translation import OpenIDRequest
from presentation.relying_parties.authentication.bearer import REFUSED
from presentation.requests.authorization_request import CHANGE_REGISTRATION, AuthorizationRequest
from presentation.requests.sign_in_time import CODE_LIVES, auth_time, hour_will_do
from presentation.requests.wire_formats.refused_codes import CodeRefusedError, Reason
from wallet.models import HolderSession
from wallet.sign_in import sessions
from wallet.status_lists import statuses

log = structlog.get_logger(__name__)

GRANT_TYPE = "authorization_code"
ACCESS_LIVES = timedelta(minutes=5)
# An exchange that began while the code was open may end so much later: the client's keys are fetched first.
# Until then the consent record says that the answer can be collected, and not that nothing was shared.
EXCHANGE_TAKES = timedelta(seconds=30)
# How the holder signed in (OpenID Connect EAP ACR Values 1.0, RFC 8176). A passkey is a key that its holder
# unlocks. No registered `acr` fits a code in an e-mail.
BY_PASSKEY: dict[str, Any] = {"acr": translation.BY_PASSKEY, "amr": ["pop", "mfa"]}
BY_CODE: dict[str, Any] = {"amr": ["otp"]}


def make(
    interaction: Interaction,
    request: AuthorizationRequest,
    presentation: str,
    *,
    subject: str,
    session: HolderSession,
    now: datetime,
) -> tuple[str, AuthorizationCode]:
    """A code for this presentation, and its row, which the caller inserts as it closes the interaction.

    subject: `sub`. session: that in which the holder agreed. Raises TemporarilyUnavailableError if a request
    that is answered at the same time was told the time of the sign-in.
    """
    openid = request.openid
    if openid is None:
        raise ValueError("not a request of OpenID Connect")
    code = secrets.token_urlsafe(32)
    how = BY_PASSKEY if session.by_passkey else BY_CODE
    signed_in = {**_auth_time(interaction, openid, session, now=now), **how}
    nonce = {} if openid.nonce is None else {"nonce": openid.nonce}
    answer = {
        **contents.of_places(openid, presentation, now=now),
        "always": {"sub": subject, **signed_in, **nonce},
        "beside": {"scope": openid.scope, "vp_token": presentation, "vp_nonce": request.nonce},
        "code_challenge": openid.code_challenge,
    }
    row = AuthorizationCode(digest=sha256_hex(code), interaction=interaction, expires_at=now + CODE_LIVES)
    row.sealed_answer = seal_column(row, "sealed_answer", json.dumps(answer).encode())
    return code, row


def _auth_time(
    interaction: Interaction, openid: OpenIDRequest, session: HolderSession, *, now: datetime
) -> dict[str, int]:
    """When the holder signed in, for a request that asks for it: the hour, or a time that is told once."""
    if not openid.wants_auth_time:
        return {}
    longest, collected_by = openid.longest_since_sign_in, now + CODE_LIVES
    hour = hour_will_do(session.signed_in_at, longest, collected_by=collected_by)
    if not (hour or sessions.tell_time(session, interaction.id)):
        raise TemporarilyUnavailableError
    return {AUTH_TIME: int(auth_time(session.signed_in_at, longest, collected_by=collected_by).timestamp())}


def find(party: RelyingParty, form: Mapping[str, str]) -> tuple[AuthorizationCode, dict[str, Any]]:
    """The code in the form and the answer behind it, if this relying party may have it.

    One that was used already ends what it was exchanged for. Raises MachineError, or CodeRefusedError.
    """
    if party.wire_format != RelyingParty.WireFormat.OPENID_CONNECT:
        text = f"This client is not registered for OpenID Connect ({CHANGE_REGISTRATION})."
        raise MachineError(text, error="unauthorized_client")
    if "code" not in form:
        raise MachineError("code is missing.")
    rows = AuthorizationCode.objects.filter(digest=sha256_hex(form["code"]))
    row = rows.select_related("interaction__consent").first()
    if row is None:
        raise CodeRefusedError(Reason.UNKNOWN)
    if row.interaction.relying_party_id != party.pk:
        raise CodeRefusedError(Reason.ANOTHER_CLIENT)
    return row, _answer_behind(row, form)


def id_token(answer: Mapping[str, Any], party: RelyingParty, access_token: str, *, now: datetime) -> str:
    """The signed ID token (Core 1.0 §3.1.3.6); raises UnavailableError."""
    issued_at = int(now.timestamp())
    payload = {
        **answer["id_token"],
        **answer["always"],
        "iss": settings.BASE_URL,
        "aud": party.client_id,
        "iat": issued_at,
        "exp": issued_at + int(ACCESS_LIVES.total_seconds()),
        "at_hash": base64url.encode(sha256(access_token.encode()).digest()[:16]),
    }
    try:
        by_rsa = party.id_token_signed_response_alg == RelyingParty.IdTokenAlgorithm.RS256
        key = id_token_key(now=now) if by_rsa else active_issuer_key(now=now)
        # Another `typ` than that of any other token that this key signs.
        header = encode_segment({"alg": key.algorithm, "typ": "JWT", "kid": key.kid})
        return sign_segments(header, encode_segment(payload), key.signer)
    except CANNOT_SIGN as error:
        log.exception("id_token_not_signed")
        raise UnavailableError from error


def use(row: AuthorizationCode, access_token: str, *, now: datetime) -> None:
    """Exchanges the code for the access token, once; raises CodeRefusedError."""
    unused = AuthorizationCode.objects.filter(digest=row.digest, used_at=None, expires_at__gt=now)
    redeemed = {"access_digest": sha256_hex(access_token), "expires_at": now + ACCESS_LIVES, "used_at": now}
    with transaction.atomic():
        won = unused.exclude(sealed_answer=b"").update(**redeemed) == 1 and _collect(row, now=now)
        transaction.set_rollback(not won)
    if not won:
        _end(row.digest)
        raise CodeRefusedError(_why_not_used(row.digest, now=now))


def user_info(access_token: str, *, network_address: str | None, now: datetime) -> dict[str, Any]:
    """The claims of UserInfo; raises MissingTokenError, InvalidTokenError or LimitReachedError."""
    if not access_token:
        raise MissingTokenError("An access token is needed (Authorization: Bearer).")
    rows = AuthorizationCode.objects.filter(
        access_digest=sha256_hex(access_token),
        expires_at__gt=now,
        interaction__relying_party__state=RelyingParty.State.ACTIVE,
    )
    row = rows.select_related("interaction__consent").first()
    answer = _opened(row) if row and _is_valid(row, now=now) else None
    if answer is None:
        REFUSED.take(network_address, now=now)
        raise InvalidTokenError("The access token is unknown, has expired, or was ended.")
    return {"sub": answer["always"]["sub"], **answer["userinfo"]}


def _answer_behind(row: AuthorizationCode, form: Mapping[str, str]) -> dict[str, Any]:
    """The answer behind the code, if address and verifier fit to it; a used code ends.

    Raises CodeRefusedError.
    """
    if row.used_at is not None:
        _end(row.digest)
        raise CodeRefusedError(Reason.USED)
    answer = _opened(row)
    if answer is None:
        raise CodeRefusedError(Reason.GONE)
    if form.get("redirect_uri") != row.interaction.redirect_uri:
        raise CodeRefusedError(Reason.REDIRECT_URI)
    verifier, challenge = form.get("code_verifier", ""), answer["code_challenge"]
    if not _verifier_fits(verifier, challenge):
        raise CodeRefusedError(Reason.of_verifier(verifier, challenge))
    return answer


def _verifier_fits(verifier: str, challenge: str) -> bool:
    """Whether it is the verifier of this challenge (RFC 7636 §4.6); both are empty in a request without PKCE.

    A verifier without a challenge shows that somebody took the challenge out of the request, so it is refused
    (RFC 9700 §2.1.1).
    """
    if not challenge:
        return not verifier
    return hmac.compare_digest(base64url.encode(sha256(verifier.encode()).digest()), challenge)


def _why_not_used(digest: str, *, now: datetime) -> Reason:
    """Why `use` could not exchange the code, as far as its row says now."""
    row = AuthorizationCode.objects.filter(digest=digest).only("used_at", "expires_at").first()
    if row is None:
        return Reason.UNKNOWN
    if row.used_at is not None:
        return Reason.USED
    return Reason.EXPIRED if row.expires_at <= now else Reason.NOT_VALID


def _collect(row: AuthorizationCode, *, now: datetime) -> bool:
    """Whether the answer may leave now: its holder has not taken it back, and the presentation is valid.

    To be called inside the transaction of the exchange, so that a later take-back or revocation comes after.
    """
    consent = row.interaction.consent
    if consent is None or not decisions.collect(consent.id, now=now):
        return False
    return _is_valid(row, now=now, lock=True)


def _is_valid(row: AuthorizationCode, *, now: datetime, lock: bool = False) -> bool:
    """Whether the presentation behind the code is valid, as its status is published. lock: as `all_valid`."""
    consent = row.interaction.consent
    if consent is None or consent.wallet_id is None:  # the wallet is closed
        return False
    return statuses.all_valid(consent.wallet_id, consent.id, now=now, lock=lock)


def _end(digest: str) -> None:
    """Ends what a code was exchanged for, because it was sent again (RFC 6749 §4.1.2)."""
    rows = AuthorizationCode.objects.filter(digest=digest).exclude(used_at=None)
    if rows.exclude(sealed_answer=b"").update(sealed_answer=b"", access_digest=None):
        log.warning("code_sent_again", digest=digest[:8])


def _opened(row: AuthorizationCode) -> dict[str, Any] | None:
    """The answer; None if it was erased, or its sealing key is lost."""
    log_context.bind(interaction=str(row.interaction_id))
    if not row.sealed_answer:
        return None
    try:
        answer: dict[str, Any] = json.loads(unseal_column(row, "sealed_answer"))
    except SealError:
        log.exception("code_not_opened")
        return None
    return answer
