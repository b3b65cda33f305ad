"""Trials of the limits of the sandbox."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from sandbox.self_service import developer_sign_in
from tests.limits.trial import Begin, Trial, address, browser, over_http, silently
from tests.sandbox.developers import CHOSEN, HOME, make, signed_in

HOLDER, PLAYGROUND = "/sandbox/holder", "/playground/answers/"
TOO_OFTEN = "That was too often."


def mailing(stage: pytest.FixtureRequest) -> None:
    """A sandbox with EMAIL_URL, which sends e-mails to developers."""
    settings = stage.getfixturevalue("settings")
    settings.DEVELOPER_EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def emails_to(emails: Callable[[int], str], browsers: Callable[[int], Client]) -> Begin:
    """Whether a developer is sent an e-mail, but for the one in 15 minutes that there is beyond the limit."""

    def begin(stage: pytest.FixtureRequest) -> Trial:
        mailing(stage)
        now = timezone.now()
        for email in {emails(who) for who in range(2)}:
            developer_sign_in.EMAILS_PER_EMAIL_AFTER_THAT.take(email, now=now)

        def use(who: int) -> bool:
            before = len(mail.outbox)
            assert browsers(who).post(HOME, {"email": emails(who)}).status_code == 200
            return len(mail.outbox) > before

        return silently(use)

    return begin


def each_has(letter: str) -> str:
    return f"{letter}@shop.example"


def emails_to_known_browsers(stage: pytest.FixtureRequest) -> Trial:
    known = [signed_in(each_has(str(who))) for who in range(2)]
    return emails_to(lambda who: each_has(str(who)), lambda who: known[who])(stage)


def emails_from_anywhere(stage: pytest.FixtureRequest) -> Trial:
    numbers = count()
    return emails_to(lambda who: each_has(str(who)), lambda _who: browser(next(numbers)))(stage)


def emails_of_all(stage: pytest.FixtureRequest) -> Trial:
    """All have one count, so the second subject is a developer whose browser is known."""
    known, numbers = signed_in("known@shop.example"), count()
    mailing(stage)

    def use(who: int) -> Any:
        if who:
            return known.post(HOME, {"email": "known@shop.example"})
        number = next(numbers)
        return browser(number).post(HOME, {"email": each_has(str(number))})

    return over_http(use, TOO_OFTEN)


def emails_from_clients(stage: pytest.FixtureRequest) -> Trial:
    mailing(stage)
    numbers = count()
    return over_http(lambda who: browser(who).post(HOME, {"email": each_has(str(next(numbers)))}), TOO_OFTEN)


def as_an_error_of_the_form(use: Callable[[int], Any]) -> Trial:
    """A form that says so in place of being saved."""

    def refused(response: Any, _limit: object) -> bool:
        assert response.status_code in (303, 422), response.content
        return response.status_code == 422 and TOO_OFTEN in response.content.decode()

    return Trial(use, refused)


def registers_and_deletes(client: Client) -> Any:
    response = make(client)
    if response.status_code == 303:
        client.post(f"{response.headers['Location']}delete/")
    return response


def registrations_per_developer(_stage: pytest.FixtureRequest) -> Trial:
    developers = [signed_in(each_has(str(who))) for who in range(2)]
    return as_an_error_of_the_form(lambda who: registers_and_deletes(developers[who]))


def registrations_per_client(_stage: pytest.FixtureRequest) -> Trial:
    numbers = count()

    def use(who: int) -> Any:
        return registers_and_deletes(signed_in(each_has(str(next(numbers))), REMOTE_ADDR=address(who)))

    return as_an_error_of_the_form(use)


def of_their_own() -> list[tuple[Client, str]]:
    """Two developers, each with the page of an application."""
    developers = [signed_in(each_has(str(who))) for who in range(2)]
    return [
        (client, make(client, name=f"Shop {who}").headers["Location"])
        for who, client in enumerate(developers)
    ]


def changes_per_developer(_stage: pytest.FixtureRequest) -> Trial:
    own, numbers = of_their_own(), count()

    def use(who: int) -> Any:
        client, page = own[who]
        return client.post(page, CHOSEN | {"name": f"Name {next(numbers)}"})

    return as_an_error_of_the_form(use)


def secrets_per_developer(_stage: pytest.FixtureRequest) -> Trial:
    own = of_their_own()
    return over_http(lambda who: own[who][0].post(f"{own[who][1]}secret/"), TOO_OFTEN)


def holder_calls(_stage: pytest.FixtureRequest) -> Trial:
    def use(who: int) -> Any:
        return browser(who).post(HOLDER, {}, content_type="application/json")

    return over_http(use, "Too many requests.", done=400)


def playground_answers(_stage: pytest.FixtureRequest) -> Trial:
    states = count()

    def use(who: int) -> Any:
        form = f"vp_token=x&state=the-state-of-tab-{next(states)}"
        return browser(who).post(PLAYGROUND, form, content_type="application/x-www-form-urlencoded")

    return over_http(use)


TRIALS: dict[str, Begin] = {
    "developer-letters-per-browser": emails_to_known_browsers,
    "developer-letters-per-email-and-client": emails_to(lambda _who: each_has("a"), browser),
    "developer-letters-per-email-and-day": emails_from_anywhere,
    "developer-letters-per-client": emails_from_clients,
    "developer-letters": emails_of_all,
    "self-registrations-per-developer": registrations_per_developer,
    "self-registrations-per-client": registrations_per_client,
    "self-registration-changes": changes_per_developer,
    "self-registration-secrets": secrets_per_developer,
    "holder-calls-per-client": holder_calls,
    "playground-answers": playground_answers,
}
