"""The page of a question is what Django renders, to the byte, and nothing of who saw it is kept."""

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_type_hints

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from config.operator import Operator
from consent import decisions, question_page
from consent.models import Consent
from consent.question import Requester
from consent.question_page import Question, Shape, pieces, rendered
from infra.paths import path_with_id
from tests.consent.questions import ACME, WIRE, put
from tests.consent.shown import values_on
from tests.people import DETAILS
from wallet.credential import claims
from wallet.credential.claims import CLAIMS, ClaimPath, Identity
from wallet.credential.evidence import Assurance, Verification
from wallet.deadlines import Deadline
from wallet.models import Wallet

NOW = datetime(2027, 2, 1, 9, 30, 0, 123456, tzinfo=UTC)
HOSTILE = (
    "<b>&amp;</b>",
    "%(name)s %s 100%",
    "{{ question.claims }}{0}{name}",
    "\\1\\g<0>",
    "“quoted” \"'",
    "0" * 64,
    '<time datetime="1901-01-02T02:00:00+00:00" data-clock>02:00 UTC</time>',
    "01:01 UTC",
    "مصرف",
)
FORM_TOKEN = re.compile('name="csrfmiddlewaretoken" value="([^"]+)"')

texts = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cf", "Co", "Cn"]), min_size=1, max_size=60
)
names = texts.map(str.strip).filter(bool)
links = st.just("") | texts.map("https://bank.example/{}".format)
requesters = st.builds(
    Requester,
    name=texts,
    domain=texts,
    logo_url=st.just("") | texts.map("/logos/{}".format),
    purpose=st.just("") | texts,
    privacy_policy_url=links,
    terms_url=links,
    receiver=st.just("") | texts,
    sector=st.just("") | texts,
    recognised_by=st.lists(texts, max_size=3).map("\n".join),
)
verifications = st.builds(
    Verification,
    assurance=st.builds(Assurance, trust_framework=st.sampled_from(["eidas", "https://id.example/<b>"])),
    day=st.dates(date(2000, 1, 1), date(2027, 1, 31)),
    method=st.sampled_from(["in_person", "electronic"]),
)
identities = st.builds(
    Identity,
    given_name=names,
    family_name=names,
    birth_date=st.dates(date(1900, 1, 1), date(2026, 1, 1)),
    nationalities=st.lists(st.sampled_from(["GB", "CI", "DE"]), unique=True).map(tuple),
    verification=st.none() | verifications,
    email=st.sampled_from(["", "person@example.org"]),
)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2027, 1, 31), timezones=st.just(UTC))
extensions = st.sampled_from([None, timedelta(0), timedelta(hours=1)])


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A question without transactions, as it is about a person, with values from everywhere."""
    identity = draw(identities)
    paths = draw(st.lists(st.sampled_from(claims.held(identity)), unique=True))
    some = st.frozensets(st.sampled_from(paths)) if paths else st.just(frozenset())
    shared = draw(
        st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2027, 1, 31), timezones=st.just(UTC))
    )
    ends, extension = NOW + draw(st.timedeltas(timedelta(0), timedelta(hours=2))), draw(extensions)
    consent = Consent(
        requester_id=draw(st.sampled_from(["acme", "0123456789abcdef"])),
        requester=draw(requesters).to_json(),
        return_to=f"/interactions/{draw(st.uuids())}/",
        alternatives=draw(st.booleans()),
        requester_since=draw(st.none() | st.dates(date(2020, 1, 1), date(2027, 1, 31))),
        requester_is_unchecked=draw(st.booleans()),
    )
    until = None if extension is None else ends + extension
    return Question(
        consent=consent,
        transactions=(),
        claims=tuple(claims.preview(identity, paths, today=NOW.date())),
        optional=draw(some),
        last_shared_at=shared,
        new=draw(some) if shared else frozenset(),
        deadline=Deadline(ends, until, consent.return_to),
    )


def request_for_page(language: str, question: Question) -> HttpRequest:
    request = RequestFactory().get(path_with_id("consent_review", question.consent.id))
    request.page_language = language  # type: ignore[attr-defined]
    return request


def by_django(request: HttpRequest, question: Question, email: str, token: str) -> str:
    context = {"question": question, "signed_in_email": email, "asks_passkey": False, "csrf_token": token}
    return render_to_string(question_page.TEMPLATE, context, request)


@contextmanager
def stopped_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        yield


@given(questions(), st.sampled_from([code for code, _ in django_settings.LANGUAGES]), st.emails())
def test_the_page_is_what_django_renders(question: Question, language: str, email: str) -> None:
    request = request_for_page(language, question)
    with override(language), stopped_clock():
        for _ in range(2):  # what was kept of the first time is used the second time
            page = rendered(request, question, signed_in_email=email, asks_passkey=False, now=NOW)
            (token,) = set(FORM_TOKEN.findall(page))
            assert page == by_django(request, question, email, token)


PERSON = Identity("Ada", "Lovelace", date(1990, 11, 21), ("GB", "DE"))


def question_with(**changes: Any) -> Question:
    """A question about the names and nationalities of a person, with changes to it or to its row."""
    row = {"alternatives": False, "requester_since": None, "requester_is_unchecked": False}
    row |= {"requester": ACME.to_json(), "requester_id": "acme", "return_to": "/there/"}
    row |= {name: changes.pop(name) for name in row if name in changes}
    identity = changes.pop("identity", PERSON)
    paths = changes.pop("paths", [("given_name",), ("family_name",), ("nationalities",)])
    parts: dict[str, Any] = {
        "transactions": (),
        "claims": tuple(claims.preview(identity, paths, today=NOW.date())),
        "optional": frozenset(),
        "last_shared_at": NOW - timedelta(days=9),
        "new": frozenset(),
        "deadline": Deadline(NOW + timedelta(hours=1), NOW + timedelta(hours=2), "/there/"),
    }
    return Question(consent=Consent(**row), **(parts | changes))


# For every field of a shape, a question that differs from the usual one in nothing else.
DIFFERENT: dict[str, dict[str, Any]] = {
    "language": {},
    "requester_id": {"requester_id": "other"},
    "requester": {"requester": ACME.to_json() | {"purpose": "To close your account"}},
    "requester_since": {"requester_since": date(2025, 1, 1)},
    "requester_is_unchecked": {"requester_is_unchecked": True},
    "alternatives": {"alternatives": True},
    "claims": {"paths": [("given_name",), ("birth_date",), ("nationalities",)]},
    "optional": {"optional": frozenset({("given_name",)})},
    "new": {"new": frozenset({("given_name",)})},
    "told": {"told": (("birth_date",),)},
    "several": {"identity": Identity("Ada", "Lovelace", date(1990, 11, 21), ("GB",))},
    "shared_before": {"last_shared_at": None},
    "extendable": {"deadline": Deadline(NOW, None, "/there/")},
    "may_have_more_time": {"deadline": Deadline(NOW, NOW, "/there/")},
}


def test_every_field_of_a_shape_has_a_question_below() -> None:
    assert DIFFERENT.keys() == get_type_hints(Shape).keys()


@pytest.mark.parametrize("field", DIFFERENT)
def test_a_question_that_differs_in_one_thing_gets_a_page_of_its_own(field: str) -> None:
    question, base = question_with(**DIFFERENT[field]), {}
    if field == "extendable":  # nor was there any more time before
        base = {"deadline": Deadline(NOW, NOW, "/there/")}
    pieces.cache_clear()
    pages, usual = set(), question_with(**base)
    question.consent.id = usual.consent.id  # which is in the path of the page
    for asked, language in ((usual, "en-gb"), (question, "es" if field == "language" else "en-gb")):
        request = request_for_page(language, asked)
        with override(language), stopped_clock():
            page = rendered(request, asked, signed_in_email="ada@example.org", asks_passkey=False, now=NOW)
            (token,) = set(FORM_TOKEN.findall(page))
            assert page == by_django(request, asked, "ada@example.org", token)
            pages.add(page.replace(token, ""))
    assert len(pages) == pieces.cache_info().currsize == 2


def test_what_is_told_is_not_said_to_be_kept() -> None:
    kept = question_with(paths=[("given_name",)]).not_shared
    assert {"Nationality", "Date of birth"} <= set(kept)
    about = (("birth_date",), ("nationality_in", "DE"))
    told = question_with(paths=[("given_name",)], told=about).not_shared
    assert set(kept) - set(told) == {"Nationality", "Date of birth"}


@pytest.mark.parametrize(
    "setting",
    [
        {"OPERATOR": Operator("<b>Other</b>", "https://other.example/", "help@other.example", "1 Road")},
        {"ENVIRONMENT_BANNER": ""},
        {"ENVIRONMENT_BANNER": "<i>Elsewhere</i>"},
    ],
)
def test_the_page_follows_the_settings(
    holder: Client, alice: Wallet, settings: Any, setting: dict[str, Any]
) -> None:
    question = f"/consent/{put(alice).id}/"
    assert holder.get(question).status_code == 200

    for name, value in setting.items():
        setattr(settings, name, value)

    shown = holder.get(question).content.decode()
    elsewhere = holder.get("/wallet/history/").content.decode()
    for part in (r"<footer.*</ul>", r'<div class="banner".*?</p>'):
        assert _of(part, shown) == _of(part, elsewhere)


def _of(part: str, page: str) -> list[str]:
    without_forms = re.sub("<form.*?</form>", "", page, flags=re.DOTALL)
    return re.findall(part, without_forms, re.DOTALL)


@pytest.mark.parametrize("language", ["en-gb", "es"])
@pytest.mark.parametrize("asked", ["the first time", "again", "a payment", "after a refused form"])
def test_through_the_whole_service_the_page_is_the_same(
    holder: Client, alice: Wallet, monkeypatch: Any, language: str, asked: str
) -> None:
    holder.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language
    if asked == "again":
        before = NOW - timedelta(days=3)
        decisions.grant(put(alice, now=before, expires_at=before + timedelta(hours=1)).id, alice, now=before)
    consent = put(alice, transactions=[WIRE] if asked == "a payment" else [])
    address = f"/consent/{consent.id}/" + ("?try_again=1" if asked == "after a refused form" else "")

    pages = []
    for seldom in (question_page._is_seldom, lambda *_: True):
        monkeypatch.setattr(question_page, "_is_seldom", seldom)
        page = holder.get(address)
        seconds = re.sub('data-seconds="[0-9]+"', "", FORM_TOKEN.sub("", page.content.decode()))
        pages.append((seconds, page.headers["Content-Language"], page.headers["Content-Security-Policy"]))

    assert pages[0] == pages[1]
    assert pages[0][1] == language


def test_a_form_that_was_refused_and_a_wallet_that_closes_are_told(holder: Client, alice: Wallet) -> None:
    address = f"/consent/{put(alice).id}/"
    ordinary = holder.get(address).content.decode()
    assert "Please try that again." not in ordinary
    assert "Your wallet closes on" not in ordinary

    assert "Please try that again." in holder.get(f"{address}?try_again=1").content.decode()

    question = question_with()
    request = request_for_page("en-gb", question)
    request.wallet_closes_at = NOW  # type: ignore[attr-defined]
    page = rendered(request, question, signed_in_email="x", asks_passkey=False, now=NOW)
    assert "Your wallet closes on" in page


def test_a_shape_has_room_for_nothing_of_a_person() -> None:
    """The texts of a shape are the language's name, what a relying party registered, and names of claims."""
    assert get_type_hints(Shape) == {
        "language": str,
        "requester_id": str,
        "requester": tuple[tuple[str, str], ...],
        "requester_since": date | None,
        "requester_is_unchecked": bool,
        "alternatives": bool,
        "claims": tuple[ClaimPath, ...],
        "optional": frozenset[ClaimPath],
        "new": frozenset[ClaimPath],
        "told": tuple[ClaimPath, ...],
        "several": frozenset[ClaimPath],
        "shared_before": bool,
        "extendable": bool,
        "may_have_more_time": bool,
    }


