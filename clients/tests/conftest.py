"""What the tests with a running service share."""

from typing import Any

import pytest
from django.utils import timezone

from keys.models import Authority, StatementKey
from keys.rotation import due_steps


@pytest.fixture
def root(service: Any, signing_key: Any) -> str:
    """The root certificate of the running service, which can sign credentials and statements."""
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    return str(Authority.objects.get().root_pem)
