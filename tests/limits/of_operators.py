"""Trials of the limits of operators."""

from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from tests.limits.trial import Begin, Trial, browser, over_http
from tests.operators.one_time_codes import wrong

SIGN_IN, SECOND_FACTOR = "/admin/login/", "/admin/second-factor/"
PASSWORD = "a long enough one"


def tries(client: Client, name: str, password: str = "wrong") -> Any:
    return client.post(SIGN_IN, {"username": name, "password": password})


def tries_per_client(_stage: pytest.FixtureRequest) -> Trial:
    names = count()
    return over_http(lambda who: tries(browser(who), f"name{next(names)}"), "Too many attempts.")


def tries_per_account(_stage: pytest.FixtureRequest) -> Trial:
    addresses = count()
    return over_http(lambda who: tries(browser(next(addresses)), f"name{who}"), "Too many attempts.")


def tries_per_browser(_stage: pytest.FixtureRequest) -> Trial:
    User.objects.create_superuser("olga", password=PASSWORD)
    known = [browser(9), browser(9)]
    for client in known:
        assert tries(client, "olga", PASSWORD).status_code == 302
        client.post("/admin/logout/")
    return over_http(lambda who: tries(known[who], "olga"), "Too many attempts.")


def second_factor_tries(stage: pytest.FixtureRequest) -> Trial:
    stage.getfixturevalue("settings").OPERATOR_SECOND_FACTOR = True
    known = []
    for name in ("olga", "otto"):
        client = Client()
        client.force_login(User.objects.create_superuser(name, password=PASSWORD))
        known.append(client)
    return over_http(lambda who: known[who].post(SECOND_FACTOR, {"code": wrong()}), "Too many", done=403)


def look_ups(_stage: pytest.FixtureRequest) -> Trial:
    helpers = []
    for name in ("sam", "sue"):
        user = User.objects.create(username=name, is_staff=True)
        user.groups.add(Group.objects.get(name="Support"))
        client = Client()
        client.force_login(user)
        helpers.append(client)
    form = {"term": "nobody@example.org", "reason": "They called and asked."}
    page = reverse("admin:support")
    return over_http(lambda who: helpers[who].post(page, form), "You have looked up 2 in this hour.")


TRIALS: dict[str, Begin] = {
    "operator-tries-per-client": tries_per_client,
    "operator-tries-per-account": tries_per_account,
    "operator-tries-per-browser": tries_per_browser,
    "second-factor-tries": second_factor_tries,
    "second-factor-tries-per-day": second_factor_tries,
    "operator-look-ups": look_ups,
}