class Person:
    """A holder's browser, and everything that belongs to that holder on the page of their question."""

    def __init__(self, wallet: Wallet, sign_in: Any) -> None:
        self.wallet, self.browser = wallet, Client()
        sign_in(wallet, browser=self.browser)
        self.own: set[str] = {wallet.email}

    def see_a_question(self) -> str:
        now = timezone.now()
        paths = [path for path in CLAIMS if path[0] not in ("verification", "pairwise_subject", *DETAILS)]
        consent = put(self.wallet, claims=paths, now=now, return_to=f"/back/{uuid.uuid4()}/")
        response = self.browser.get(f"/consent/{consent.id}/")
        page = response.content.decode()
        names = {value for value in values_on(response) if value not in ("Yes", "No", "United Kingdom")}
        assert len(names) == 4  # the two names, the date of birth and the address
        self.own |= {*names, *FORM_TOKEN.findall(page), str(consent.id), consent.return_to}
        return page


def test_nothing_of_one_person_is_on_the_page_of_another(alice: Wallet, bob: Wallet, sign_in: Any) -> None:
    pieces.cache_clear()
    people = [Person(alice, sign_in), Person(bob, sign_in)]
    pages: list[list[str]] = [[], []]
    for turn in (0, 1, 0, 0, 1):
        pages[turn].append(people[turn].see_a_question())
    assert pieces.cache_info().currsize == 1  # both were shown the same pieces
    _nothing_is_mixed(people, pages)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_nothing_of_one_person_is_on_the_page_of_another_asked_at_the_same_time(
    alice: Wallet, bob: Wallet, sign_in: Any
) -> None:
    people = [Person(alice, sign_in), Person(bob, sign_in)] * 2
    pages: list[list[str]] = [[] for _ in people]
    together = threading.Barrier(len(people), action=pieces.cache_clear)

    def look(turn: int) -> None:
        try:
            for _ in range(10):
                together.wait(timeout=60)  # everybody meets an empty cache
                pages[turn].append(people[turn].see_a_question())
        finally:
            connection.close()

    threads = [threading.Thread(target=look, args=[turn]) for turn in range(len(people))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(shown) for shown in pages] == [10] * len(people)
    _nothing_is_mixed(people[:2], [pages[0] + pages[2], pages[1] + pages[3]])


