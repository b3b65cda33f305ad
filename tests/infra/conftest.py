"""Fixtures of other apps that tests of `infra` use, too."""

from tests.keys.conftest import _fresh_documents, at_once, now  # noqa: F401
