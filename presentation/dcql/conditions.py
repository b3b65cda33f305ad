"""What the answer to a DCQL query tells beside the claims in it (OpenID4VP 1.0 §6.4, §15.4). Pure.

A relying party that accepts several answers sees which one it got, and concludes why it did not get those
that it prefers: somebody who shares a name in place of "is 50 or over" is younger than 50.

Some claims are asked for only if they exist, such as a region in an address. Their absence is seen on the
page that lists what is shared, so it is not among the conditions here.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from presentation.dcql.evaluation import Offer, Selection, can_be_left_out, could_answer, covered, is_there
from presentation.dcql.queries import ClaimsQuery, CredentialQuery, Query


def told_beside(
    query: Query, offer: Offer, whole: Mapping[str, Any], selection: Selection
) -> tuple[ClaimsQuery, ...]:
    """The conditions whose outcome the answer tells although it does not share their claims, each once.

    selection: what `evaluation.select` found for the same query, offer and credential. Everybody in whose
    credential these conditions have the same outcome, and the shared claims the same values, could have
    given this answer. What the holder may leave off tells nothing: nobody sees why it is not there.
    """
    conditions = _Conditions(offer, whole)
    by_id = {credential_query.id: credential_query for credential_query in query.credentials}
    told: dict[ClaimsQuery, None] = {}
    for id in selection.query_ids:
        told |= dict.fromkeys(conditions.of_answered(by_id[id]))
    for id in _passed_over(query, selection.query_ids):
        told |= dict.fromkeys(conditions.of_passed_over(by_id[id]))
    return tuple(told)


class _Conditions:
    """The conditions in the credential queries, and their outcome for one credential."""

    def __init__(self, offer: Offer, whole: Mapping[str, Any]) -> None:
        self.offer = offer
        self.whole = whole

    def of_answered(self, credential_query: CredentialQuery) -> Iterator[ClaimsQuery]:
        """Those of the claim sets before the one that explains the answer to this credential query.

        And of what is shared only with certain values: that it is missing tells that it has another one.
        """
        yield from (claim for claim in credential_query.wished if claim.values and not self._is_met(claim))
        if not credential_query.claim_sets:
            return
        by_id = {claim.id: claim for claim in credential_query.claims}
        options = [[by_id[id] for id in ids] for ids in credential_query.claim_sets]
        answered = next(option for option in options if all(map(self._is_met, option)))
        for ids, option in zip(credential_query.claim_sets, options, strict=True):
            free = {by_id[id] for id in can_be_left_out(ids, credential_query.claim_sets)}
            if set(option) - free <= set(answered) <= set(option):
                # Somebody who has all of this option, and leaves some off, gives the same answer. A path to
                # several claims cannot be left off.
                missing = (claim for claim in option if claim not in answered)
                yield from (claim for claim in missing if len(covered(claim.path, self.offer.claims)) != 1)
                return
            yield from self._telling(option)

    def of_passed_over(self, credential_query: CredentialQuery) -> Iterator[ClaimsQuery]:
        """Those of a credential query that would have been answered if it could be."""
        if could_answer(credential_query, self.offer):
            yield from self._telling(credential_query.claims)

    def _telling(self, claims: Collection[ClaimsQuery]) -> Iterator[ClaimsQuery]:
        """Those that may be the reason for which the credential does not match."""
        return (claim for claim in claims if claim.values or not self._is_met(claim))

    def _is_met(self, claim: ClaimsQuery) -> bool:
        return is_there(claim, self.whole)


def _passed_over(query: Query, answered: Collection[str]) -> Iterator[str]:
    """The ids of the credential queries that come before those that were answered (§6.4.2)."""
    if query.only_one:
        preferred = [
            id for credential_set in query.credential_sets for ids in credential_set.options for id in ids
        ]
        for id in preferred or query.credential_ids:
            if id in answered:
                return
            yield id
        return
    for credential_set in query.credential_sets:
        for ids in credential_set.options:
            if set(ids) <= set(answered):
                break
            yield from (id for id in ids if id not in answered)