def _nothing_is_mixed(people: list[Person], pages: list[list[str]]) -> None:
    for person, own_pages in zip(people, pages, strict=True):
        (other,) = [one for one in people if one is not person]
        assert all(person.wallet.email in page for page in own_pages)
        assert not [value for page in own_pages for value in other.own if value in page]


def test_nothing_of_a_person_is_kept(alice: Wallet, bob: Wallet, sign_in: Any, monkeypatch: Any) -> None:
    kept: list[question_page.Pieces] = []

    def noted(shape: Shape) -> question_page.Pieces:
        kept.append(pieces(shape))
        return kept[-1]

    monkeypatch.setattr(question_page, "pieces", noted)
    people = [Person(alice, sign_in), Person(bob, sign_in)]
    for person in people:
        decisions.grant(put(person.wallet).id, person.wallet, now=timezone.now())
        page = person.see_a_question()
        person.own |= set(re.findall("<time.*?</time>", page)) | set(
            re.findall('data-seconds="[0-9]+"', page)
        )

    texts = "".join(text for found in kept for text in found.texts)
    assert len(kept) == 2
    assert "Acme Bank" in texts
    assert not [value for person in people for value in person.own if value in texts]
    assert not re.search("<time|[0-9a-f]{32}|1901", texts)  # no samples either


def test_only_so_many_shapes_are_kept() -> None:
    assert pieces.cache_info().maxsize == question_page.MOST_SHAPES
    for number in range(question_page.MOST_SHAPES + 10):
        question = question_with(requester=Requester(f"Shop {number}", "shop.example").to_json())
        rendered(
            request_for_page("en-gb", question), question, signed_in_email="x", asks_passkey=False, now=NOW
        )
    assert pieces.cache_info().currsize == question_page.MOST_SHAPES
