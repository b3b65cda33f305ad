"""Fixtures for tests of several apps."""

import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from tests.people import NORA, give_session, register
from tests.setup_program import ANSWERS, SETUP, Setup, started
from wallet.models import Wallet


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def at_once() -> Callable[..., list[Any]]:
    """Runs calls in threads that start at the same time; gives results and exceptions in their order."""

    def run(*calls: Callable[[], Any]) -> list[Any]:
        barrier, results = Barrier(len(calls)), [None] * len(calls)

        def work(position: int) -> None:
            try:
                connection.ensure_connection()
                barrier.wait(10)
                results[position] = calls[position]()
            except Exception as error:  # noqa: BLE001
                results[position] = error
            finally:
                connection.close()

        threads = [Thread(target=work, args=(position,)) for position in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return results

    return run


@pytest.fixture
def nora(db: None, now: datetime) -> Wallet:
    """The wallet of Nora, who has signed in once and has no credential."""
    return Wallet.objects.create(email=NORA, created_at=now)


@pytest.fixture
def as_alice(page: Any, alice: Wallet, live_server: Any) -> Any:
    """A browser page that is signed in as Alice."""
    give_session(page.context, alice, live_server.url)
    return page


@pytest.fixture
def bank() -> RelyingParty:
    """Acme Bank, registered for every webhook."""
    from tests.presentation.webhooks import opted_in

    party = register("Acme Bank", "https://bank.example/callback")
    opted_in(party, "https://bank.example/hook")
    return party


@pytest.fixture
def petronella(client: Client, bank: RelyingParty, sign_in: Callable[..., Any]) -> Wallet:
    """The wallet of Petronella, with all that can be stored of somebody."""
    from tests.petronella import everything_stored

    return everything_stored(client, bank, sign_in)


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    """Runs `deploy/setup` with a file of answers, in an empty environment, into the folder `made`."""

    def run(form: str, script: Path = SETUP, **answers: str) -> subprocess.CompletedProcess[str]:
        lines = [f"{name}={value}\n" for name, value in (ANSWERS | answers).items() if value]
        text = "\ufeff# as one writes them\n\n" + "".join(lines)  # Windows begins files so
        (tmp_path / "answers").write_text(text, encoding="utf-8", errors="surrogateescape")
        words = ["--for", form, "--answers", str(tmp_path / "answers"), "--into", str(tmp_path / "made")]
        return started(script, *words)

    return run
