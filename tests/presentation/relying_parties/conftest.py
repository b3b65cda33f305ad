"""Fixtures for the admin of relying parties."""

import pytest
from django.contrib.auth.models import Group

from tests.presentation.relying_parties.operator_roles import make_roles


@pytest.fixture
def _groups() -> None:
    """Creates the roles as the migration does, because emptying the database deletes them."""
    if not Group.objects.exists():
        make_roles()
