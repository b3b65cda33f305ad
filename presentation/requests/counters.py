"""What the presentation flow counts for monitoring: requests, questions and answers.

Each function is called where that happens, and takes the client ID of the registered relying party.
"""

from infra.counts.counting import Counter

TOO_MANY = "too_many_requests"
REFUSED, UNTRUSTED = "refused", "untrusted"  # in place of the first step of a request that needs none
_PARTIES = {"relying_party": 50}  # how many relying parties are counted under their client id

RECEIVED = Counter(
    "authorization_requests",
    "Authorization requests, by the first step that they need: sign_in, enroll (verify the identity), "
    "consent, unavailable; or refused with an error, or untrusted, which only a page says. The first 50 "
    "relying parties are named, all others are `other`.",
    *("relying_party", "step"),
    bounded=_PARTIES,
)
ASKED = Counter(
    "consent_questions", "Holders who were asked for their consent.", "relying_party", bounded=_PARTIES
)
ANSWERED = Counter(
    "authorization_answers",
    "Answers to authorization requests: shared, the error that was sent, or too_many_requests if a limit "
    "refused the request.",
    *("relying_party", "outcome"),
    bounded=_PARTIES,
)


def count_request(client_id: str, first_step: str) -> None:
    """Counts a new request by the first step that it needs, or as REFUSED or UNTRUSTED.

    client_id: empty for an untrusted request whose relying party is not known.
    """
    RECEIVED.add(client_id, first_step)


def count_question(client_id: str) -> None:
    """Counts a question that was put to a holder."""
    ASKED.add(client_id)


def count_shared(client_id: str) -> None:
    """Counts an answer with a presentation."""
    ANSWERED.add(client_id, "shared")


def count_error(client_id: str, error: str) -> None:
    """Counts an answer with this error code; TOO_MANY if a limit refused the request."""
    ANSWERED.add(client_id, error)
