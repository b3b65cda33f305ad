"""Errands: the paths that they accept, and their expiry."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from tests.wallet.browser_errands import make_errand
from wallet import errands
from wallet.errands import ErrandGoneError
from wallet.models import Errand


@pytest.mark.parametrize("place", ["return_to", "leave_to"])
@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "/\\evil.example/", "///evil.example", "done/", ""],
)
def test_an_errand_leads_to_paths_on_this_host_only(
    db: None, client: Client, now: datetime, place: str, address: str
) -> None:
    with pytest.raises(ValueError, match="must be paths on this host"):
        make_errand(client, now=now, **{place: address})
    assert not Errand.objects.exists()


def test_an_errand_is_gone_from_the_instant_at_which_it_expires(errand: Errand) -> None:
    before = errand.expires_at - timedelta(microseconds=1)
    assert errands.recall(errand.id, errand.browser, before) == errand
    with pytest.raises(ErrandGoneError) as gone:
        errands.recall(errand.id, errand.browser, errand.expires_at)
    assert gone.value.errand == errand
