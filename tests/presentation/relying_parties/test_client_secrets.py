"""Client secrets: what is stored, two at a time, and the overlap."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from presentation.models import ClientSecret, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.authentication.client_secrets import (
    LIFETIME,
    OVERLAP,
    TwoSecretsError,
    rotate,
)
from tests.wallet.conftest import together

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def works(party: RelyingParty, text: str, *, at: datetime) -> bool:
    return client_secrets.matching(text, client_secrets.live(party, now=at)) is not None


def test_a_secret_has_256_random_bits_and_only_its_digest_is_kept(acme_bank: RelyingParty) -> None:
    first, second = (rotate(acme_bank, now=NOW) for _ in range(2))

    assert len(first.text) == len(second.text) == 43
    assert first.text != second.text
    row = ClientSecret.objects.values().get(pk=first.row.pk)
    assert row["digest"] == sha256(first.text.encode()).hexdigest()
    assert first.text not in str(row) + repr(first) + repr(first.row) + str(first.row)
    assert row["expires_at"] <= NOW + LIFETIME


def test_the_secret_before_works_on_for_a_week_and_then_ends(acme_bank: RelyingParty) -> None:
    old = rotate(acme_bank, now=NOW).text
    later = NOW + timedelta(days=100)
    new = rotate(acme_bank, now=later).text

    for moment, expected in (
        (later, True),
        (later + OVERLAP - timedelta(seconds=1), True),
        (later + OVERLAP, False),
    ):
        assert works(acme_bank, old, at=moment) is expected
        assert works(acme_bank, new, at=moment)
    assert not works(acme_bank, new, at=later + LIFETIME)


def test_an_overlap_does_not_make_a_secret_live_longer(acme_bank: RelyingParty) -> None:
    old = rotate(acme_bank, now=NOW - LIFETIME + timedelta(days=2))
    rotate(acme_bank, now=NOW)
    old.row.refresh_from_db()

    assert old.row.expires_at == NOW + timedelta(days=2)


def test_a_third_secret_has_to_wait_and_changes_nothing(acme_bank: RelyingParty) -> None:
    first, second = (rotate(acme_bank, now=NOW) for _ in range(2))
    before = list(ClientSecret.objects.order_by("id").values())
    with pytest.raises(TwoSecretsError):
        rotate(acme_bank, now=NOW + timedelta(days=1))
    assert list(ClientSecret.objects.order_by("id").values()) == before

    third = rotate(acme_bank, now=NOW + OVERLAP)
    assert not works(acme_bank, first.text, at=NOW + OVERLAP)
    assert works(acme_bank, second.text, at=NOW + OVERLAP)
    assert works(acme_bank, third.text, at=NOW + OVERLAP)


def test_without_an_overlap_everything_before_ends_at_once(acme_bank: RelyingParty) -> None:
    old = [rotate(acme_bank, now=NOW).text for _ in range(2)]
    new = rotate(acme_bank, now=NOW, overlap=timedelta(0))

    assert not any(works(acme_bank, text, at=NOW) for text in old)
    assert works(acme_bank, new.text, at=NOW)


def test_an_ended_secret_frees_its_slot(acme_bank: RelyingParty) -> None:
    first, second = (rotate(acme_bank, now=NOW) for _ in range(2))
    assert client_secrets.end(first.row, now=NOW)
    assert not client_secrets.end(first.row, now=NOW)

    rotate(acme_bank, now=NOW)
    assert works(acme_bank, second.text, at=NOW)
    assert not works(acme_bank, first.text, at=NOW)


def test_relying_parties_have_secrets_of_their_own(
    acme_bank: RelyingParty, corner_shop: RelyingParty
) -> None:
    secret = rotate(acme_bank, now=NOW)
    rotate(corner_shop, now=NOW, overlap=timedelta(0))

    assert works(acme_bank, secret.text, at=NOW)
    assert not works(corner_shop, secret.text, at=NOW)


@pytest.mark.parametrize("slot", [0, 2])
def test_the_database_itself_keeps_a_third_out(acme_bank: RelyingParty, slot: int) -> None:
    for _ in range(2):
        rotate(acme_bank, now=NOW)
    times = {"created_at": NOW, "expires_at": NOW + LIFETIME}
    with pytest.raises(IntegrityError), transaction.atomic():
        ClientSecret.objects.create(relying_party=acme_bank, slot=slot, digest="x" * 64, **times)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("overlap", [timedelta(0), OVERLAP])
def test_operators_at_once_never_make_more_than_two(acme_bank: RelyingParty, overlap: timedelta) -> None:
    made: list[Any] = together(lambda _: rotate(acme_bank, now=NOW, overlap=overlap), 8)

    new = [each for each in made if isinstance(each, client_secrets.NewSecret)]
    assert {type(each) for each in made} <= {client_secrets.NewSecret, TwoSecretsError}
    live = client_secrets.live(acme_bank, now=NOW)
    assert 1 <= len(live) <= 2
    assert {row.pk for row in live} <= {each.row.pk for each in new}
