"""The values of a stored question, read strictly. Pure.

Titles, labels and phrases are stored as the English source text and translated when they are shown. Amounts
are stored as a number and a currency and written when they are shown. Texts of the requester stay as they
are. Releases before 0.2 stored every value as text, which is still read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.utils.translation import gettext

from consent.money import Money, number_written
from consent.question import MAX_ENTRIES, QuestionFormatError, entries_of, members_of, text_of


@dataclass(frozen=True)
class Phrase:
    """Words of this service around words of the requester: `phrase` has a place such as `%(rest)s` for each.

    `str` gives the translated text. The words of the requester are put in as they are.
    """

    phrase: str
    words: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return filled(gettext(self.phrase), dict(self.words))

    def to_json(self) -> dict[str, Any]:
        return {"phrase": self.phrase, "words": dict(self.words)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = members_of(value, {"phrase", "words"})
        words = members["words"]
        if not isinstance(words, Mapping) or len(words) > MAX_ENTRIES:
            raise QuestionFormatError("the words of a phrase are not an object")
        texts = tuple((text_of(name, "name"), text_of(word, "word")) for name, word in words.items())
        return cls(text_of(members["phrase"], "phrase"), texts)


@dataclass(frozen=True)
class Number:
    """A whole number, such as a quantity."""

    number: int

    def __str__(self) -> str:
        return number_written(self.number)

    def to_json(self) -> dict[str, int]:
        return {"number": self.number}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        number = members_of(value, {"number"})["number"]
        if type(number) is not int or abs(number) >= 10**15:
            raise QuestionFormatError("not a whole number")
        return cls(number)


Value = str | Phrase | Number | Money  # what `str` turns into the text of a cell
_PLACE = re.compile(r"%\((\w+)\)s")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each place such as `%(name)s` replaced; a place without a word stays as it is."""
    return _PLACE.sub(lambda place: words.get(place[1], place[0]), text)


def pair_of(value: object) -> tuple[str, Value]:
    """A label and a value."""
    pair = entries_of(value)
    if len(pair) != 2:
        raise QuestionFormatError("not a label and a value")
    return text_of(pair[0], "label"), value_of(pair[1])


def value_of(value: object) -> Value:
    """A text, phrase, number or amount of money."""
    if not isinstance(value, Mapping):
        return text_of(value, "value")
    if "phrase" in value:
        return Phrase.from_json(value)
    return Number.from_json(value) if "number" in value else money_of(value)


def money_of(value: Mapping[str, Any]) -> Money:
    """An amount of money."""
    try:
        return Money.from_json(value)
    except ValueError as error:
        raise QuestionFormatError(str(error)) from error


def stored(value: Value) -> Any:
    """The value as JSON."""
    return value if isinstance(value, str) else value.to_json()
