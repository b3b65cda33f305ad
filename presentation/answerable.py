"""Whether a request can be answered, and with what: its query held against the credential (OpenID4VP §6.4).

What depends on a holder is found out only once they are signed in, and told to nobody but them (§15.4.1).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import structlog
from django.utils import timezone

from keys.certificate_chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.sealing import SealError
from keys.signer import SignerUnavailableError
from presentation import dcql_evaluation
from presentation.authorization_request import AuthorizationRequest
from presentation.dcql import Query
from presentation.dcql_evaluation import Offer, Selection
from presentation.errors import ServerError, TemporarilyUnavailableError
from wallet import credentials
from wallet.claims import CLAIMS
from wallet.models import Credential

log = structlog.get_logger(__name__)


def require_readable(credential: Credential) -> None:
    """Raises `ServerError` when the credential does not open: a sealing key is missing, or it was changed."""
    with _our_fault():
        credentials.require_readable(credential)


def selection(request: AuthorizationRequest, credential: Credential, *, today: date) -> Selection | None:
    """What is presented of this credential, with the values it has on that day; None when nothing can be.

    Raises `ServerError`, `TemporarilyUnavailableError` when that cannot be found out.
    """
    with _our_fault():
        offer = _offer(request.query)
        if dcql_evaluation.same_for_everyone(request.query, offer):
            found = dcql_evaluation.select_for_anyone(request.query, offer)
        else:
            found = dcql_evaluation.select(request.query, offer, credentials.whole(credential, today=today))
    return found if found and _binds_all(request, found) else None


def by_anyone(request: AuthorizationRequest) -> bool:
    """Whether some holder could answer: if not, nobody need be verified for it. Raises as `selection`."""
    with _our_fault():
        found = dcql_evaluation.select_for_anyone(request.query, _offer(request.query))
    return found is not None and _binds_all(request, found)


@contextmanager
def _our_fault() -> Iterator[None]:
    """Trouble with keys is nobody's fault who asks: told to the log, and home goes that it was ours."""
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


def _offer(query: Query) -> Offer:
    """What there is to answer with; who vouches for it is looked up only for a query that minds."""
    minds = any(asked.authority_key_ids is not None for asked in query.credentials)
    return Offer(
        vct=credentials.credential_type(),
        authority_key_ids=active_issuer_key(now=timezone.now()).authority_key_ids if minds else (),
        claims=CLAIMS,
        plain=credentials.plain_claims().keys(),
    )
