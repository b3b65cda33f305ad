"""A page is cut at its samples, and filled so that it is what the template would have made of the values."""

import pytest
from django.template import engines
from django.utils.safestring import mark_safe
from hypothesis import given
from hypothesis import strategies as st

from consent.question_page import cut

TEMPLATE = engines["django"].from_string("<p title='{{ first }}'>{{ first }} | {{ second }}{{ other }}</p>")
SAMPLES = {"first": "a" * 40, "second": "b" * 40}

texts = st.text(max_size=60) | st.sampled_from(
    ["{0}", "%s", "%(first)s", "\\1", "{{ first }}", "<b>", "&amp;"]
)


@given(texts, texts, texts)
def test_a_filled_page_is_the_rendered_page(first: str, second: str, other: str) -> None:
    pieces = cut(TEMPLATE.render(SAMPLES | {"other": other}), SAMPLES)

    page = pieces.fill({"first": first, "second": second})

    assert page == TEMPLATE.render({"first": first, "second": second, "other": other})
    assert pieces.names == ("first", "first", "second")


def test_a_value_that_is_a_sample_is_not_filled_again() -> None:
    pieces = cut(TEMPLATE.render(SAMPLES), SAMPLES)
    assert "b" * 40 in pieces.fill({"first": "b" * 40, "second": "x"})


def test_html_stays_html_and_everything_else_becomes_text() -> None:
    pieces = cut(TEMPLATE.render(SAMPLES), SAMPLES)
    page = pieces.fill({"first": 5, "second": mark_safe("<time>")})
    assert page == "<p title='5'>5 | <time></p>"


def test_a_sample_that_the_template_changed_or_left_out_is_an_error() -> None:
    page = engines["django"].from_string("{{ first|upper }} {{ second }}").render(SAMPLES)
    with pytest.raises(ValueError, match="^first$"):
        cut(page, SAMPLES)


def test_a_value_that_is_missing_is_an_error() -> None:
    pieces = cut(TEMPLATE.render(SAMPLES), SAMPLES)
    with pytest.raises(KeyError):
        pieces.fill({"first": "x"})
