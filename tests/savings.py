"""Fixtures that make every test faster: cheap password hashing, and one search for static files."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import override_settings
from whitenoise.middleware import WhiteNoiseMiddleware


class OneRound(PBKDF2PasswordHasher):
    """The service's own hasher with one iteration; processes of the service can verify its hashes."""

    iterations = 1


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    with override_settings(PASSWORD_HASHERS=[f"{__name__}.OneRound"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Without this each test client would search for 350 static files again."""
    search, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def remembered(self: Any) -> None:
        if self.static_prefix not in found:
            search(self)
            found[self.static_prefix] = dict(self.files)
        self.files.update(found[self.static_prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remembered)
        yield
