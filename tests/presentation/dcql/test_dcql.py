"""Scopes as aliases of queries on the one credential."""

from presentation.dcql.evaluation import Offer, select_for_anyone
from presentation.dcql.queries import BASIC, ClaimsQuery, CredentialQuery, Query
from presentation.scopes.records import THE_BASIC_SCOPE
from wallet.credential.claims import CLAIMS, ClaimPath


def query_for(id: str, *paths: ClaimPath) -> CredentialQuery:
    """The query for all the claims at `paths`, with any value."""
    return CredentialQuery(id, tuple(ClaimsQuery(path) for path in paths))


NAME = query_for("name", ("given_name",), ("family_name",))
AGE = query_for("age", ("age_equal_or_over", "18"), ("given_name",))


def paths(query: Query) -> tuple[object, ...]:
    offer = Offer("type", (), CLAIMS, {})
    selection = select_for_anyone(query, offer)
    assert selection
    return selection.claims


def test_the_basic_scope_asks_what_the_contract_says() -> None:
    query = Query((THE_BASIC_SCOPE.query,))

    assert THE_BASIC_SCOPE.urn == BASIC == "urn:service:params:scope:verifiable-credentials:basic"
    assert query.credential_ids == ("basic",)
    assert paths(query) == (("given_name",), ("family_name",), ("age_equal_or_over", "18"))


def test_several_scopes_are_united_in_the_order_of_the_request() -> None:
    query = Query((AGE, NAME))

    assert query.credential_ids == ("age", "name")
    assert paths(query) == (("age_equal_or_over", "18"), ("given_name",), ("family_name",))


def test_a_query_without_scopes_selects_nothing() -> None:
    assert select_for_anyone(Query(()), Offer("type", (), CLAIMS, {})) is None
