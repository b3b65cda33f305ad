"""The transitions of signing keys: stage, certify, activate, retire, withdraw.

The invariant: no token is signed by a key that a relying party's cached key set may lack. Every one is a
conditional update under the constraints of `SigningKey`, so several instances may attempt it at once.
"""

from datetime import datetime
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from infra.moments import moment
from infra.reasons import visible
from keys.certificates import authority
from keys.certificates.bundle import chain_pem
from keys.certificates.chain import BrokenChainError, CertificateChain
from keys.issuer_key import forget
from keys.models import IdTokenKey, Key, SigningKey
from keys.private_keys.key_stores import Store, forgotten_unless_saved, make_private_key, signer_of
from keys.rotation.key_events import SERVICE, Action, record
from keys.rotation.states import (
    RotationRefusedError,
    State,
    find,
    fits,
    in_state,
    ready_at,
    require_transition,
    transition_to,
)
from keys.statements import StatementError, vouched_for

_STAGED_ALREADY = _lazy("A key is staged already; activate or withdraw that one first.")

log = structlog.get_logger(__name__)


def stage(
    *, now: datetime, actor: str = SERVICE, reason: str = "", store: str = "", kind: type[Key] = SigningKey
) -> Key:
    """Makes the key that signs next. The sandbox certifies it at once; in production it waits for `certify`.

    `store` is where its private key is kept, SIGNING_KEY_STORE by default. Raises RotationRefusedError when
    a key is staged already, SealError, SignerUnavailableError.
    """
    if in_state(State.STAGED, kind):
        raise RotationRefusedError(_STAGED_ALREADY)
    key = new_key(now, store, kind)
    with forgotten_unless_saved(key):
        return save_staged(key, now=now, actor=actor, reason=reason)


def save_staged(key: Key, *, now: datetime, actor: str, reason: str) -> Key:
    """Saves a new key and its events. Raises RotationRefusedError when another key is staged already."""
    try:
        with transaction.atomic():
            key.save(force_insert=True)
            record(Action.STAGED, key.pk, actor=actor, reason=reason, now=now)
            if key.certified_at:
                record(
                    Action.CERTIFIED, key.pk, actor=actor, reason=_("By the sandbox’s authority."), now=now
                )
    except IntegrityError:
        raise RotationRefusedError(_STAGED_ALREADY) from None
    log.info("signing_key_staged", kid=str(key.id), store=str(key.store))
    return key


def new_key(now: datetime, store: str = "", kind: type[Key] = SigningKey) -> Key:
    """A key with its private part, not saved yet; in the sandbox it is certified."""
    key = kind(id=uuid4(), store=Store(store or settings.SIGNING_KEY_STORE), staged_at=now)
    make_private_key(key)
    if settings.SELF_CERTIFYING_AUTHORITY:
        key.chain_pem, key.certified_at = authority.certify(key.public_key, now=now), now
    return key


def certificate_request(kid: UUID | str) -> str:
    """The certificate request (PKCS#10 in PEM) of a staged or active key.

    Raises RotationRefusedError when the key is in another state or CERTIFICATE_SUBJECT is wrong, SealError
    when the private key cannot be opened, SignerUnavailableError.
    """
    key = find(kid)
    if key.state not in (State.STAGED, State.ACTIVE):
        raise RotationRefusedError(
            _("Key %(kid)s is “%(state)s” and needs no certificate any more.")
            % {"kid": key, "state": key.get_state_display()}
        )
    try:
        return authority.certificate_request(signer_of(key))
    except authority.SubjectError as error:
        raise RotationRefusedError(str(error)) from error


def certify(
    kid: UUID | str, *files: str | bytes, now: datetime, actor: str = SERVICE, reason: str = ""
) -> Key:
    """Installs the certificate chain of a staged or active key from the files that the authority sent.

    Raises BrokenChainError when the chain is not valid, RotationRefusedError in any other state.
    """
    key = find(kid)
    received = [file.encode() if isinstance(file, str) else file for file in files]
    pem = chain_pem(*received, public_key=key.public_key)
    chain = CertificateChain.from_pem(pem, public_key=key.public_key, now=now)
    if not isinstance(key, IdTokenKey):  # an ID token has no certificates in its header
        _check_that_verifiers_believe(chain, now)
    living = type(key)._default_manager.filter(pk=key.pk, state__in=[State.STAGED, State.ACTIVE])
    with transaction.atomic():
        certified = living.filter(chain_pem=key.chain_pem).update(chain_pem=pem, certified_at=now)
        if certified:
            record(Action.CERTIFIED, key.pk, actor=actor, reason=reason, now=now)
    if not certified:
        key.refresh_from_db()
        raise RotationRefusedError(
            _("Key %(kid)s was not certified: it is %(state)s, or was certified by someone else just now.")
            % {"kid": key, "state": key.get_state_display()}
        )
    forget()
    log.info("signing_key_certified", kid=str(key.id), not_after=chain.not_after.isoformat())
    return find(key.pk)


