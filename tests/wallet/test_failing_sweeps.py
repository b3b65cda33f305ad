"""One row that fails, or one job: the sweep does the rest, logs the failure without its text, and fails."""

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection

from infra.models import LastRun
from tests.failing_rows import refusing
from tests.people import BOB
from tests.wallet.attempts import attempt_in
from wallet.account.closing import closures
from wallet.models import (
    Credential,
    IdentityVerification,
    Recovery,
    Wallet,
    WalletClosure,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
DAY = timedelta(days=1)
COMMAND = "sweep_identity_verifications"


def swept() -> str:
    """What the command wrote; it must have failed."""
    out = StringIO()
    with pytest.raises(CommandError, match="^Failed: .* The log says why"):
        call_command(COMMAND, stdout=out)
    assert LastRun.objects.get(command=COMMAND).failures == 1
    return out.getvalue()


@pytest.fixture
def due(alice: Wallet, bob: Wallet, nora: Wallet, now: datetime) -> dict[str, Any]:
    """One row that is due in each job, and beside it a wallet of Bob that is to close."""
    Credential.objects.filter(wallet=alice).update(issued_at=now - 360 * DAY, expires_at=now + 5 * DAY)
    closures.ask(bob, now=now - DAY)
    zoe = Wallet.objects.create(email="zoe@example.org", created_at=now)
    verified = IdentityVerification.objects.get(wallet=alice)
    return {
        "an idle check": attempt_in("started", nora, now - DAY),
        "an e-mail about the end": Credential.objects.get(wallet=alice),
        "an e-mail about an outcome": attempt_in("declined", nora, now, notice_due="declined"),
        "a move": Recovery.objects.create(
            new=nora,
            old=alice,
            named="",
            state="waiting",
            verification=verified,
            asked_at=now - DAY,
            matched_at=now - DAY,
            due_at=now + 6 * DAY,
        ),
        "another closing": closures.ask(zoe, now=now - 2 * DAY),
    }


@pytest.mark.parametrize(
    "job",
    [
        *("an idle check", "an e-mail about the end", "an e-mail about an outcome"),
        *("a move", "another closing"),
    ],
)
def test_one_row_that_fails_keeps_nothing_else_from_being_done(
    due: dict[str, Any], job: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with refusing(due[job]):
        swept()

    assert not Wallet.objects.filter(email=BOB).exists()
    done = {
        "an idle check": IdentityVerification.objects.filter(state="abandoned").exists(),
        "an e-mail about the end": Credential.objects.filter(notice="ends_7").exists(),
        "an e-mail about an outcome": not IdentityVerification.objects.exclude(notice_due="").exists(),
        "a move": Recovery.objects.filter(notices=1).exists(),
        "another closing": WalletClosure.objects.filter(closed_at__isnull=False).count() == 2,
    }
    assert [name for name, went in done.items() if not went] == [job]
    log = capsys.readouterr().err
    assert str(due[job].pk) in log
    assert "RaiseException" in log
    assert "Petronella" not in log


def test_once_nothing_fails_the_run_counts(due: dict[str, Any]) -> None:
    with refusing(due["a move"]):
        swept()
    call_command(COMMAND, stdout=StringIO())
    assert LastRun.objects.get(command=COMMAND).failures == 0


def test_a_job_that_cannot_even_look_keeps_no_other_from_its_work(
    due: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE wallet_formeraddress RENAME TO away")
        cursor.execute("ALTER TABLE wallet_recovery RENAME TO away_too")
    try:
        written = swept()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE away RENAME TO wallet_formeraddress")
            cursor.execute("ALTER TABLE away_too RENAME TO wallet_recovery")

    assert "1 abandoned" in written
    assert "e-mails" in written
    assert "UndefinedTable" in capsys.readouterr().err
    assert WalletClosure.objects.filter(finished_at=None, closed_at=None).count() == 2, "it needs both tables"
    assert [letter.to for letter in mail.outbox] != []
