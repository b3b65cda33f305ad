"""An identity provider that lied: all that it verified on some days is suspended, reinstated or revoked."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from infra.models import AuditLine
from tests.wallet.statuses import INVALID, SUSPENDED, VALID, presented, status_of
from wallet.credential import revocation
from wallet.models import Credential, IdentityVerification, StatusEntry, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
NOON = datetime(2026, 11, 10, 12, tzinfo=UTC)


def verified(wallet: Wallet, provider: str, at: datetime) -> StatusEntry:
    """What the wallet has presented, from a credential that this provider verified then."""
    credential = Credential.objects.get(wallet=wallet)
    IdentityVerification.objects.filter(pk=credential.verification_id).update(provider=provider)
    Credential.objects.filter(pk=credential.pk).update(issued_at=at)
    return presented(wallet)


def run(status: str, *more: str, since: str = "2026-11-10", until: str = "2026-11-11") -> str:
    out = StringIO()
    words = ["--provider", "liar", "--since", since, "--until", until, "--reason", "ticket 4", *more]
    call_command("distrust_provider", status, *words, stdout=out)
    return out.getvalue()


def test_what_the_provider_verified_on_these_days_is_changed_and_nothing_else(
    alice: Wallet, bob: Wallet
) -> None:
    lied, other = verified(alice, "liar", NOON), verified(bob, "honest", NOON)

    assert run("suspended", "--yes") == (
        "1 credentials of holders were verified so.\n"
        "Done: 1 are suspended now. Relying parties see it within a minute.\n"
    )
    assert [status_of(lied), status_of(other)] == [SUSPENDED, VALID]

    run("valid", "--yes")
    assert status_of(lied) == VALID
    run("invalid", "--yes")
    assert [status_of(lied), status_of(other)] == [INVALID, VALID]


@pytest.mark.parametrize(
    ("at", "hit"),
    [
        (NOON.replace(hour=0), True),
        (NOON.replace(hour=0) - timedelta(seconds=1), False),
        (NOON + timedelta(hours=35, minutes=59), True),
        (NOON + timedelta(hours=36), False),
    ],
)
def test_the_days_are_whole_ones_in_utc(alice: Wallet, at: datetime, hit: bool) -> None:
    entry = verified(alice, "liar", at)
    run("suspended", "--yes")
    assert (status_of(entry) == SUSPENDED) is hit


def test_a_run_that_was_broken_off_is_repeated_without_harm(alice: Wallet, bob: Wallet) -> None:
    entries = [verified(alice, "liar", NOON), verified(bob, "liar", NOON)]
    first = Credential.objects.get(wallet=alice)
    revocation.suspend(first, actor="x", reason="x", now=NOON)
    assert "Done: 1" in run("suspended", "--yes")
    assert "Done: 0" in run("suspended", "--yes")
    assert [status_of(entry) for entry in entries] == [SUSPENDED, SUSPENDED]


def test_without_yes_it_only_counts_and_the_record_names_provider_and_days(alice: Wallet) -> None:
    entry = verified(alice, "liar", NOON)
    with pytest.raises(CommandError, match="Nothing was changed"):
        run("invalid")
    assert status_of(entry) == VALID
    line = AuditLine.objects.latest("seq")
    assert line.about == "distrust_provider invalid --provider liar --since 2026-11-10 --until 2026-11-11"


def test_days_in_the_wrong_order_are_refused(alice: Wallet) -> None:
    with pytest.raises(CommandError, match="before the first"):
        run("invalid", since="2026-11-12", until="2026-11-11")
