"""The match of a request with a holder's credential: what would be presented (OpenID4VP 1.0 §6.4).

It depends on the holder, so it is found out only after they signed in, and only they are told (§15.4.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

import structlog
from django.utils import timezone

from consent import transactions
from consent.models import Consent
from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.private_keys.signer import SignerUnavailableError
from presentation.dcql import evaluation
from presentation.dcql.evaluation import Offer, Selection
from presentation.dcql.queries import Query
from presentation.errors import ServerError, TemporarilyUnavailableError
from presentation.requests.authorization_request import AuthorizationRequest
from wallet import claims, credentials
from wallet.claims import CLAIMS, OPTIONAL
from wallet.evidence import Assurance, Verification
from wallet.models import Credential

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Match:
    """A holder's valid credential, and what the request selects of it."""

    credential: Credential
    selection: Selection


def match(request: AuthorizationRequest, credential: Credential, *, today: date) -> Match | None:
    """What the request selects of this credential, with its values on that day; None if it cannot be met.

    Raises `ServerError`, `TemporarilyUnavailableError` when that cannot be found out.
    """
    query = request.query
    with our_fault():
        best = _best(query, credentials.credential_type(), _authorities(query))
        found = best.selection
        if not best.same_for_everyone:
            offer = replace(best.offer, claims=credentials.held(credential))
            found = evaluation.select(query, offer, credentials.whole(credential, today=today))
    return Match(credential, found) if found and _binds_all(request, found) else None


def possible(request: AuthorizationRequest) -> bool:
    """Whether some holder could match: if not, nobody need be verified for it. Raises as `match`."""
    query = request.query
    with our_fault():
        found = _best(query, credentials.credential_type(), _authorities(query)).selection
    return found is not None and _binds_all(request, found)


def names_asked(request: AuthorizationRequest) -> list[str]:
    """The names of the claims that are asked for, as far as one can tell before the holder is known."""
    query = request.query
    found = _best(query, credentials.credential_type(), _authorities(query)).selection
    return [".".join(path) for path in found.claims] if found else []


def accepts_assurance(request: AuthorizationRequest, assurance: Assurance) -> bool:
    """Whether a holder could match who was verified with this assurance today. Raises as `match`."""
    known = claims.values_of_verification(Verification(assurance, timezone.localdate(), "in_person"))
    with our_fault():
        offer = _best(request.query, credentials.credential_type(), _authorities(request.query)).offer
        return evaluation.select_for_anyone(request.query, offer, known) is not None


def require_readable(credential: Credential) -> None:
    """Raises `ServerError` when the credential does not open: a sealing key is missing, or it was changed."""
    with our_fault():
        credentials.require_readable(credential)


def require_shown(consent: Consent) -> None:
    """Raises `ServerError` when the transactions of an open question do not open: no page can show them."""
    if consent.transactions:
        with our_fault():
            transactions.shown(consent)


@contextmanager
def our_fault() -> Iterator[None]:
    """Trouble with keys is the service's fault: it is logged, and the relying party gets a server error."""
    try:
        yield
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("request_not_evaluated")
        raise ServerError from error
    except SignerUnavailableError as error:
        log.exception("request_not_evaluated")
        raise TemporarilyUnavailableError from error


def _binds_all(request: AuthorizationRequest, found: Selection) -> bool:
    """Whether what is presented answers a credential query that each transaction is to be bound to (§8.4)."""
    answered = set(found.query_ids)
    return all(answered.intersection(value.credential_ids) for value in request.transaction_data)


def _authorities(query: Query) -> frozenset[str]:
    """The key ids of the authority behind our credentials; looked up only for a query that names some."""
    named = any(asked.authority_key_ids is not None for asked in query.credentials)
    return active_issuer_key(now=timezone.now()).authority_key_ids if named else frozenset()


@dataclass(frozen=True)
class _Best:
    """What there is to answer a query with, what the best credential gives, and whether every one does."""

    offer: Offer
    selection: Selection | None
    same_for_everyone: bool


@lru_cache(maxsize=100)  # every presentation asks twice, and the aliases of scopes are few
def _best(query: Query, vct: str, authority_key_ids: frozenset[str]) -> _Best:
    """The wanted values make no difference here, so that `1` and `True` may be the same to the cache."""
    offer = Offer(vct, authority_key_ids, CLAIMS, credentials.plain_claims().keys(), OPTIONAL)
    same = evaluation.same_for_everyone(query, offer)
    return _Best(offer, evaluation.select_for_anyone(query, offer), same)
