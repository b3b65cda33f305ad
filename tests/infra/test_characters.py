"""No text of a relying party can be invisible or reverse other text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.characters import is_legible, legible

NEW_EMOJI = frozenset(map(chr, range(0x1F000, 0x1FB00)))  # those of a newer Unicode than Python's


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 1.50 €", "plain text, 1.50 €"),
        ("Łódź 東京 العربية", "Łódź 東京 العربية"),
        ("pay \u202e001\u202c", "pay ⟨U+202E⟩001⟨U+202C⟩"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("a\u200bb\ufeffc\u00add", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩d"),
        ("a\x00b\x1b[31m\x7f\x9f", "a⟨U+0000⟩b⟨U+001B⟩[31m⟨U+007F⟩⟨U+009F⟩"),
        ("a\tb\rc", "a⟨U+0009⟩b⟨U+000D⟩c"),
        ("a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"),
        ("a\u3164b\u115f\u2800", "a⟨U+3164⟩b⟨U+115F⟩⟨U+2800⟩"),
        ("1\u200d2 \u200d", "1⟨U+200D⟩2 ⟨U+200D⟩"),
        ("\u200cx", "⟨U+200C⟩x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔧", "👩\u200d🔧"),
        (
            "🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 ⛹\ufe0f\u200d♀\ufe0f",
            "🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 ⛹\ufe0f\u200d♀\ufe0f",
        ),
        ("1\ufe0f\u20e3#\ufe0f\u20e3", "1\ufe0f\u20e3#\ufe0f\u20e3"),
        ("1\ufe0f2\ufe0f", "1⟨U+FE0F⟩2⟨U+FE0F⟩"),
        ("ℹ\ufe0f‼\ufe0f↔\ufe0f", "ℹ\ufe0f‼\ufe0f↔\ufe0f"),
        ("\U0001fae8\U0001faff", "\U0001fae8\U0001faff"),  # emoji of Unicode 15, and one that is still free
        ("a\ufe0f\u200db", "a⟨U+FE0F⟩⟨U+200D⟩b"),
        ("❤\ufe0f\ufe0f\u200d\u200d", "❤\ufe0f⟨U+FE0F⟩⟨U+200D⟩⟨U+200D⟩"),
        ("❤\ufe0e\u200d🔥❤\ufe0f\u200c", "❤\ufe0e⟨U+200D⟩🔥❤\ufe0f⟨U+200C⟩"),
        ("🏴\U000e0067\U000e007f", "🏴⟨U+E0067⟩⟨U+E007F⟩"),
        ("می\u200c\u200c\u200cخ", "می\u200c⟨U+200C⟩⟨U+200C⟩خ"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("a\r\nb\nc", "a ↵ b ↵ c"),
        ("a\ufe0fb\ufe01c\U000e0100d\u180b", "a⟨U+FE0F⟩b⟨U+FE01⟩c⟨U+E0100⟩d⟨U+180B⟩"),
        ("\u2764\ufe0f \u260e\ufe0e", "\u2764\ufe0f \u260e\ufe0e"),
        ("e\u0301\u0302\u0303\u0304x", "e\u0301\u0302\u0303\u0304x"),
        ("1" + "\u0336" * 6, "1" + "\u0336" * 4 + "⟨U+0336⟩⟨U+0336⟩"),
        ("בְּרֵאשִׁ֖ית", "בְּרֵאשִׁ֖ית"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert legible(text) == shown


def test_lines_stay_where_they_can_be_shown() -> None:
    assert legible("a\r\nb\n\u202ec", keep_lines=True) == "a\nb\n⟨U+202E⟩c"


@given(st.text(st.characters()))
def test_nothing_shown_is_invisible_or_reorders(text: str) -> None:
    shown = legible(text)

    categories = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    hidden = [c for c in shown if unicodedata.category(c) in categories and c not in NEW_EMOJI]
    assert set(hidden) <= {"\u200c", "\u200d"}


@given(st.text())
def test_showing_twice_shows_the_same(text: str) -> None:
    assert legible(legible(text)) == legible(text)
    assert is_legible(legible(text))


PARTS = st.sampled_from(
    [*"a1#ℹ❤🏳🏴", "\ufe0e", "\ufe0f", "\u200c", "\u200d", "\u20e3", "\U000e0067", "\U0001f3fd"]
)


@given(st.lists(PARTS, max_size=8).map("".join))
def test_no_two_invisible_characters_are_shown_in_a_row_but_within_an_emoji(text: str) -> None:
    shown = legible(text)

    runs = re.findall("[\ufe0e\ufe0f\u200c\u200d]{2,}", shown)
    assert set(runs) <= {"\ufe0f\u200d"}
    assert not re.search("[a1#][\u200c\u200d]|a[\ufe0e\ufe0f]", shown)
    assert legible(shown) == shown
