"""The numbers of modules, switches and calls of one flow, so that none grows unnoticed."""

import pytest
from django.db import connection

from tests import flow_profile

MOST_MODULES = 49
MOST_SWITCHES = 200
MOST_CALLS = 7_200  # of Python and built-in functions, on PostgreSQL, with the sandbox’s log


@pytest.mark.django_db(transaction=True)  # the application closes and opens connections
def test_a_returning_holders_flow_stays_within_its_modules_switches_and_calls() -> None:
    found = flow_profile.of_alice()

    print(found.table())
    assert len(found.modules) <= MOST_MODULES, found.table()
    if connection.vendor == "postgresql":  # on SQLite each row is written by a statement of its own
        assert found.number_of_switches <= MOST_SWITCHES, found.table()
        assert found.calls <= MOST_CALLS, found.table()
