"""The timeline of the signing keys."""

import re
from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.plan import plan
from keys.rotation.states import State, in_state
from keys.rotation.timeline import MOST_WITHDRAWN, Life, Span, Timeline, lives
from tests.barriers import assert_no_barriers

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DAY = timedelta(days=1)
LIST = "/admin/keys/signingkey/"


@pytest.fixture
def a_year(now: datetime) -> datetime:
    """Rotations every 90 days, the newest key staged yesterday; gives the present time."""
    begun = now - timedelta(days=359)
    moment = begun
    while moment < now:
        due_steps.rotate(now=moment)
        moment += 2 * DAY  # all steps are due on even days
    return now


def lives_at(now: datetime) -> list[Life]:
    return lives(SigningKey.objects.all(), plan(now=now), staged_for=2 * DAY, now=now)


def states(life: Life) -> list[str]:
    return [f"{span.state}{' planned' if span.planned else ''}" for span in life.spans]


@pytest.mark.slow
def test_a_key_is_drawn_through_its_states_and_ahead_to_the_end_of_the_present_one(a_year: datetime) -> None:
    staged, active, *withdrawn = lives_at(a_year)
    assert states(staged) == ["staged", "staged planned"]
    assert states(active) == ["staged", "active", "active planned"]
    assert [states(life) for life in withdrawn] == [["staged", "active", "retired", "withdrawn"]] * 2
    assert staged.spans[-1].ends == active.spans[-1].ends  # the staged key takes over then
    assert staged.ahead.startswith(f"Key {in_state(State.STAGED)} takes over on ")
    for life in (staged, active, *withdrawn):
        for before, after in zip(life.spans, life.spans[1:], strict=False):
            assert before.ends == after.begins


def test_the_next_key_is_drawn_before_it_is_there(now: datetime) -> None:
    due_steps.rotate(now=now)
    coming, active = lives_at(now)
    assert (coming.kid, states(coming)) == (None, ["staged planned"])
    assert coming.spans[0].begins == now + 88 * DAY
    assert coming.spans[0].ends == active.spans[-1].ends == now + 90 * DAY


def test_a_key_that_waits_for_its_certificate_has_no_planned_time(now: datetime, settings: Any) -> None:
    due_steps.rotate(now=now - DAY)
    settings.SELF_CERTIFYING_AUTHORITY = False
    transitions.stage(now=now)
    staged, active = lives_at(now)
    assert states(staged) == ["staged"]
    assert states(active) == ["staged", "active"]
    assert "waits for its certificate" in staged.ahead


def test_keys_withdrawn_long_ago_are_left_out(now: datetime) -> None:
    for number in range(MOST_WITHDRAWN + 2):
        key = transitions.stage(now=now - (40 - number) * DAY)
        transitions.withdraw(key.pk, reason="a drill", now=now - (40 - number) * DAY)
    assert len(lives_at(now)) == MOST_WITHDRAWN
    assert lives_at(now + timedelta(days=250)) == []


@pytest.mark.slow
def test_everything_is_placed_between_the_edges_and_in_order(a_year: datetime) -> None:
    drawn = Timeline(lives_at(a_year), now=a_year)
    for row in drawn.rows:
        places = [(float(bar["x"][:-1]), float(bar["width"][:-1])) for bar in row["bars"]]
        assert all(x >= 0 and width > 0 and x + width <= 100.01 for x, width in places)
        assert [x for x, _ in places] == sorted(x for x, _ in places)
        assert all(
            row["label_y"] < bar["y"] and bar["y"] + bar["height"] <= drawn.bottom for bar in row["bars"]
        )
    past = [bar for row in drawn.rows for bar in row["bars"] if not bar["span"].planned]
    assert all(float(bar["x"][:-1]) <= float(drawn.now_x[:-1]) for bar in past)


def test_a_moment_of_no_length_can_be_drawn(now: datetime) -> None:
    drawn = Timeline([Life(None, "", (Span(State.STAGED, now, now),))], now=now)
    assert (drawn.rows[0]["bars"][0]["x"], drawn.now_x) == ("0.00%", "0.00%")


@pytest.mark.slow
def test_the_list_of_keys_shows_the_picture_with_its_words_and_the_same_as_a_table(
    client: Client, a_year: datetime
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(LIST).content.decode()
    svg = ElementTree.fromstring(re.search(r"<svg width.*?</svg>", page, re.DOTALL)[0])  # type: ignore[index]
    assert svg.get("role") == "img"
    named = {part.get("id"): part.text for part in svg if part.get("id")}
    assert set(named) == set((svg.get("aria-labelledby") or "").split())
    assert all(named.values())
    assert len(svg.findall("rect[@class='active']")) == 3
    assert len(svg.findall("rect[@class='staged planned']")) == 1
    for life in lives_at(a_year):
        assert f'<th scope="row">{life.kid}</th>' in page


def test_before_the_first_key_nothing_is_drawn(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert "<svg width" not in client.get(LIST).content.decode()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_fits_a_phone_in_light_and_dark(page: Any, live_server: Any, scheme: str) -> None:

    due_steps.rotate(now=timezone.now() - 100 * DAY)
    due_steps.rotate(now=timezone.now())
    User.objects.create_superuser("operator", password="a long pass phrase")
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{live_server.url}{LIST}")
    page.fill("input[name=username]", "operator")
    page.fill("input[name=password]", "a long pass phrase")
    page.locator("input[type=submit]").click()

    picture = page.get_by_role("img", name="The life of the signing keys")
    assert picture.bounding_box()["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    background = "getComputedStyle(document.body).backgroundColor"
    fill = "getComputedStyle(document.querySelector('.timeline rect.active')).fill"
    assert page.evaluate(fill) != page.evaluate(background)
    page.get_by_text("The same as a table").click()
    table = page.locator(".timeline table")
    assert table.get_by_role("rowheader", name=str(in_state(State.ACTIVE))).is_visible()
    assert_no_barriers(page)
