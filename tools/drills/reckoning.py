"""Holds what people and the relying party saw against what the database has stored.

Doubled: the database has two answers or two consents for one request, or two presentations have the same
place in a status list. Unrecorded: the relying party has an answer that the database does not know.
Unnoticed: the database has an answer, the relying party does not, and the person was not told.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import psycopg

from tests.relying_party import RejectedError, RelyingParty, read_jwt, status_reference
from tools.benchmarks.browsers import Answer
from tools.drills.people import Flow, Outcome

PATIENCE = 20.0  # seconds until all documents are served again after a fault

_STORED = """
SELECT i.nonce_digest,
       count(*) FILTER (WHERE i.outcome = 'token') AS tokens,
       count(*) FILTER (WHERE c.decision = 'granted') AS granted
FROM presentation_interaction i LEFT JOIN consent_consent c ON c.id = i.consent_id
WHERE i.nonce_digest = ANY(%s) GROUP BY i.nonce_digest
"""


@dataclass(frozen=True)
class Reckoning:
    """The count of one drill."""

    flows: int
    clean: int
    after_trouble: int
    told: int  # not answered, and the person was told how to go on
    stuck: int
    server_errors: int
    bare: int  # 5xx without a page of ours
    doubled: int
    unrecorded: int
    unnoticed: int
    refused: int  # answers that the relying party did not accept
    troubles: Counter[str] = field(default_factory=Counter)
    last_pages: Counter[str] = field(default_factory=Counter)

    @property
    def sound(self) -> bool:
        """Whether nothing happened that must never happen."""
        return not (self.doubled or self.stuck or self.unrecorded or self.unnoticed or self.refused)

    def more(self, other: "Reckoning") -> "Reckoning":
        """Both together."""
        ours = {name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__}
        return replace(self, **ours)


def reckon(flows: Sequence[Flow], url: str, party: RelyingParty, fetch: Callable[[str], Answer]) -> Reckoning:
    """Counts, and verifies each presentation as the relying party. `fetch` reads a document by nginx."""
    stored = recorded(flows, url)
    answered = [flow for flow in flows if flow.token]
    places = Counter(status_reference(read_jwt(flow.token.split("~")[0]).payload) for flow in answered)
    twice = sum(count - 1 for count in places.values())
    return Reckoning(
        flows=len(flows),
        clean=sum(flow.clean for flow in flows),
        after_trouble=sum(flow.outcome is Outcome.ANSWERED and not flow.clean for flow in flows),
        told=sum(flow.outcome is Outcome.GOES_ON for flow in flows),
        stuck=sum(flow.outcome is Outcome.STUCK for flow in flows),
        server_errors=sum(flow.server_errors for flow in flows),
        bare=sum(flow.bare for flow in flows),
        doubled=twice + sum(max(0, max(found) - 1) for found in stored.values()),
        unrecorded=sum(stored.get(digest(flow), (0, 0)) < (1, 1) for flow in answered),
        unnoticed=sum(
            flow.outcome is Outcome.STUCK and stored.get(digest(flow), (0, 0))[0] > 0 for flow in flows
        ),
        refused=_refused(answered, party, fetch),
        troubles=Counter(trouble for flow in flows for trouble in flow.troubles),
        last_pages=Counter(flow.last_page for flow in flows if flow.last_page and not flow.token),
    )


def recorded(flows: Sequence[Flow], url: str) -> dict[str, tuple[int, int]]:
    """By the digest of the nonce: how many answers the database has, and how many consents."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(_STORED, [[digest(flow) for flow in flows]]).fetchall()
    return {digest: (tokens, granted) for digest, tokens, granted in rows}


def digest(flow: Flow) -> str:
    return hashlib.sha256(flow.nonce.encode()).hexdigest()


def _refused(answered: Sequence[Flow], party: RelyingParty, fetch: Callable[[str], Answer]) -> int:
    """How many presentations the relying party does not accept. All arrived a moment ago."""
    documents: dict[str, bytes] = {}

    def fetched(url: str) -> bytes:
        deadline = time.monotonic() + PATIENCE
        while url not in documents:
            answer = fetch(url)
            if answer.status == 200:
                documents[url] = answer.body
            elif time.monotonic() > deadline:
                raise RuntimeError(f"{url} answered {answer.status}")
            else:
                time.sleep(0.2)
        return documents[url]

    party.fetch = fetched
    return sum(not _accepts(party, flow) for flow in answered)


def _accepts(party: RelyingParty, flow: Flow) -> bool:
    party.sent = {"nonce": flow.nonce}
    try:
        party.verify(flow.token)
    except RejectedError as error:
        flow.troubles.append(f"refused: {error.check}")
        return False
    return True
