"""Every worker of every instance publishes the new status of presented credentials."""

from io import StringIO
from itertools import product
from time import monotonic, time

import pytest
from django.core.management import call_command

from tests.journeys.load import Load, jwt_of, patiently
from tests.relying_party import demand, read_jwt, status_in, status_reference
from tests.wallet.statuses import INVALID, SUSPENDED, VALID
from tools.benchmarks.browsers import ORIGIN, Browser
from wallet.models import StatusEntry, Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
Place = tuple[int, str]  # index and address


def test_what_is_taken_back_or_suspended_is_published_by_every_instance_within_a_minute(load: Load) -> None:
    with load:
        load.pause(2)
    first, second, third = (places_of(load, email) for _party, email, _cookies in load.parties)
    everywhere(load, dict.fromkeys([*first, *second, *third], VALID))

    operate("invalid", load.parties[0][1])
    operate("suspended", load.parties[1][1])
    taken_back = take_back_the_newest(load, *load.parties[2][1:])
    changed = monotonic()

    said = dict.fromkeys(first, INVALID) | dict.fromkeys(second, SUSPENDED) | dict.fromkeys(third, VALID)
    assert taken_back in third
    patiently(lambda: everywhere(load, said | {taken_back: INVALID}))
    assert monotonic() - changed < 60


def places_of(load: Load, email: str) -> list[Place]:
    """The status reference of this holder's presentation."""
    tokens = [token for token in load.tokens if token.sent["login_hint"] == email]
    assert tokens
    return [status_reference(jwt_of(token.presentation).payload) for token in tokens]


def operate(status: str, email: str) -> None:
    """As an operator at the shell of a third machine."""
    wallet = Wallet.objects.get(email=email)
    words = ("--wallet", str(wallet.pk), "--reason", "Reported stolen", "--yes")
    call_command("set_credential_status", status, *words, stdout=StringIO())


def take_back_the_newest(load: Load, email: str, cookies: dict[str, str]) -> Place:
    """As the holder on the receipt, at the first instance."""
    entry = StatusEntry.objects.filter(credential__wallet__email=email).latest("id")
    page = f"/wallet/history/{entry.reference}/invalidate/"
    with Browser(load.ports[0], cookies) as browser:
        assert browser.get(page).status == 200
        assert browser.post(page, {}).status == 303
    return entry.idx, f"{ORIGIN}/status-lists/{entry.status_list_id}"


def everywhere(load: Load, said: dict[Place, int]) -> None:
    """Checks that every instance publishes this; asks often enough to reach every worker."""
    for port, address in product(load.ports * 6, {uri for _idx, uri in said}):
        with Browser(port) as browser:
            jwt = read_jwt(browser.get(address.removeprefix(ORIGIN)).body.decode())
        for (idx, uri), status in said.items():
            if uri == address:
                found = status_in(jwt, uri, idx, now=time())
                demand(found == status, "status", f"{idx} is {found}, not {status}")
