"""What the tests of the client libraries share: a running service, and the installed packages."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from clients.tests.packages import HOME, LANGUAGES, Installed, Library, install
from keys.models import Authority, StatementKey
from keys.rotation import due_steps
from presentation.models import RelyingParty


@pytest.fixture
def root(service: Any, signing_key: Any) -> str:
    """The root certificate of the running service, which can sign credentials and statements."""
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    return str(Authority.objects.get().root_pem)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module", params=LANGUAGES)
def library(request: pytest.FixtureRequest, installed: Installed) -> Iterator[Library]:
    running = installed.starts(request.param)
    with running.process:  # closes its standard input and waits for its end
        yield running
    assert running.process.returncode == 0


@pytest.fixture
def opened(service: Any, root: str, library: Library) -> Callable[..., Library]:
    """Makes the library's wallet for a relying party; returns the library."""

    def opened(party: RelyingParty, redirect_uri: str = HOME, **options: Any) -> Library:
        facts = {"client_id": party.client_id, "redirect_uri": redirect_uri, "root": root}
        library("open", base_url=service.url, **facts, **options)
        return library

    return opened
