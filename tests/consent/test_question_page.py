"""The page of a question: what it says, and that no text of a person or of a relying party becomes HTML."""

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.translation import override

from config.operator import Operator
from consent.blocks import Payment, Transaction
from consent.models import Consent
from consent.question import Requester
from consent.question_page import Question, rendered
from infra.paths import path_with_id
from tests.consent.questions import ACME, put
from tests.consent.shown import values_on
from tests.people import DETAILS
from wallet.credential import claims
from wallet.credential.claims import CLAIMS, Identity
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
FORM_TOKEN = re.compile('name="csrfmiddlewaretoken" value="([^"]+)"')


def request_for_page(language: str, question: Question) -> HttpRequest:
    request = RequestFactory().get(path_with_id("consent_review", question.consent.id))
    request.page_language = language  # type: ignore[attr-defined]
    return request


def page_of(
    question: Question, *, language: str = "en-gb", email: str = "ada@example.org", **more: Any
) -> str:
    """The page, without its form token."""
    request = request_for_page(language, question)
    with override(language), stopped_clock():
        page = rendered(request, question, signed_in_email=email, **{"asks_passkey": False, **more})
    return FORM_TOKEN.sub("", page)


@contextmanager
def stopped_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: NOW)
        yield


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


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_relying_party_or_of_a_person_becomes_html(text: str) -> None:
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


def test_a_form_that_was_refused_and_a_wallet_that_closes_are_told(holder: Client, alice: Wallet) -> None:
    address = f"/consent/{put(alice).id}/"
    ordinary = holder.get(address).content.decode()
    assert "Please try that again." not in ordinary
    assert "Your wallet closes on" not in ordinary

    assert "Please try that again." in holder.get(f"{address}?try_again=1").content.decode()

    question = question_with()
    request = request_for_page("en-gb", question)
    request.wallet_closes_at = NOW  # type: ignore[attr-defined]
    page = rendered(request, question, signed_in_email="x", asks_passkey=False)
    assert "Your wallet closes on" in page


@pytest.mark.parametrize("name", ["try_again", "more_time"])
def test_a_relying_party_cannot_make_the_page_say_what_happened_before(name: str) -> None:
    request = RequestFactory().get("/verifiable-credentials/v1/presentation/authorize", {name: "1"})
    page = rendered(request, question_with(), signed_in_email="x", asks_passkey=False)
    assert "Please try that again." not in page
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
        self.own |= {*names, *FORM_TOKEN.findall(page), str(consent.id), consent.return_to}
        return page


def test_nothing_of_one_person_is_on_the_page_of_another(alice: Wallet, bob: Wallet, sign_in: Any) -> None:
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
    together = threading.Barrier(len(people))

    def look(turn: int) -> None:
        try:
            for _ in range(10):
                together.wait(timeout=60)
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
