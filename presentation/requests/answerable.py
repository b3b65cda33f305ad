"""Whether a request can be answered, and with what: its query held against the credential (OpenID4VP §6.4).

What depends on a holder is found out only once they are signed in, and told to nobody but them (§15.4.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager
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


def require_readable(credential: Credential) -> None:
    """Raises `ServerError` when the credential does not open: a sealing key is missing, or it was changed."""
    with our_fault():
        credentials.require_readable(credential)


def require_shown(consent: Consent) -> None:
    """Raises `ServerError` when the transactions of an open question do not open: no page can show them."""
    with our_fault():
        transactions.shown(consent)


def selection(request: AuthorizationRequest, credential: Credential, *, today: date) -> Selection | None:
    """What is presented of this credential, with the values it has on that day; None when nothing can be.

    Raises `ServerError`, `TemporarilyUnavailableError` when that cannot be found out.
    """
    query = request.query
    with our_fault():
        offer, found, same = _at_best(query, credentials.credential_type(), _authorities(query))
        if not same:
            found = evaluation.select(query, offer, credentials.whole(credential, today=today))
    return found if found and _binds_all(request, found) else None


def by_anyone(request: AuthorizationRequest) -> bool:
    """Whether some holder could answer: if not, nobody need be verified for it. Raises as `selection`."""
    query = request.query
    with our_fault():
        _offer, found, _same = _at_best(query, credentials.credential_type(), _authorities(query))
    return found is not None and _binds_all(request, found)


@contextmanager
def our_fault() -> Iterator[None]:
    """Trouble with keys is the service's fault: it is logged, and the relying party gets a server error."""
    try:
        yield
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("request not evaluated")
        raise ServerError from error
    except SignerUnavailableError as error:
        log.exception("request not evaluated")
        raise TemporarilyUnavailableError from error


def _binds_all(request: AuthorizationRequest, found: Selection) -> bool:
    """Whether what is presented answers a credential query that each transaction is to be bound to (§8.4)."""
    answered = set(found.query_ids)
    return all(answered.intersection(value.credential_ids) for value in request.transaction_data)


def _authorities(query: Query) -> frozenset[str]:
    """Who vouches for what there is; looked up only for a query that minds."""
    minds = any(asked.authority_key_ids is not None for asked in query.credentials)
    return active_issuer_key(now=timezone.now()).authority_key_ids if minds else frozenset()


@lru_cache(maxsize=100)  # every presentation passes here three times, and the aliases of scopes are few
def _at_best(
    query: Query, vct: str, authority_key_ids: frozenset[str]
) -> tuple[Offer, Selection | None, bool]:
    """What there is to answer with, what that comes to for anyone at best, and whether for everyone.

    The wanted values make no difference here, so that `1` and `True` may be the same to the cache.
    """
    offer = Offer(vct, authority_key_ids, CLAIMS, credentials.plain_claims().keys())
    same = evaluation.same_for_everyone(query, offer)
    return offer, evaluation.select_for_anyone(query, offer), same
