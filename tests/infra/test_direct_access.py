"""With and without the detours for coroutines: the same settings, and what is set belongs to its thread."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.local import Local
from django.conf import LazySettings, settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import override_settings
from django.urls import base
from django.utils import translation
from django.utils.functional import LazyObject
from django.utils.translation import trans_real

from config import direct_access

PLACES: list[tuple[Any, str]] = [
    (connections, "_connections"),
    (trans_real, "_active"),
    (base, "_prefixes"),
    (base, "_urlconfs"),
]


@pytest.fixture
def as_django_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The detours, whatever earlier tests have loaded; this thread keeps its connection."""
    kept = connections[DEFAULT_DB_ALIAS]
    monkeypatch.setattr(LazySettings, "__getattribute__", LazyObject.__getattribute__)
    for owner, name in PLACES:
        monkeypatch.setattr(owner, name, Local())
    connections[DEFAULT_DB_ALIAS] = kept


@pytest.fixture(params=["with", "without"])
def either_access(request: pytest.FixtureRequest, as_django_does: None) -> None:
    translation.activate("es")
    base.set_urlconf("sandbox.urls")
    if request.param == "without":
        direct_access.install()


def in_another_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


@pytest.mark.usefixtures("either_access")
def test_settings_are_the_same_and_can_be_overridden_in_every_thread() -> None:
    before = settings.LANGUAGE_COOKIE_NAME
    with override_settings(LANGUAGE_COOKIE_NAME="another"):
        assert settings.LANGUAGE_COOKIE_NAME == "another"
        assert in_another_thread(lambda: settings.LANGUAGE_COOKIE_NAME) == "another"
        assert settings.is_overridden("LANGUAGE_COOKIE_NAME")
    assert before == settings.LANGUAGE_COOKIE_NAME
    assert settings.configured
    with pytest.raises(AttributeError):
        settings.NO_SUCH_SETTING  # noqa: B018


@pytest.mark.usefixtures("either_access")
def test_language_and_addresses_belong_to_the_thread_that_has_set_them() -> None:
    assert (translation.get_language(), base.get_urlconf()) == ("es", "sandbox.urls")
    base.set_script_prefix("/below/")

    others = (translation.get_language, base.get_urlconf, base.get_script_prefix)
    assert [in_another_thread(each) for each in others] == [settings.LANGUAGE_CODE, None, "/"]

    assert base.get_script_prefix() == "/below/"
    with translation.override("en-gb"):
        assert translation.get_language() == "en-gb"
    assert translation.get_language() == "es"
    translation.deactivate()
    base.set_urlconf(None)
    assert (translation.get_language(), base.get_urlconf()) == (settings.LANGUAGE_CODE, None)


@pytest.mark.usefixtures("either_access")
def test_each_thread_has_a_connection_of_its_own() -> None:
    mine = connections[DEFAULT_DB_ALIAS]
    other = in_another_thread(lambda: connections[DEFAULT_DB_ALIAS])

    assert other is not mine
    assert connections[DEFAULT_DB_ALIAS] is mine
    assert connections.all(initialized_only=True) == [mine]
    assert connection.settings_dict is mine.settings_dict
    assert in_another_thread(lambda: connections.all(initialized_only=True)) == []
