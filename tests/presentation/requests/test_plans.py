"""The statements of the flow use the intended indexes on a database that was never analysed.

PostgreSQL keeps the plan of a prepared statement, so one that was chosen without statistics stays for long.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from presentation.models import Interaction, RelyingParty
from tests.presentation.requests.deciding import ask, url_of_interaction
from wallet.models import Wallet
from wallet.status_lists import upkeep

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
TYPES = {int: "integer", datetime: "timestamptz", UUID: "uuid", bool: "boolean"}
GROW = (  # tables with a row for each holder or request
    "consent_consent",
    "presentation_interaction",
    "presentation_redirecturi",
    "presentation_relyingparty",
    "wallet_credential",
    "wallet_holdersession",
    "wallet_statusentry",
    "wallet_wallet",
)


INTENDED = {
    "consent_consent_pkey",
    "consent_last_shared_with",
    "presentation_interaction_asked",
    "presentation_interaction_pkey",
    "presentation_nonce_presented_once",
    "presentation_redirecturi_relying_party_id_8f3a0291",
    "presentation_relyingparty_client_id_17c1c0dd_like",
    "presentation_relyingparty_pkey",
    "wallet_credential_wallet_id_key",
    "wallet_holdersession_digest_41b194ed_like",
    "wallet_status_entry_given_once",
    "wallet_wallet_pkey",
}


@pytest.fixture
def never_analysed(db: None) -> None:
    """Empty tables of which PostgreSQL knows nothing yet; undone with the test.

    Other tests leave indexes behind that are much larger than their tables.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(GROW)} CASCADE")
        cursor.execute("DELETE FROM pg_statistic")
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")


@pytest.fixture
def sent(
    never_analysed: None,
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: Callable[..., Any],
) -> Any:
    """The statements of one flow with their parameters, after one that filled the caches."""
    upkeep.keep_open(now=timezone.now())
    sign_in(alice)
    ask(client, acme_bank, nonce="warms-up-what-is-cached")
    client.post(url_of_interaction(), {"decision": "share"})
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        statements.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        client.get(ask(client, acme_bank))  # once more at the page's own address
    asked = url_of_interaction(Interaction.objects.get(outcome=""))
    with connection.execute_wrapper(note):
        client.post(asked, {"decision": "share"})
    return statements


def plan_of(sql: str, parameters: Any) -> Any:
    """The plan that serves every execution of the prepared statement."""
    names = list(parameters) if isinstance(parameters, dict) else list(range(len(parameters)))
    values = [parameters[name] for name in names]
    numbers = iter(range(1, len(values) + 1))

    def numbered(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        return f"${names.index(found[1]) + 1 if found[1] else next(numbers)}"

    prepared = re.sub(r"%s|%%|%\((\w+)\)s", numbered, sql)
    types = ", ".join(TYPES.get(type(value), "unknown") for value in values)
    nothing = ", ".join("NULL" for _ in parameters)
    with connection.cursor() as cursor:
        cursor.execute(f"PREPARE looked_at ({types}) AS {prepared}".replace("%", "%%"), [])
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked_at ({nothing})")
        plan = cursor.fetchone()[0]
        cursor.execute("DEALLOCATE looked_at")
    return json.loads(plan) if isinstance(plan, str) else plan


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a plan."""
    if isinstance(plan, dict):
        if "Node Type" in plan:
            yield plan
        for member in plan.values():
            yield from nodes(member)
    elif isinstance(plan, list):
        for member in plan:
            yield from nodes(member)


def test_no_statement_of_the_flow_walks_a_table_that_grows(sent: Any) -> None:
    assert len(sent) == 7  # three of the question's own page
    for sql, parameters in sent:
        walked = [
            node["Relation Name"]
            for node in nodes(plan_of(sql, parameters))
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROW
        ]
        assert walked == [], sql


def test_each_row_is_found_by_the_index_that_is_made_for_it(sent: Any) -> None:
    used = {
        (node["Relation Name"], node["Index Name"])
        for sql, parameters in sent
        for node in nodes(plan_of(sql, parameters))
        if "Index Name" in node and "Relation Name" in node
    }
    assert {index for table, index in used if table in GROW} == INTENDED
