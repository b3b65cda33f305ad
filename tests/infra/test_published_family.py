"""Documents with a number: they are found if they exist, and nothing is kept for other numbers."""

from threading import Barrier, Thread

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from infra.published import families
from infra.published.documents import PublishedDocument
from infra.published.families import PublishedFamily

requests = RequestFactory()
pytestmark = pytest.mark.django_db  # a connection left open by another test is checked


class Source:
    """The existing documents, the number of queries for them, and a clock that the test moves."""

    def __init__(self, *numbers: int) -> None:
        self.there = set(numbers)
        self.asked = 0
        self.broken = False
        self.clock = 1_000_000.0

    def numbers(self) -> list[int]:
        self.asked += 1
        if self.broken:
            raise RuntimeError("the database is away")
        return sorted(self.there)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    source = Source(1, 2)
    monkeypatch.setattr(families, "monotonic", lambda: source.clock)
    return source


@pytest.fixture
def family(source: Source) -> PublishedFamily:
    return PublishedFamily(
        source.numbers, lambda number: PublishedDocument(lambda: f"number {number}".encode())
    )


def get(family: PublishedFamily, number: object) -> HttpResponse:
    """The WSGI response, where the number is not parsed yet."""
    said: list[object] = []
    environ = requests.get(f"/source/{number}").environ
    body = b"".join(family.wsgi(environ, lambda *words: said.extend(words)))
    return HttpResponse(body, status=int(str(said[0]).split()[0]))


def test_each_number_has_its_document(family: PublishedFamily, source: Source) -> None:
    assert [get(family, number).content for number in (1, 2, 1)] == [b"number 1", b"number 2", b"number 1"]
    assert source.asked == 1
    assert family(requests.get("/source/2"), number=2).content == b"number 2"


@pytest.mark.parametrize("name", ["3", "0", "01", "-1", "x", "", "٣", "²", "9" * 100, "1.5", "+1", " 1"])
def test_what_is_not_there_is_not_found(family: PublishedFamily, name: str) -> None:
    assert get(family, name).status_code == 404


def test_a_flood_of_unknown_numbers_asks_ten_times_a_second_and_keeps_nothing(
    family: PublishedFamily, source: Source
) -> None:
    for number in range(3, 2_003):
        source.clock += 0.001
        assert get(family, number).status_code == 404

    assert source.asked <= 21
    assert set(family._documents) == {"1", "2"}


def test_a_new_document_is_found_at_once_and_one_that_is_gone_is_forgotten(
    family: PublishedFamily, source: Source
) -> None:
    get(family, 1)
    kept = family._documents["2"]
    source.there = {2, 3}
    source.clock += 0.2

    assert get(family, 3).content == b"number 3"
    assert family._documents.keys() == {"2", "3"}
    assert family._documents["2"] is kept


def test_when_it_cannot_be_known_the_answer_is_to_ask_again(family: PublishedFamily, source: Source) -> None:
    get(family, 1)
    source.broken = True
    source.clock += 0.2

    assert get(family, 3).status_code == 503
    assert get(family, 1).content == b"number 1"
    source.broken = False
    source.there.add(3)
    assert get(family, 3).content == b"number 3"


def test_many_at_once_ask_once(family: PublishedFamily, source: Source) -> None:
    barrier, found = Barrier(8), []

    def ask() -> None:
        barrier.wait()
        found.append(get(family, 1).content)

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [b"number 1"] * 8
    assert source.asked == 1


def test_while_another_thread_asks_known_documents_are_served_and_unknown_ones_are_to_be_asked_for_again(
    family: PublishedFamily, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(family, 1)
    monkeypatch.setattr(families, "_PATIENCE", 0.01)
    source.clock += 0.2
    with family._lock:
        assert get(family, 1).content == b"number 1"
        assert get(family, 3).status_code == 503
