"""What a request would present of a holder's credential (OpenID4VP 1.0 §6.4).

The result depends on the holder, so it is computed only after sign-in and shown only to them (§15.4.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from wallet import credentials
from wallet.claims import CLAIMS
from wallet.models import Credential

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Match:
    """A holder's valid credential, and the claims that the request selects."""

    credential: Credential
    selection: Selection


def match(request: AuthorizationRequest, credential: Credential, *, today: date) -> Match | None:
    """The match with this credential, with its values on the day `today`; None if it does not match.

    Raises `ServerError` or `TemporarilyUnavailableError` if the keys that this needs cannot be used.
    """
    query = request.query
    with our_fault():
        best = _best(query, credentials.credential_type(), _authorities(query))
        found = best.selection
        if not best.same_for_everyone:
            found = evaluation.select(query, best.offer, credentials.whole(credential, today=today))
    return Match(credential, found) if found and _binds_all(request, found) else None


def possible(request: AuthorizationRequest) -> bool:
    """Whether any credential could match; if not, no identity need be verified. Raises as `match`."""
    query = request.query
    with our_fault():
        found = _best(query, credentials.credential_type(), _authorities(query)).selection
    return found is not None and _binds_all(request, found)


def require_readable(credential: Credential) -> None:
    """Raises `ServerError` if the credential does not unseal (key missing or row changed)."""
    with our_fault():
        credentials.require_readable(credential)


def require_shown(consent: Consent) -> None:
    """Raises `ServerError` if the transactions of an open consent do not unseal: no page could show them."""
    if consent.transactions:
        with our_fault():
            transactions.shown(consent)


@contextmanager
def our_fault() -> Iterator[None]:
    """Logs errors of keys, which are the service's fault, and raises a server error for the relying party."""
    try:
        yield
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("request_not_evaluated")
        raise ServerError from error
    except SignerUnavailableError as error:
        log.exception("request_not_evaluated")
        raise TemporarilyUnavailableError from error


def _binds_all(request: AuthorizationRequest, found: Selection) -> bool:
    """Whether the selection answers, for each transaction, a credential query that it names (§8.4)."""
    answered = set(found.query_ids)
    return all(answered.intersection(value.credential_ids) for value in request.transaction_data)


def _authorities(query: Query) -> frozenset[str]:
    """The key ids of our credentials' authority; looked up only if the query names authorities."""
    named = any(asked.authority_key_ids is not None for asked in query.credentials)
    return active_issuer_key(now=timezone.now()).authority_key_ids if named else frozenset()


@dataclass(frozen=True)
class _Best:
    """What can be offered for a query, the best possible selection, and whether all credentials give it."""

    offer: Offer
    selection: Selection | None
    same_for_everyone: bool


@lru_cache(maxsize=100)  # each presentation needs it twice, and there are few scopes
def _best(query: Query, vct: str, authority_key_ids: frozenset[str]) -> _Best:
    """Ignores the wanted values, so it does not matter that `1` and `True` are equal as cache keys."""
    offer = Offer(vct, authority_key_ids, CLAIMS, credentials.plain_claims().keys())
    same = evaluation.same_for_everyone(query, offer)
    return _Best(offer, evaluation.select_for_anyone(query, offer), same)
