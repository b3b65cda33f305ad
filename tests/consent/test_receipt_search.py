"""Receipts are searched by requester and date, within one wallet, also where there are ten thousand."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from consent import decisions, receipts
from consent.forms import SearchForm
from consent.models import Consent
from consent.receipts import PAGE_SIZE, Cursor, Search
from tests.consent.copies import add_copies, analyse
from tests.consent.questions import ACME, put
from wallet.models import Wallet

pytestmark = pytest.mark.slow

ADDRESS = "/wallet/history/"
SHOP = replace(ACME, name="Straßencafé Ürün GmbH", domain="shop.example")
DAY = timedelta(days=1)


def answered(wallet, requester=ACME, at=None):
    """The receipt of a request that the holder declined at this time."""
    consent = put(wallet, requester=requester)
    decisions.decline(consent.id, wallet, now=timezone.now())
    Consent.objects.filter(id=consent.id).update(decided_at=at or timezone.now())
    return str(consent.id)


def shown(client, **query):
    """The receipts on the page for this search."""
    response = client.get(ADDRESS, query)
    assert response.status_code == 200
    return re.findall(r'<h2 id="receipt-([0-9a-f-]{36})"', response.content.decode())


@pytest.mark.parametrize(
    "words",
    ["Straßencafé", "STRASSENCAFÉ ürün", "café", "SHOP.example", "shop.", "ÜRÜN", "  café  ", "cafe\u0301"],
)
def test_a_requester_is_found_by_a_part_of_its_name_or_domain_in_any_case(holder, alice, words):
    found, _other = answered(alice, SHOP), answered(alice)
    assert shown(holder, requester=words) == [found]


@pytest.mark.parametrize("words", ["%", "_", "\\", "'", '"', "' OR 1=1 --", "acme%bank"])
def test_words_are_searched_as_they_are(holder, alice, words):
    answered(alice)
    assert shown(holder, requester=words) == []


def test_a_search_finds_nothing_of_other_wallets(holder, alice, bob):
    mine, his = answered(alice), answered(bob)
    place = Cursor.of(Consent.objects.get(id=his))
    assert shown(holder, requester="acme") == [mine]
    for name in ("older", "newer"):
        assert his not in shown(holder, **{name: str(place)})
        assert his not in shown(holder, requester="acme", **{name: str(place)})


def test_days_are_those_of_the_zone_of_the_person(holder, alice):
    late = answered(
        alice, at=datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    )  # the 10th in Paris, the 9th in New York
    early = answered(
        alice, at=datetime(2026, 3, 9, 3, 30, tzinfo=UTC)
    )  # the 9th in Paris, the 8th in New York
    day = {"since": "2026-03-09", "until": "2026-03-09"}
    assert shown(holder, **day) == [late, early]  # UTC, as the page shows without scripts
    assert shown(holder, **day, zone="Europe/Paris") == [early]
    assert shown(holder, **day, zone="America/New_York") == [late]
    assert shown(holder, since="2026-03-10") == []
    assert shown(holder, until="2026-03-08") == []
    assert shown(holder, since="2026-03-09") == [late, early]


@pytest.mark.parametrize(
    "zone", ["../../etc/passwd", "/etc/localtime", "Europe", "Mars/Olympus", "x" * 5000, "a\0b"]
)
def test_a_zone_that_there_is_not_is_utc(holder, alice, zone):
    found = answered(alice, at=datetime(2026, 3, 9, 23, 30, tzinfo=UTC))
    response = holder.get(ADDRESS, {"since": "2026-03-09", "until": "2026-03-09", "zone": zone})
    if response.status_code == 200:
        assert found in response.content.decode()
    else:
        assert "\0" in zone


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"since": "yesterday"}, "Enter a date with year, month and day, such as 2026-11-22."),
        ({"until": "2026-02-30"}, "Enter a date with year, month and day, such as 2026-11-22."),
        ({"since": "0001-01-01"}, "Enter a date between 2000 and 2100."),
        ({"until": "9999-12-31"}, "Enter a date between 2000 and 2100."),
        ({"since": "2026-03-10", "until": "2026-03-09"}, "The last day is before the first."),
        ({"requester": "x" * 101}, "Enter at most 100 characters."),
    ],
)
def test_a_search_that_cannot_be_says_why_and_shows_no_receipts(holder, alice, query, problem):
    receipt = answered(alice)
    response = holder.get(ADDRESS, query)
    page = response.content.decode()
    assert response.status_code == 422
    assert "<title>Error: Your receipts" in page
    assert page.count(problem) == 2, "in the summary and at the field"
    assert receipt not in page


def test_a_search_that_finds_nothing_says_so_and_leads_back_to_all(holder, alice):
    answered(alice)
    page = holder.get(ADDRESS, {"requester": "nobody"}).content.decode()
    assert "No receipt matches" in page
    assert f'<a href="{ADDRESS}">Show all receipts</a>' in page


def test_what_was_typed_is_shown_as_text(holder, alice):
    answered(alice)
    page = holder.get(ADDRESS, {"requester": '"><script>x</script>'}).content.decode()
    assert "<script>x" not in page


def test_the_links_to_other_pages_keep_the_search(holder, alice):
    now = timezone.now()
    expected = [answered(alice, SHOP, at=now - number * DAY / 10) for number in range(2 * PAGE_SIZE + 3)]
    answered(alice, at=now)
    address, seen = f"{ADDRESS}?requester=caf%C3%A9&zone=Europe/Paris", []
    while address:
        page = holder.get(address).content.decode()
        seen += re.findall(r'<h2 id="receipt-([0-9a-f-]{36})"', page)
        onwards = re.findall(r'href="([^"]*)" rel="next"', page)
        address = unescape(onwards[0]) if onwards else ""
    assert seen == expected


# --- Places -------------------------------------------------------------------------------------------------


def test_receipts_of_the_same_moment_are_each_shown_once(holder, alice):
    at = timezone.now()
    ids = {answered(alice, at=at) for _ in range(2 * PAGE_SIZE + 1)}
    seen, place = [], None
    while True:
        page = receipts.page(alice, Search(), older=place)
        seen += [str(row.id) for row in page.rows]
        if not (place := page.older):
            break
    assert len(seen) == len(ids)
    assert set(seen) == ids


def test_going_back_leads_to_the_same_pages(alice, db):
    now = timezone.now()
    for number in range(3 * PAGE_SIZE):
        answered(alice, at=now - timedelta(minutes=number // 2))
    first = receipts.page(alice, Search())
    second = receipts.page(alice, Search(), older=first.older)
    third = receipts.page(alice, Search(), older=second.older)
    assert third.older is None
    assert receipts.page(alice, Search(), newer=third.newer) == second
    assert receipts.page(alice, Search(), newer=second.newer).rows == first.rows
    assert first.newer is None


@given(st.text(max_size=60) | st.from_regex(r"[0-9]{1,20}\.[0-9a-f]{30,34}", fullmatch=True))
def test_a_place_is_read_from_any_text_or_is_none(text):
    place = Cursor.parse(text)
    assert place is None or Cursor.parse(str(place)) == place


@given(st.datetimes(datetime(1971, 1, 1), datetime(3000, 1, 1), timezones=st.just(UTC)))
def test_a_place_says_the_moment_to_the_microsecond(at):
    place = Cursor(at, uuid4())
    assert Cursor.parse(str(place)) == place


@given(st.dictionaries(st.sampled_from(["requester", "since", "until", "zone"]), st.text(max_size=120)))
def test_every_search_is_either_valid_or_says_why(query):
    form = SearchForm(query)
    assert form.search if form.is_valid() else form.errors


@given(
    st.dates(datetime(2000, 1, 1).date(), datetime(2100, 12, 31).date()),
    st.sampled_from(["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata", "UTC", ""]),
)
def test_every_day_of_every_zone_can_be_searched(day, zone):
    form = SearchForm({"since": day.isoformat(), "until": day.isoformat(), "zone": zone})
    assert form.is_valid()
    search = form.search
    assert (
        timedelta(hours=22)
        < search.until.astimezone(UTC) - search.since.astimezone(UTC)
        < timedelta(hours=49)
    )


# --- Ten thousand -------------------------------------------------------------------------------------------


@pytest.fixture
def ten_thousand(alice, bob):
    """Ten thousand receipts of Alice, a hundred of them of the shop, and as many of Bob."""
    now = timezone.now()
    for wallet in (alice, bob):
        declined = {"wallet_id": wallet.id, "decision": Consent.Decision.DECLINED}
        for requester, count, minutes in ((ACME, 9_900, 1), (SHOP, 100, 100)):
            times = [now - timedelta(minutes=minutes * number) for number in range(count)]
            rows = [declined | {"decided_at": decided_at} for decided_at in times]
            add_copies(put(alice, requester=requester), rows)
    return Wallet.objects.get(id=alice.id)


@pytest.mark.slow
def test_each_page_of_ten_thousand_takes_four_statements_and_none_that_counts_or_skips(
    holder, ten_thousand, statements
):
    last = Cursor(timezone.now() - timedelta(minutes=9_000), uuid4())
    for query in (
        {},
        {"older": str(last)},
        {"newer": str(last)},
        {"requester": "shop"},
        {"since": "2020-01-01"},
    ):
        with statements() as made:
            assert len(shown(holder, **query)) == PAGE_SIZE
        assert len(made.texts) == 4, made.texts
        assert "COUNT(" not in "".join(made.texts)
        assert "OFFSET" not in "".join(made.texts)


@pytest.mark.postgresql
def test_the_pages_of_ten_thousand_are_found_by_the_index_of_their_order(ten_thousand):
    analyse()
    now = timezone.now()
    place = Cursor(now - timedelta(minutes=9_000), uuid4())
    days = Search(since=now - 3 * DAY, until=now - 2 * DAY)
    rows = [receipts.matching(ten_thousand, search) for search in (Search(), days)]
    for query in (*rows, rows[0].filter(receipts._older(place))):
        plan = query.order_by("-decided_at", "-id")[: PAGE_SIZE + 1].explain()
        assert "consent_receipts_in_order" in plan, plan
        assert "Sort" not in plan, plan
    # For rare words the database may rather sort the few of this wallet that it found.
    shop = receipts.matching(ten_thousand, Search(requester="shop"))
    for query in (shop, shop.filter(receipts._older(place))):
        plan = query.order_by("-decided_at", "-id")[: PAGE_SIZE + 1].explain()
        assert "Index Cond: (" in plan, plan
        assert "Seq Scan" not in plan, plan
    back = rows[0].filter(receipts._newer(place)).order_by("decided_at", "id")[: PAGE_SIZE + 1].explain()
    assert "Scan Backward using consent_receipts_in_order" in back, back


# --- One receipt --------------------------------------------------------------------------------------------


def test_a_receipt_of_somebody_else_or_of_an_open_question_is_not_found(holder, alice, bob):
    for number in (answered(bob), put(alice).id, uuid4()):
        assert holder.get(f"{ADDRESS}{number}/").status_code == 404


def test_a_receipt_is_shown_to_nobody_who_is_not_signed_in(client, alice):
    response = client.get(f"{ADDRESS}{answered(alice)}/")
    assert (response.status_code, response.headers["Location"]) == (303, "/wallet/sign-in/")


def test_a_receipt_names_both_parties_the_time_and_its_number_and_is_kept_by_no_cache(holder, alice):
    number = answered(alice, replace(ACME, receiver="answers.bank.example"))
    response = holder.get(f"{ADDRESS}{number}/")
    page = response.content.decode()
    for text in ("Acme Bank", "bank.example", alice.email, number, "UTC</time>", "answers.bank.example"):
        assert text in page
    assert "no-store" in response.headers["Cache-Control"]
