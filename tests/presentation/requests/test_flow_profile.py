"""The number of modules and switches of one flow, so that it does not grow unnoticed."""

import pytest

from tests import flow_profile

MOST_MODULES = 50
MOST_SWITCHES = 205


@pytest.mark.django_db(transaction=True)  # the application closes and opens connections
def test_a_returning_holders_flow_stays_within_its_modules_and_switches() -> None:
    found = flow_profile.of_alice()

    print(found.table())
    assert len(found.modules) <= MOST_MODULES, found.table()
    assert found.number_of_switches <= MOST_SWITCHES, found.table()
