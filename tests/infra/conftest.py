"""Fixtures of the apps above that tests of `infra` use as well."""

from tests.keys.conftest import _fresh_documents, at_once, now  # noqa: F401
from tests.wallet.conftest import nora  # noqa: F401