def _check_that_verifiers_believe(chain: CertificateChain, now: datetime) -> None:
    """Raises BrokenChainError unless who trusts the root believes what the leaf signs: see `vouched_for`."""
    try:
        vouched_for({"x5c": chain.x5c}, settings.BASE_URL, roots=[chain.root], at=now)
    except StatementError as error:
        raise BrokenChainError(f"Those who trust the root would refuse the chain: {error}") from error


def activate(kid: UUID | str, *, now: datetime, actor: str = SERVICE, reason: str = "") -> Key:
    """Makes the staged key active and retires the active key in the same transaction; idempotent.

    Raises RotationRefusedError while cached key sets may lack the key. If no key is active it is activated at
    once, because nothing can be signed meanwhile. Raises BrokenChainError when its chain is not valid now.
    """
    key = find(kid)
    if key.state == State.ACTIVE:
        return key
    require_transition(key, State.ACTIVE)
    ready = ready_at(key)
    key.chain(at=now)
    predecessor = in_state(State.ACTIVE, type(key))
    if predecessor and now < ready:
        raise RotationRefusedError(
            _("Key %(kid)s may sign from %(ready)s: until then cached key sets may lack it.")
            % {"kid": key, "ready": moment(ready)}
        )
    try:
        with transaction.atomic():
            if predecessor:
                transition_to(predecessor, State.RETIRED, now=now, actor=actor, reason=reason)
            return transition_to(key, State.ACTIVE, now=now, actor=actor, reason=reason)
    except RotationRefusedError:
        key = find(kid)
        if key.state == State.ACTIVE:  # another instance did the same
            return key
        raise


def retire(kid: UUID | str, *, now: datetime, actor: str = SERVICE, reason: str = "") -> Key:
    """Retires the active key by activating the staged key; idempotent.

    Raises RotationRefusedError when no staged key is ready, because the issuer would be left without a key.
    """
    key = find(kid)
    if key.state == State.RETIRED:
        return key
    require_transition(key, State.RETIRED)
    successor = in_state(State.STAGED, type(key))
    if successor is None:
        raise RotationRefusedError(
            _("No key is staged to take over from %(kid)s. Stage one first (in an emergency, withdraw it).")
            % {"kid": key}
        )
    activate(successor.pk, now=now, actor=actor, reason=reason)
    return find(key.pk)


def withdraw(kid: UUID | str, *, reason: str, now: datetime, actor: str = SERVICE) -> Key:
    """Removes a key from the key set now and for good. If it was active, the next key signs at once.

    The next key does not wait, so relying parties may lack it until their caches expire (`JWKS_MAX_AGE`). If
    no key is ready and none can be made, nothing is signed any more; `cost_of_withdrawal` warns of that.
    Raises RotationRefusedError when no reason is given.
    """
    reason = " ".join(reason.split())[:200]
    if not visible(reason):
        raise RotationRefusedError(_("Say why the key is withdrawn."))
    with transaction.atomic():
        key = find(kid, locked=True)  # lock: a withdrawal must win every race
        if key.state == State.WITHDRAWN:
            return key
        was_active = key.state == State.ACTIVE
        key = transition_to(key, State.WITHDRAWN, now=now, actor=actor, reason=reason)
        if was_active:
            try:
                with transaction.atomic():
                    _succeed(type(key), now, actor, reason)
            except Exception:  # such as a lost sealing key: the withdrawal must not fail
                log.exception("no_key_succeeded", withdrawn=str(key))
    return key


def _succeed(kind: type[Key], now: datetime, actor: str, reason: str) -> None:
    """Makes another key active at once: the staged key, or in the sandbox a new one."""
    successor = in_state(State.STAGED, kind)
    if settings.SELF_CERTIFYING_AUTHORITY:
        successor = successor or stage(now=now, actor=actor, reason=reason, kind=kind)
        if not fits(successor, now):
            renewed = authority.certify(successor.public_key, now=now)
            successor = certify(successor.pk, renewed, now=now, actor=actor, reason=reason)
    if successor and fits(successor, now):
        transition_to(successor, State.ACTIVE, now=now, actor=actor, reason=reason)
