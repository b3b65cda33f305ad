"""The words for true and false are the same in every variable, and in DATABASE_URL."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.database import connection_settings
from config.variables import switch

WORDS = {
    "true": True,
    "1": True,
    "Yes": True,
    "on": True,
    "FALSE": False,
    "0": False,
    "no": False,
    "off": False,
}


def in_the_address(word: str) -> bool:
    url = f"postgresql://a@b/c?server_side_binding={word}"
    found = connection_settings(url, pooler="none")
    return bool(found["OPTIONS"]["server_side_binding"])


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_the_same_everywhere(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", word)

    assert (switch("SOMETHING", default=not WORDS[word]), in_the_address(word)) == (WORDS[word], WORDS[word])


@pytest.mark.parametrize("word", ["ja", "2", "tru", "yes please"])
def test_any_other_word_is_refused_everywhere(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", word)

    with pytest.raises(ImproperlyConfigured, match="SOMETHING must be"):
        switch("SOMETHING", default=True)
    with pytest.raises(ImproperlyConfigured, match="server_side_binding must be"):
        in_the_address(word)
