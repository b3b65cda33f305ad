"""Constant parts of templates are rendered once for each language, to the same text as by Django."""

from typing import Any

import pytest
from django.template import Context, Engine
from django.utils.translation import override

from config.template_loading import _Constant

LIBRARIES = {"i18n": "django.templatetags.i18n", "static": "django.templatetags.static"}
PAGES = {
    "base.html": '{% load i18n static %}<title>{% block title %}{% translate "January" %}{% endblock %}'
    "</title>"
    '<img src="{% static "mark.svg" %}"> {% block content %}{% endblock %} {% translate "Yes" %}',
    "page.html": '{% extends "base.html" %}{% load i18n static %}{% block title %}{% translate "May" %} '
    "{{ block.super }}{% endblock %}{% block content %}{{ content }}{% endblock %}",
    "part.html": '{% load i18n %}<p>{% translate "Monday" %} {{ name }}</p>',
}
CONTENTS = [
    'a {% translate "February" %} b {% translate "March" %} c',
    '{% if name %}{% translate "February" %}{% elif other %}{% translate "March" %}'
    '{% else %}{% translate "Yes" %}{% endif %}',
    '{% for letter in name %}{% translate "Yes" %}{{ letter }}{% empty %}{% translate "No" %}{% endfor %}',
    '{% with name="x" %}{% translate "Monday" %}{% include "part.html" %}{% endwith %}',
    '{% translate phrase %} {% translate "February"|lower %} {% translate "May" context "abbrev. month" %}',
    '{% translate "February" as month %}{{ month }} {% translate "February" noop %}',
    '{% static path %} {% static "a b & c.css" %} {% static "style.css" as style %}{{ style }}',
    '{% translate "100% <b>\'s & \\"q\\"" %}',
    '{% autoescape off %}{% translate "it\'s <b>" %} {{ name }}{% endautoescape %}',
    '{% blocktranslate with n=name %}Hello {{ n }}{% endblocktranslate %} {% translate "Yes" %}',
    '{% get_current_language as language %}{{ language }} {% translate "Yes" %}',
]
CONTEXTS: list[dict[str, Any]] = [
    {"name": "Zoë & <Bob>", "phrase": "January", "path": "x.css"},
    {"name": "", "other": True, "phrase": "Monday", "path": "y.css"},
]


def engine(content: str, *, joined: bool) -> Engine:
    pages = {**PAGES, "page.html": PAGES["page.html"].replace("{{ content }}", content)}
    inner: Any = ("django.template.loaders.locmem.Loader", pages)
    loader = "config.template_loading.Loader" if joined else "django.template.loaders.cached.Loader"
    return Engine(loaders=[(loader, [inner])], libraries=LIBRARIES)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_page_says_what_it_says_without_us_in_every_language_and_the_second_time(content: str) -> None:
    ours, djangos = engine(content, joined=True), engine(content, joined=False)
    for _ in range(2):
        for language in ("en-gb", "de", "fr", None):
            for context in CONTEXTS:
                with override(language):
                    expected = djangos.get_template("page.html").render(Context(context))
                    given = ours.get_template("page.html").render(Context(context))
                assert given == expected


def test_languages_are_kept_apart() -> None:
    page = engine('{% translate "February" %}', joined=True).get_template("page.html")
    said = {}
    for language in ("de", "fr", "de"):
        with override(language):
            said[language] = page.render(Context())
    assert "Februar " in said["de"]
    assert "février " in said["fr"]


def test_text_phrases_and_static_files_beside_each_other_are_one_and_variables_stay_apart() -> None:
    content = 'a {% translate "February" %} {% static "x.css" %} b {{ name }} {% translate phrase %} c'
    nodes = engine("", joined=True).from_string("")  # the engine without the loader joins nothing
    assert not nodes.nodelist.get_nodes_by_type(_Constant)

    page = engine(content, joined=True).get_template("page.html")

    constants = page.nodelist.get_nodes_by_type(_Constant)
    assert [constant.render(Context()) for constant in constants] == ["May ", "a February /static/x.css b "]


def test_the_pages_of_the_service_are_read_this_way() -> None:
    from django.template.loader import get_template

    page: Any = get_template("consent/review.html")
    assert page.template.nodelist.get_nodes_by_type(_Constant)
