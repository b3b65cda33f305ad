"""One request to another wallet, and what is read from a response to it."""

from datetime import UTC, datetime
from typing import Any

from tests.wallet.providers.pids import PID_ISSUER, world
from wallet.providers.other_wallet import responses
from wallet.providers.other_wallet.request_objects import query
from wallet.providers.other_wallet.responses import AnswerError, UnsuitableError
from wallet.providers.other_wallet.transactions import LINK, Transaction
from wallet.providers.other_wallet.trust_anchors import TrustAnchors

CLIENT = "x509_hash:us"
NOW = datetime.now(UTC)
TRANSACTION = Transaction.begin(LINK, client_id=CLIENT, now=NOW)
REQUEST = {
    "client_id": CLIENT,
    "nonce": TRANSACTION.nonce,
    "state": TRANSACTION.state,
    "dcql_query": query(()),
    "client_metadata": {"jwks": {"keys": [{k: v for k, v in TRANSACTION.key.items() if k != "d"}]}},
}


def read(response: str) -> Any:
    """The person that the response names, or None if the response is refused."""
    anchors = TrustAnchors([(world().authority.certificate, [PID_ISSUER])])
    try:
        return responses.read(response, TRANSACTION, anchors, now=datetime.now(UTC)).person
    except (AnswerError, UnsuitableError):
        return None
