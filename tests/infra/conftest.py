"""Fixtures for the tests of `infra`, which also publish the documents of keys."""

import pytest

from tests.keys.prepared_documents import rebuild


@pytest.fixture(autouse=True)
def _fresh_documents() -> None:
    """Prepared bytes outlive the database of a test, so each test has them rebuilt."""
    rebuild()
