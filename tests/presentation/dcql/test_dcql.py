"""Scopes as aliases of queries on the one credential."""

import re

import pytest

from presentation.dcql import queries
from presentation.dcql.evaluation import Offer, select_for_anyone
from presentation.dcql.queries import BASIC, SCOPES, CredentialQuery, Query, query_for
from wallet.claims import CLAIMS

TABLE = {
    "name": CredentialQuery.for_paths("name", ("given_name",), ("family_name",)),
    "age": CredentialQuery.for_paths("age", ("age_equal_or_over", "18"), ("given_name",)),
}


def paths(query: Query) -> tuple[object, ...]:
    offer = Offer("type", (), CLAIMS, ())
    selection = select_for_anyone(query, offer)
    assert selection
    return selection.claims


def test_the_basic_scope_asks_what_the_contract_says() -> None:
    query = query_for([BASIC])

    assert query.credential_ids == ("basic",)
    assert paths(query) == (("given_name",), ("family_name",), ("age_equal_or_over", "18"))


def test_several_scopes_are_united_in_the_order_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SCOPES", TABLE)
    query = query_for(["age", "name"])

    assert query.credential_ids == ("age", "name")
    assert paths(query) == (("age_equal_or_over", "18"), ("given_name",), ("family_name",))


def test_a_scope_named_twice_counts_once() -> None:
    assert query_for([BASIC, BASIC]) == query_for([BASIC])


def test_an_unknown_scope_is_no_query() -> None:
    with pytest.raises(KeyError):
        query_for(["other"])


def test_a_query_without_scopes_selects_nothing() -> None:
    assert select_for_anyone(query_for([]), Offer("type", (), CLAIMS, ())) is None


def test_query_ids_are_unique_over_all_scopes_and_of_the_allowed_form() -> None:
    ids = [query.id for query in SCOPES.values()]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", query_id) for query_id in ids)


def test_every_scope_asks_for_claims_and_none_twice() -> None:
    for query in SCOPES.values():
        assert query.claims
        assert len(set(query.claims)) == len(query.claims)
