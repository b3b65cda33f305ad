"""The page of a question: cached fragments do not change it, and hold nothing of a person."""

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from config.operator import Operator
from consent import decisions
from consent.blocks import Payment, Transaction
from consent.models import Consent
from consent.question import Requester
from consent.question_page import Question, rendered
from infra.paths import path_with_id
from tests.consent.questions import ACME, WIRE, put
from tests.consent.shown import values_on
from tests.people import DETAILS
from wallet.credential import claims
from wallet.credential.claims import CLAIMS, Identity
from wallet.credential.evidence import Assurance, Verification
from wallet.credential.inference import Fact
from wallet.deadlines import Deadline
from wallet.models import Wallet

NOW = datetime(2027, 2, 1, 9, 30, 0, 123456, tzinfo=UTC)
HOSTILE = (
    "<b>&amp;</b>",
    "%(name)s %s 100%",
    "{{ question.claims }}{0}{name}",
    "“quoted” \"'",
    "</script><script src=//evil.example></script>",
    "'\"><img src=x onerror=alert(1)>",
    "مصرف",
)
CHANGING = re.compile('data-seconds="[0-9]+"|<time.*?</time>|[0-9A-F]{8}')  # the last is an error’s reference

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
payments = st.builds(Payment, st.just("950.00"), st.sampled_from(["USD", "EUR"]), texts)
transactions = st.builds(Transaction, texts, texts, st.just(()), st.booleans(), st.none() | payments)
facts = st.builds(Fact, st.just("age"), st.none() | st.dates(), years=st.integers(18, 99))
extensions = st.sampled_from([None, timedelta(0), timedelta(hours=1)])


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A question to a person, with values from everywhere."""
    identity = draw(identities)
    paths = draw(st.lists(st.sampled_from(claims.held(identity)), unique=True))
    some = st.frozensets(st.sampled_from(paths)) if paths else st.just(frozenset())
    shared = draw(st.none() | moments)
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
        transactions=tuple(draw(st.lists(transactions, max_size=2))),
        claims=tuple(claims.preview(identity, paths, today=NOW.date())),
        optional=draw(some),
        last_shared_at=shared,
        new=draw(some) if shared else frozenset(),
        deadline=Deadline(ends, until, consent.return_to),
        adds_up=tuple(draw(st.lists(facts, max_size=1))),
        told=tuple(draw(st.lists(st.sampled_from(sorted(CLAIMS)), max_size=2, unique=True))),
    )


def request_for_page(language: str, question: Question) -> HttpRequest:
    request = RequestFactory().get(path_with_id("consent_review", question.consent.id))
    request.page_language = language  # type: ignore[attr-defined]
    return request


def page_of(
    question: Question, *, language: str = "en-gb", email: str = "ada@example.org", **more: Any
) -> str:
    """The page."""
    request = request_for_page(language, question)
    with override(language), stopped_clock():
        return rendered(request, question, signed_in_email=email, **{"asks_passkey": False, **more})


@contextmanager
def stopped_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        yield


def empty_cache() -> None:
    caches["template_fragments"].clear()


LANGUAGES = [code for code, _ in django_settings.LANGUAGES]


@pytest.mark.slow
@given(questions(), st.sampled_from(LANGUAGES), st.emails(), st.booleans())
def test_the_page_is_the_same_with_cached_fragments_and_without(
    question: Question, language: str, email: str, asks_passkey: bool
) -> None:
    facts: dict[str, Any] = {"language": language, "email": email, "asks_passkey": asks_passkey}
    before = page_of(question, **facts)  # with what the questions before left in the cache
    again = page_of(question, **facts)
    empty_cache()
    assert before == again == page_of(question, **facts)


class Elements(HTMLParser):
    """The kinds of elements of a page with the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.kinds: set[tuple[str, ...]] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds.add((tag, *(name for name, _value in attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_relying_party_or_of_a_person_becomes_html(text: str, cached: bool) -> None:
    def question(text: str) -> Question:
        party = Requester(
            name=text,
            domain=text,
            logo_url=f"/logos/{text}",
            purpose=f"{text}. And {text}",
            privacy_policy_url=f"https://bank.example/{text}",
            terms_url=f"https://bank.example/{text}",
            receiver=text,
            recognised_by=text,
            number_once=text,
        )
        paid = Transaction("urn:example:wire", text, (), True, Payment("1.00", "EUR", text))
        return question_with(
            identity=Identity(text, text, date(1990, 11, 21)),
            paths=[("given_name",), ("family_name",)],
            requester=party.to_json(),
            return_to=f"/there/{text}",
            deadline=Deadline(NOW, NOW + timedelta(hours=1), f"/there/{text}"),
            transactions=(paid,),
        )

    empty_cache()
    if cached:
        page_of(question(text), email=text)
    found = Elements(page_of(question(text), email=text))
    assert found.kinds == Elements(page_of(question("harmless"), email="harmless")).kinds
    assert found.text.count(text) >= 6  # name, domain, purpose, receiver, two names and the e-mail address


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


OTHER_TEXTS = {
    **dict.fromkeys(("name", "domain", "purpose", "receiver", "recognised_by", "number_once"), "Another"),
    **dict.fromkeys(("privacy_policy_url", "terms_url"), "https://another.example/"),
    "logo_url": "/another",
}
# Questions that differ from the usual one in one thing that the page shows.
DIFFERENT: dict[str, dict[str, Any]] = {
    **{
        f"the requester’s {name}": {"requester": (ACME.to_json() | {name: text})}
        for name, text in OTHER_TEXTS.items()
        if name != "recognised_by"  # the page shows it as the value of a claim
    },
    "the ID of the requester": {"requester_id": "other"},
    "registered since": {"requester_since": date(2025, 1, 1)},
    "registered itself": {"requester_is_unchecked": True},
    "several answers": {"alternatives": True},
    "other claims": {"paths": [("given_name",), ("birth_date",), ("nationalities",)]},
    "no claims": {"paths": []},
    "optional": {"optional": frozenset({("given_name",)})},
    "not shared last time": {"new": frozenset({("given_name",)})},
    "told": {"told": (("birth_date",),)},
    "one nationality": {"identity": Identity("Ada", "Lovelace", date(1990, 11, 21), ("GB",))},
    "another person": {"identity": Identity("Grace", "Hopper", date(1990, 11, 21), ("GB", "DE"))},
    "the first time": {"last_shared_at": None},
    "last shared at another time": {"last_shared_at": NOW - timedelta(days=8)},
    "no more time": {"deadline": Deadline(NOW, NOW, "/there/")},
    "never more time": {"deadline": Deadline(NOW, None, "/there/")},
    "another place": {"return_to": "/another/"},
    "adds up": {"adds_up": (Fact("age", None, years=36),)},
    "an approval": {"transactions": (Transaction("urn:example:wire", "Approve", (), True),)},
    "a payment": {
        "transactions": (Transaction("urn:example:wire", "Pay", (), True, Payment("1.00", "EUR", "Bob")),)
    },
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("difference", DIFFERENT)
def test_a_question_that_differs_in_one_thing_gets_a_page_of_its_own(difference: str, language: str) -> None:
    usual, other = question_with(), question_with(**DIFFERENT[difference])
    other.consent.id = usual.consent.id  # which is in the path of the page
    empty_cache()
    alone = page_of(other, language=language)

    empty_cache()
    pages = [page_of(usual, language=each) for each in LANGUAGES]
    after_others = page_of(other, language=language)

    assert after_others == alone
    assert after_others not in pages


def test_every_text_of_a_requester_is_among_the_differences() -> None:
    assert OTHER_TEXTS.keys() | {"sector"} == ACME.__dataclass_fields__.keys()  # the page shows no sector


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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("asked", ["the first time", "again", "a payment", "a passkey"])
def test_through_the_whole_service_the_page_is_the_same(
    holder: Client, alice: Wallet, language: str, asked: str
) -> None:
    holder.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language
    if asked == "again":
        before = NOW - timedelta(days=3)
        decisions.grant(put(alice, now=before, expires_at=before + timedelta(hours=1)).id, alice, now=before)
    more: dict[str, Any] = {"transactions": [WIRE]} if asked == "a payment" else {}
    if asked == "a passkey":
        more["fresh_since"] = timezone.now() + timedelta(days=1)
    consent = put(alice, **more)
    address = f"/consent/{consent.id}/"

    pages = []
    empty_cache()
    for _ in range(2):
        page = holder.get(address)
        text = CHANGING.sub("", page.content.decode())
        pages.append((text, page.headers["Content-Language"], page.headers["Content-Security-Policy"]))

    assert pages[0] == pages[1]
    assert pages[0][1] == language


def test_every_page_is_the_same_with_the_fragments_of_other_pages_and_without(
    holder: Client, alice: Wallet
) -> None:
    def shown(address: str, language: str) -> str:
        holder.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language
        page = holder.get(address).content.decode()
        assert "</footer>" in page
        return CHANGING.sub("", page)

    pages = (f"/consent/{put(alice).id}/", "/wallet/history/", "/what-is-kept/", "/nowhere/", "/developer/")
    visits = [(page, language) for page in pages for language in LANGUAGES]
    alone = []
    for visit in visits:
        empty_cache()
        alone.append(shown(*visit))

    assert [shown(*visit) for visit in visits] == alone


def test_a_wallet_that_closes_is_told(holder: Client, alice: Wallet) -> None:
    ordinary = holder.get(f"/consent/{put(alice).id}/").content.decode()
    assert "Your wallet closes on" not in ordinary

    question = question_with()
    request = request_for_page("en-gb", question)
    request.wallet_closes_at = NOW  # type: ignore[attr-defined]
    page = rendered(request, question, signed_in_email="x", asks_passkey=False)
    assert "Your wallet closes on" in page


def test_a_relying_party_cannot_make_the_page_say_what_happened_before() -> None:
    request = RequestFactory().get("/verifiable-credentials/v1/presentation/authorize", {"more_time": "1"})
    page = rendered(request, question_with(), signed_in_email="x", asks_passkey=False)
    assert re.search(
        '<p class="notice notice-good" role="status" tabindex="-1" hidden>You have more time', page
    )


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
        self.own |= {*names, str(consent.id), consent.return_to}
        return page


def test_nothing_of_one_person_is_on_the_page_of_another(alice: Wallet, bob: Wallet, sign_in: Any) -> None:
    empty_cache()
    people = [Person(alice, sign_in), Person(bob, sign_in)]
    pages: list[list[str]] = [[], []]
    for turn in (0, 1, 0, 0, 1):
        pages[turn].append(people[turn].see_a_question())
    _nothing_is_mixed(people, pages)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_nothing_of_one_person_is_on_the_page_of_another_asked_at_the_same_time(
    alice: Wallet, bob: Wallet, sign_in: Any
) -> None:
    people = [Person(alice, sign_in), Person(bob, sign_in)] * 2
    pages: list[list[str]] = [[] for _ in people]
    together = threading.Barrier(len(people), action=empty_cache)

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


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every fragment that is cached from now on, by its key."""
    fragments: dict[str, str] = {}
    store = LocMemCache.set

    def noted(cache: LocMemCache, key: str, value: str, *more: Any) -> None:
        fragments[key] = value
        store(cache, key, value, *more)

    monkeypatch.setattr(LocMemCache, "set", noted)
    empty_cache()
    return fragments


def test_nothing_of_a_person_is_cached(
    alice: Wallet, bob: Wallet, sign_in: Any, cached: dict[str, str]
) -> None:
    people = [Person(alice, sign_in), Person(bob, sign_in)]
    for person in people:
        for language in LANGUAGES:
            person.browser.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language
            decisions.grant(put(person.wallet).id, person.wallet, now=timezone.now())
            paid = put(person.wallet, transactions=[WIRE])
            adding_up = put(person.wallet, claims=[("age_equal_or_over", str(age)) for age in range(30, 45)])
            addresses = ["/wallet/", "/wallet/history/", "/wallet/security/", "/wallet/data/"]
            addresses += [f"/consent/{asked.id}/" for asked in (paid, adding_up)]
            pages = [person.browser.get(address).content.decode() for address in addresses]
            if language == "en-gb":
                pages.append(person.see_a_question())
            for page in pages:
                person.own |= set(re.findall("<time.*?</time>", page))
                person.own |= set(re.findall('data-seconds="[0-9]+"|class="notice adds-up">[^<]*', page))
            person.own |= {str(paid.id), str(adding_up.id), "12,500.00", "DE89 3704", "Invoice 2026"}

    texts = "".join(cached.values())
    assert "Acme Bank" in texts
    assert not [value for person in people for value in person.own if value in texts]
    assert not re.search("<time|csrf|<form|<input|/consent/[0-9a-f]|/back/|[0-9a-f]{32}", texts)


@pytest.mark.slow
def test_only_so_many_fragments_are_cached(cached: dict[str, str]) -> None:
    most = django_settings.CACHES["template_fragments"]["OPTIONS"]["MAX_ENTRIES"]
    for number in range(most // 3):
        page_of(question_with(requester=Requester(f"Shop {number}", "shop.example").to_json()))
    assert len(cached) > most
    assert sum(caches["template_fragments"].has_key(key) for key in cached) <= most
