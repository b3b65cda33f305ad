"""Whether a request can be answered, and with what: its query held against the credential (OpenID4VP §6.4).

What depends on a holder is found out only once they are signed in, and told to nobody but them (§15.4.1).
"""

from datetime import date

import structlog
from django.utils import timezone

from keys.certificate_chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.sealing import SealError
from presentation import dcql_evaluation
from presentation.authorization_request import AuthorizationRequest
from presentation.dcql import Query
from presentation.dcql_evaluation import Offer, Selection
from presentation.errors import ServerError
from wallet import credentials
from wallet.claims import CLAIMS
from wallet.models import Credential

log = structlog.get_logger(__name__)


def selection(request: AuthorizationRequest, credential: Credential, *, today: date) -> Selection | None:
    """What is presented of this credential, with the values it has on that day; None when nothing can be.

    Raises `ServerError` when that cannot be found out.
    """
    try:
        offer = _offer(request.query)
        if dcql_evaluation.same_for_everyone(request.query, offer):
            found = dcql_evaluation.select_for_anyone(request.query, offer)
        else:
            found = dcql_evaluation.select(request.query, offer, credentials.whole(credential, today=today))
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("query not evaluated")
        raise ServerError from error
    return found if found and _binds_all(request, found) else None


def by_anyone(request: AuthorizationRequest) -> bool:
    """Whether some holder could answer: if not, nobody need be verified for it. Raises `ServerError`."""
    try:
        found = dcql_evaluation.select_for_anyone(request.query, _offer(request.query))
    except (NoSigningKeyError, BrokenChainError, SealError) as error:
        log.exception("query not evaluated")
        raise ServerError from error
    return found is not None and _binds_all(request, found)


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
