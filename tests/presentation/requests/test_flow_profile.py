"""The number of calls of one flow, so that it does not grow unnoticed."""

import pytest
from django.db import connection

from tests import flow_profile

# Of Python and built-in functions, on PostgreSQL, with the sandbox’s log. More than half render the page.
MOST_CALLS = 12_900


@pytest.mark.django_db(transaction=True)  # the application closes and opens connections
@pytest.mark.skipif(connection.vendor != "postgresql", reason="each row is written by a statement of its own")
def test_a_returning_holders_flow_stays_within_its_calls() -> None:
    found = flow_profile.of_alice()

    assert found.calls <= MOST_CALLS, found.table()
