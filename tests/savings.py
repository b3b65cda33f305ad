"""Work that every test would do again and none is about: done once here, or with less effort."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import override_settings
from whitenoise.middleware import WhiteNoiseMiddleware


class OneRound(PBKDF2PasswordHasher):
    """The service's own hasher in one round; processes of the service read what it wrote."""

    iterations = 1


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    with override_settings(PASSWORD_HASHERS=[f"{__name__}.OneRound"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_found_once() -> Iterator[None]:
    """Each test client starts the service anew, which looks at each of 350 static files."""
    search, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def remembered(self: Any) -> None:
        if self.static_prefix not in found:
            search(self)
            found[self.static_prefix] = dict(self.files)
        self.files.update(found[self.static_prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remembered)
        yield
