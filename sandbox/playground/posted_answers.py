"""Answers that are posted to the playground (OpenID4VP 1.0 §8.2): stored for one tab, which reads each once.

Reading takes the response code, which only the redirected browser has received, and the `state`, which only
the tab that sent the request knows (§13.3). The server has no session: it stores the hash of the `state`,
which an encrypted answer carries as the `kid` of its key.
"""

import hashlib
import re
import secrets
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from infra import base64url
from infra.limits import ClientLimit
from infra.outbound.targets import TargetError, as_address, is_public, parse
from infra.sealing import SealError, seal_column, unseal_column
from infra.words import Words
from keys.jws import JwsError, decode_segment
from presentation.machine_errors import MachineError
from presentation.requests.receiving import posted_form
from sandbox.models import PlaygroundAnswer

LONGEST = 65_536  # bytes of a form
KEPT = timedelta(minutes=5)
MOST_KEPT = 1000
_HASH = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 as base64url
POSTED = ClientLimit.from_settings("playground-answers")


class NotAnAnswerError(ValueError):
    """The posted form is not an answer, or too many are stored; the text says which."""


def response_uri() -> str:
    """The address to which answers for the playground are posted."""
    return settings.BASE_URL + reverse("playground_answers")


def obstacle() -> Words | None:
    """Why no answer can be posted to the playground of this sandbox; None if answers can be posted."""
    try:
        target = parse(response_uri(), loopback=settings.LOOPBACK_CALLS)
    except TargetError:
        return _("This service posts to https addresses only, and this sandbox has none.")
    try:
        reachable = not target.tls or is_public(as_address(target.host))
    except ValueError:  # the host is a name, not an address
        reachable = target.host != "localhost"
    if reachable:
        return None
    return _("This service posts to the public Internet only, and this sandbox is not there.")


def store(form: bytes, *, now: datetime) -> str:
    """Store a posted form in the place of an earlier one with the same state; returns the response code.

    Raises NotAnAnswerError.
    """
    handle = _handle_of(form)
    PlaygroundAnswer.objects.filter(Q(handle=handle) | Q(expires_at__lte=now)).delete()
    if PlaygroundAnswer.objects.count() >= MOST_KEPT:
        raise NotAnAnswerError("Too many answers wait to be read.")
    code, row = secrets.token_urlsafe(24), PlaygroundAnswer(id=uuid.uuid4(), handle=handle)
    row.code_digest, row.expires_at = _digest(code), now + KEPT
    row.sealed_form = seal_column(row, "sealed_form", form)
    row.save(force_insert=True)
    return code


def take(code: str, state: str, *, now: datetime) -> str | None:
    """Delete the stored form with this response code and state, and return it; None if there is none."""
    rows = PlaygroundAnswer.objects.filter(
        code_digest=_digest(code), handle=_digest(state), expires_at__gt=now
    )
    row = rows.first()
    if row is None or PlaygroundAnswer.objects.filter(pk=row.pk).delete()[0] != 1:
        return None
    try:
        return unseal_column(row, "sealed_form").decode("ascii")
    except SealError:
        return None


def _handle_of(form: bytes) -> str:
    if len(form) > LONGEST:
        raise NotAnAnswerError(f"The body is longer than {LONGEST} bytes.")
    try:
        fields = posted_form.read(form)
    except MachineError as error:
        raise NotAnAnswerError(str(error)) from None
    if "response" in fields:
        return _kid(fields["response"])
    if "state" not in fields or ("vp_token" in fields) == ("error" in fields):
        raise NotAnAnswerError("An answer has a state, and either a vp_token or an error.")
    return _digest(fields["state"])


def _kid(token: str) -> str:
    try:
        header = decode_segment(token.partition(".")[0])
    except JwsError:
        header = {}
    kid = header.get("kid")
    if not isinstance(kid, str) or not _HASH.fullmatch(kid):
        raise NotAnAnswerError("The kid of an encrypted answer is the hash of the state.")
    return kid


def _digest(text: str) -> str:
    return base64url.encode(hashlib.sha256(text.encode()).digest())
