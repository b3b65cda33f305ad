"""What every identity provider has to stand, through the addresses that people and machines really use.

A provider is driven by its `Play`, found in the modules `…_play` beside this one. Whatever comes first (the
browser's return, a callback, the sweep), whatever is lost, doubled, late or forged: one result, charged once.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from infra.outbound import calls
from tests.people import NORA
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import together
from tests.wallet.providers.plays import Call, Play, all_plays, send
from wallet.credential import credentials
from wallet.identity import progress
from wallet.identity.state_machine import OPEN, SUBMISSIONS
from wallet.identity.sweeping import IDLE, STALE, STALE_BEGUN, sweep
from wallet.models import Credential, IdentityVerification, RedirectTask, Wallet

pytestmark = pytest.mark.slow
PLAYS = all_plays()
OTHER = "other@example.org"
MOMENT = timedelta(seconds=1)


@dataclass(frozen=True)
class End:
    """How an attempt stands after a kind of end: its state, the heading of its page, and what it cost."""

    state: str
    heading: str
    charged: int


ENDS = {
    "verified": End("approved", "", 1),
    "review": End("review", "Your check needs a closer look", 1),
    "again": End("resubmit", "Please try again", 1),
    "refused": End("declined", "Your identity could not be confirmed", 1),
    "not_here": End("cancelled", "Confirm your identity", 0),
    "failed": End("error", "The identity check had a problem", 0),
}


class Person:
    """Somebody with a browser and a redirect task, who goes through the provider's check."""

    def __init__(self, play: Play, email: str, secret: str) -> None:
        self.play, self.client = play, Client()
        self.wallet = Wallet.objects.create(email=email, created_at=timezone.now())
        now = timezone.now()
        digest = hashlib.sha256(secret.encode()).hexdigest()
        self.redirect_task: RedirectTask = make_redirect_task(
            self.client, now=now, email=email, browser=digest
        )
        self.client.cookies[configured.BROWSER_COOKIE_NAME] = secret

    @property
    def attempt(self) -> IdentityVerification:
        return IdentityVerification.objects.filter(wallet=self.wallet).latest("created_at")

    def begin(self) -> str:
        """Choose the provider; the address to which the browser is sent."""
        response = self.start()
        assert response.status_code == 303
        hub = reverse("wallet_identity", args=[self.redirect_task.id])
        if response.url != hub:
            return str(response.url)
        assert self.attempt.state == "started"
        response = self.client.get(reverse("wallet_identity_continue", args=[self.redirect_task.id]))
        assert response.status_code == 302
        return str(response.url)

    def start(self) -> Any:
        address = reverse("wallet_identity_start", args=[self.redirect_task.id])
        return self.client.post(address, {"provider": self.play.name})

    def ends(self, kind: str, address: str | None = None) -> None:
        """The person does at the provider what leads to this end; the browser stays there."""
        address = address or self.begin()
        self.play.browser = self.client
        self.play.person_ends(self.attempt, address, kind)

    def returns(self) -> Any:
        """The browser comes back, and follows to where the service sends it."""
        response = send(self.play.browser_returns(self.attempt), self.client)
        assert response.status_code in (302, 303), response.content
        return self.client.get(response.url)

    def hub(self) -> Any:
        return self.client.get(reverse("wallet_identity", args=[self.redirect_task.id]))

    def assert_ended(self, kind: str, *, before: int = 0) -> None:
        """State, charge, page and words fit; memory is gone; there is one credential or none."""
        end, attempt = ENDS[kind], self.attempt
        assert (attempt.state, attempt.submissions) == (end.state, before + end.charged)
        assert SUBMISSIONS.left(str(self.wallet.id), now=timezone.now()) == 5 - before - end.charged
        assert attempt.sealed_memory is None or attempt.state == "resubmit"
        assert Credential.objects.filter(wallet=self.wallet).count() == (kind == "verified")
        response = self.hub()
        if kind == "verified":
            assert (response.status_code, response.url) == (303, "/done/")
            assert attempt.evidence.verified_by
            return
        text = response.content.decode()
        assert response.status_code == 200
        assert f"<h1>{self.play.headings.get(kind, end.heading)}</h1>" in text
        assert 'href="/left/"' in text
        if kind != "failed":
            assert attempt.reason
            assert '<p class="notice' in text or kind in self.play.headings

    def assert_open(self) -> None:
        """Still begun, and nothing charged."""
        attempt = self.attempt
        assert (attempt.state, attempt.submissions) == ("started", 0)
        assert SUBMISSIONS.left(str(self.wallet.id), now=timezone.now()) == 5
        assert not Credential.objects.filter(wallet=self.wallet).exists()
        assert self.hub().status_code == 200


def calls_back(person: Person) -> Any:
    """The provider's machine says that there is news."""
    response = send(person.play.callback(person.attempt))
    assert response.status_code < 300, response.content
    return response


def time_passes(person: Person, span: timedelta) -> None:
    """What happened to the open attempt happened earlier by as much."""
    attempt = person.attempt
    if attempt.state not in OPEN:
        return
    for name in ("changed_at", "asked_at", "returned_at"):
        if before := getattr(attempt, name):
            setattr(attempt, name, before - span)
    attempt.save()


def swept(person: Person, after: timedelta = STALE_BEGUN) -> Counter[str]:
    """The sweep comes, long after the person has been at the provider."""
    time_passes(person, after + MOMENT)
    return sweep(now=timezone.now())


def gets_there(person: Person, kind: str) -> None:
    """The trouble is over: the person looks again, or begins again where the check ended uncharged."""
    if person.attempt.state in ("started", "processing"):
        person.hub()
    if person.attempt.state in ("created", "started", "error", "cancelled"):
        if person.attempt.state == "started":
            person.client.post(reverse("wallet_identity_cancel", args=[person.redirect_task.id]))
        person.ends(kind)
        person.returns()
    person.assert_ended(kind)


def plays_where(needs: Callable[[type[Play]], Any]) -> list[Any]:
    return [pytest.param(play, id=play.__name__) for play in PLAYS if needs(play)]


def kinds_where(needs: Callable[[type[Play]], Any]) -> list[Any]:
    return [
        pytest.param((play, kind), id=f"{play.__name__}-{kind}")
        for play in PLAYS
        if needs(play)
        for kind in sorted(play.kinds)
    ]


every_play = pytest.mark.parametrize("play", plays_where(lambda play: True), indirect=True)
every_kind = pytest.mark.parametrize("ending", kinds_where(lambda play: True), indirect=True)
every_polled_kind = pytest.mark.parametrize("ending", kinds_where(lambda play: play.polled), indirect=True)
every_called_kind = pytest.mark.parametrize(
    "ending", kinds_where(lambda play: play.calls_back), indirect=True
)
calling = pytest.mark.parametrize("play", plays_where(lambda play: play.calls_back), indirect=True)
later_deciding = pytest.mark.parametrize("play", plays_where(lambda play: play.decides_later), indirect=True)
remote = pytest.mark.parametrize("play", plays_where(lambda play: play.remote), indirect=True)
asking_again = pytest.mark.parametrize("play", plays_where(lambda play: "again" in play.kinds), indirect=True)


@pytest.fixture(scope="module")
def running() -> Iterator[Callable[[type[Play]], Play]]:
    """Gives the play of a class; its servers run from when it is first needed to the end of the module."""
    made: dict[type[Play], Play] = {}
    with ExitStack() as stack:

        def running(kind: type[Play]) -> Play:
            if kind not in made:
                made[kind] = kind()
                stack.enter_context(made[kind].running())
            return made[kind]

        yield running


@pytest.fixture
def play(request: Any, running: Callable[[type[Play]], Play], settings: Any) -> Play:
    found = running(request.param)
    settings.LOOPBACK_CALLS = True
    settings.IDENTITY_PROVIDERS = {found.name: dict(found.settings)}
    return found


@pytest.fixture
def ending(request: Any, running: Callable[[type[Play]], Play], settings: Any) -> tuple[Play, str]:
    kind_of_play, kind = request.param
    found = running(kind_of_play)
    settings.LOOPBACK_CALLS = True
    settings.IDENTITY_PROVIDERS = {found.name: dict(found.settings)}
    return found, kind


@pytest.fixture
def person_at(db: None, sign_in: Callable[..., Any]) -> Callable[..., Person]:
    """Makes a person who is signed in; another secret is another browser."""

    def person_at(play: Play, email: str = NORA, secret: str = "b" * 43) -> Person:
        person = Person(play, email, secret)
        sign_in(person.wallet, browser=person.client)
        play.browser = person.client
        return person

    return person_at


@pytest.fixture
def person(request: Any, person_at: Callable[..., Person]) -> Person:
    """Somebody who is signed in, and goes through the play of the test."""
    if "ending" in request.fixturenames:
        return person_at(request.getfixturevalue("ending")[0])
    return person_at(request.getfixturevalue("play"))


def best(play: Play) -> str:
    """An end that decides: verified where the provider can do that."""
    return next(kind for kind in ("verified", "review", "refused") if kind in play.kinds)


def test_there_are_plays() -> None:
    assert {play.__name__ for play in PLAYS} >= {"SimulatedPlay", "InPersonPlay"}


# --- Whatever comes first ----------------------------------------------------------------------------------


@every_kind
def test_each_end_is_reached_when_the_browser_returns_and_what_the_provider_kept_was_sealed(
    ending: tuple[Play, str], person: Person
) -> None:
    _play, kind = ending
    address = person.begin()
    secrets = list(texts_in(progress.check_of(person.attempt).memory))
    person.ends(kind, address)
    secrets += texts_in(progress.check_of(person.attempt).memory)
    row = str(IdentityVerification.objects.filter(id=person.attempt.id).values().get())
    assert not [secret for secret in secrets if len(secret) > 15 and secret in row]
    assert person.returns().status_code in (200, 303)
    person.assert_ended(kind)  # which looks whether the memory is gone


@every_called_kind
def test_each_end_is_reached_by_the_callback_alone(ending: tuple[Play, str], person: Person) -> None:
    _play, kind = ending
    person.ends(kind)
    calls_back(person)
    person.assert_ended(kind)


@every_polled_kind
def test_each_end_is_reached_by_the_sweep_alone(ending: tuple[Play, str], person: Person) -> None:
    _play, kind = ending
    person.ends(kind)
    swept(person)
    person.assert_ended(kind)


@every_kind
def test_a_late_return_changes_nothing_and_leads_on(ending: tuple[Play, str], person: Person) -> None:
    play, kind = ending
    person.ends(kind)
    call = play.browser_returns(person.attempt)
    if play.calls_back:
        calls_back(person)
    elif play.polled:
        swept(person)
    else:
        person.client.get(send(call, person.client).url)
    assert send(call, person.client).url == reverse("wallet_identity", args=[person.redirect_task.id])
    person.assert_ended(kind)


@every_called_kind
def test_returns_and_callbacks_doubled_and_in_any_order_come_to_one_result(
    ending: tuple[Play, str], person_at: Callable[..., Person]
) -> None:
    play, kind = ending
    orders = sorted(set(itertools.permutations(("call", "call", "return", "return"))))
    if kind != best(play):
        orders = [("call", "return", "call", "return"), ("return", "call", "return", "call")]
    for number, order in enumerate(orders):
        person = person_at(play, f"person{number}@example.org", secret=f"{number:043}")
        person.ends(kind)
        returning, calling = play.browser_returns(person.attempt), play.callback(person.attempt)
        for step in order:
            response = send(calling) if step == "call" else send(returning, person.client)
            assert response.status_code < 500
        person.hub()
        person.assert_ended(kind)


@every_polled_kind
def test_the_sweep_asks_after_five_minutes_and_not_sooner(ending: tuple[Play, str], person: Person) -> None:
    _play, kind = ending
    person.ends(kind)
    if person.attempt.state == "started":  # not decided on this host, while the person was there
        now = timezone.now()
        rows = IdentityVerification.objects.filter(id=person.attempt.id)
        rows.update(changed_at=now - STALE + MOMENT)
        assert sweep(now=now) == {}
        rows.update(changed_at=now - STALE)
        moved = sweep(now=now)
        del moved["forgotten"]  # what the provider is asked to erase once the result is there
        assert sum(moved.values()) == 1
    person.assert_ended(kind)


# --- Early, and never --------------------------------------------------------------------------------------


@every_play
def test_a_return_before_anything_was_submitted_charges_nothing_and_says_where_it_stands(
    play: Play, person: Person
) -> None:
    address = person.begin()
    back = reverse("wallet_identity_return", args=[person.attempt.id])
    assert person.client.get(back).url == reverse("wallet_identity", args=[person.redirect_task.id])
    text = person.hub().content.decode()
    assert "Checking your identity" in text
    assert "haven’t sent anything" not in text
    assert "Go on with the identity check" in text
    person.assert_open()
    person.ends(best(play), address)
    person.returns()
    person.assert_ended(best(play))


@later_deciding
def test_who_is_back_before_the_result_waits_and_then_gets_it(play: Play, person: Person) -> None:
    address = person.begin()
    play.person_submits(person.attempt, address, best(play))
    text = person.returns().content.decode()
    assert "Checking your identity" in text
    assert person.attempt.state in ("started", "processing")
    play.decide(person.attempt)
    person.hub()
    person.assert_ended(best(play))


@every_play
def test_the_link_to_the_provider_can_be_followed_again(play: Play, person: Person) -> None:
    person.begin()
    address = reverse("wallet_identity_continue", args=[person.redirect_task.id])
    assert person.client.get(address).status_code == 302
    person.ends(best(play), person.client.get(address).url)
    person.returns()
    person.assert_ended(best(play))


@every_play
def test_who_gives_up_and_comes_back_can_stop_uncharged_and_is_led_back(play: Play, person: Person) -> None:
    give_up(person)
    person.client.get(reverse("wallet_identity_return", args=[person.attempt.id]))
    assert person.hub().status_code == 200
    person.client.post(reverse("wallet_identity_cancel", args=[person.redirect_task.id]))
    assert (person.attempt.state, person.attempt.submissions) == ("cancelled", 0)
    text = person.hub().content.decode()
    assert '<p class="notice">' in text
    assert 'href="/left/"' in text
    person.ends(best(play))
    person.returns()
    person.assert_ended(best(play))


@every_play
def test_who_gives_up_and_never_comes_back_is_abandoned_uncharged(play: Play, person: Person) -> None:
    give_up(person)
    swept(person, IDLE)
    assert person.attempt.state in ("abandoned", "cancelled")  # a provider may know that the person stopped
    assert (person.attempt.submissions, person.attempt.sealed_memory) == (0, None)
    assert "Confirm your identity" in person.hub().content.decode()


def give_up(person: Person) -> None:
    address = person.begin()
    person.play.person_gives_up(person.attempt, address)


@every_polled_kind
def test_an_attempt_is_not_abandoned_when_the_provider_knows_its_end(
    ending: tuple[Play, str], person: Person
) -> None:
    play, kind = ending
    person.begin()
    person.hub()  # the provider was asked a moment ago, and knew nothing
    asked_at = person.attempt.asked_at
    person.ends(
        kind, person.client.get(reverse("wallet_identity_continue", args=[person.redirect_task.id])).url
    )
    if person.attempt.state == "started":
        time_passes(person, 2 * IDLE)
        IdentityVerification.objects.filter(id=person.attempt.id).update(asked_at=asked_at)
        with play.down():
            sweep(now=timezone.now())
        assert person.attempt.state != "abandoned"
        sweep(now=timezone.now())
    person.assert_ended(kind)


@asking_again
def test_after_an_invitation_to_try_again_the_old_result_does_not_count_for_the_new_try(
    play: Play, person: Person
) -> None:
    person.ends("again")
    old = play.callback(person.attempt) if play.calls_back else None
    person.returns()
    person.assert_ended("again")
    address = person.begin()
    for _ in range(2):
        person.hub()
        if old:
            send(old)
        assert (person.attempt.state, person.attempt.submissions) == ("started", 1)
    person.ends(best(play), address)
    person.returns()
    person.assert_ended(best(play), before=1)


# --- Strangers ---------------------------------------------------------------------------------------------


@calling
def test_a_forged_callback_is_refused_and_changes_nothing(play: Play, person: Person) -> None:
    person.ends(best(play))
    row = IdentityVerification.objects.filter(id=person.attempt.id)
    before = row.values().get()
    forgeries = list(play.forgeries(person.attempt))
    assert forgeries
    for forgery in forgeries:
        assert 400 <= send(forgery).status_code < 500, forgery
        assert row.values().get() == before
    calls_back(person)
    person.assert_ended(best(play))


@calling
def test_a_replayed_callback_changes_nothing_after_the_decision(play: Play, person: Person) -> None:
    person.ends(best(play))
    call = play.callback(person.attempt)
    calls_back(person)
    moves = person.attempt.transitions.count()
    for _ in range(3):
        assert send(call).status_code < 500
    assert person.attempt.transitions.count() == moves
    person.assert_ended(best(play))


@calling
def test_a_callback_that_comes_before_the_start_is_written_down_is_harmless(
    play: Play, person: Person
) -> None:
    person.ends(best(play))
    call = play.callback(person.attempt)
    row = IdentityVerification.objects.filter(id=person.attempt.id)
    written = row.values("state", "provider_reference", "sealed_memory").get()
    row.update(state="created", provider_reference="", sealed_memory=None)
    assert send(call).status_code < 500
    assert row.values_list("state", "submissions").get() == ("created", 0)
    row.update(**written)
    person.returns()
    person.assert_ended(best(play))


@calling
def test_a_callback_after_the_person_has_stopped_is_not_acted_on(play: Play, person: Person) -> None:
    person.ends(best(play))
    call = play.callback(person.attempt)
    person.client.post(reverse("wallet_identity_cancel", args=[person.redirect_task.id]))
    assert send(call).status_code < 500
    assert (person.attempt.state, person.attempt.submissions) == ("cancelled", 0)
    assert not Credential.objects.exists()


@every_play
@pytest.mark.parametrize("stranger", ["unknown", "signed in"])
def test_nothing_is_settled_for_a_stranger_who_brings_the_return(
    play: Play, person_at: Callable[..., Person], stranger: str
) -> None:
    person = person_at(play)
    person.ends(best(play))
    before = person.attempt.state
    call = play.browser_returns(person.attempt)
    browser = Client() if stranger == "unknown" else person_at(play, OTHER, "c" * 43).client
    response = send(call, browser)
    assert "another browser" in response.content.decode()
    assert person.attempt.state in (before, "cancelled")
    assert not Credential.objects.exists()
    if person.attempt.state == "cancelled":
        assert (person.attempt.reason, person.attempt.submissions) == ("other_browser", 0)
    else:
        person.returns()
        person.assert_ended(best(play))


@every_play
def test_two_wallets_at_once_are_never_mixed(play: Play, person_at: Callable[..., Person]) -> None:
    nora, other = person_at(play), person_at(play, OTHER, "c" * 43)
    address_of_nora, address_of_other = nora.begin(), other.begin()
    nora.ends(best(play), address_of_nora)
    call = play.browser_returns(nora.attempt)
    if play.calls_back:
        calls_back(nora)
    send(call, nora.client)
    nora.hub()
    other.assert_open()
    send(call, other.client)
    other.assert_open()
    nora.assert_ended(best(play))
    other_kind = next((kind for kind in ("refused", "not_here") if kind in play.kinds), best(play))
    other.ends(other_kind, address_of_other)
    other.returns()
    other.assert_ended(other_kind)
    nora.assert_ended(best(play))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
FROM_STRANGERS = st.builds(
    Call,
    path=st.tuples(
        st.sampled_from(["callback/", "return/"]), TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3)
    ).map(lambda parts: f"{parts[0]}{quote(parts[1])}?{urlencode(parts[2])}"),
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS"]),
    body=st.binary(max_size=200),
    headers=st.dictionaries(
        st.sampled_from(["content-type", "authorization", "stripe-signature", "x-simulated-signature"]),
        st.sampled_from(["", "application/json", "application/x-www-form-urlencoded", "t=1,v1=0", "x y"]),
    ),
)


@every_play
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=FROM_STRANGERS)
def test_whatever_strangers_send_is_no_error_and_moves_nothing(
    play: Play, person_at: Callable[..., Person], call: Call
) -> None:
    person = person_at(play) if not Wallet.objects.filter(email=NORA).exists() else None
    if person:
        person.begin()
    row = IdentityVerification.objects.filter(wallet__email=NORA)
    before = row.values_list("state", "submissions", "sealed_memory").get()
    address = reverse("wallet_identity_messages", args=[play.name])
    response = send(Call(address + call.path, call.method, call.body, call.headers))
    assert response.status_code < 500
    assert row.values_list("state", "submissions", "sealed_memory").get() == before


# --- Trouble at the provider -------------------------------------------------------------------------------

TROUBLES = ["down", "lying", "slow"]


@contextmanager
def trouble_at(play: Play, trouble: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, getattr(play, trouble)():
        if trouble == "slow":
            patch.setattr(calls, "DONE_WITHIN", 0.5)  # in place of five seconds
        yield


@remote
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_at_the_beginning_costs_nothing_and_the_person_can_begin_later(
    play: Play, person: Person, trouble: str
) -> None:
    with trouble_at(play, trouble):
        response = person.start()
        assert response.status_code in (303, 502)
        assert person.client.get(
            reverse("wallet_identity_continue", args=[person.redirect_task.id])
        ).status_code in (302, 303, 502)
        assert person.hub().status_code == 200
    assert person.attempt.state in ("created", "started")
    assert person.attempt.submissions == 0
    gets_there(person, best(play))


@remote
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_at_the_return_costs_nothing_and_is_got_over(
    play: Play, person: Person, trouble: str
) -> None:
    person.ends(best(play))
    with trouble_at(play, trouble):
        assert person.returns().status_code == 200
        swept(person, STALE)
    assert not Credential.objects.exists()
    if trouble != "lying":
        assert person.attempt.state in ("started", "processing")
    assert person.attempt.submissions == (person.attempt.state == "processing")
    gets_there(person, best(play))


@remote
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_at_the_callback_costs_nothing_and_is_got_over(
    play: Play, person: Person, trouble: str
) -> None:
    if not play.calls_back:
        return
    person.ends(best(play))
    with trouble_at(play, trouble):
        assert send(play.callback(person.attempt)).status_code < 500
    gets_there(person, best(play))


# --- What is kept, and what is written ---------------------------------------------------------------------


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)
    elif isinstance(value, str):
        yield value


@every_play
def test_the_log_says_nothing_of_the_person_and_no_secret(play: Play, person: Person, capsys: Any) -> None:
    address = person.begin()
    unsaid = [text for text in texts_in(progress.check_of(person.attempt).memory) if len(text) > 15]
    person.ends(best(play), address)
    if play.calls_back:
        for forgery in play.forgeries(person.attempt):
            send(forgery)
        calls_back(person)
    person.returns()
    person.assert_ended(best(play))
    unsaid.append(NORA)
    if credential := Credential.objects.first():
        paths = [("given_name",), ("family_name",), ("birth_date",)]
        shown = credentials.preview(credential, paths, today=timezone.localdate())
        unsaid += [str(claim.value) for claim in shown]
    written = capsys.readouterr().err
    assert "identity_verification_moved" in written
    assert not [text for text in unsaid if text in written]


# --- At once -----------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_return_callback_and_sweep_at_once_come_to_one_result(
    ending: tuple[Play, str], person: Person
) -> None:
    play, kind = ending
    person.ends(kind)
    returning = play.browser_returns(person.attempt)
    calling = play.callback(person.attempt) if play.calls_back else None
    time_passes(person, STALE + MOMENT)

    def act(number: int) -> int:
        if number % 3 == 0:
            browser = Client()
            browser.cookies.update(person.client.cookies)
            return int(send(returning, browser).status_code)
        if number % 3 == 1 and calling:
            return int(send(calling).status_code)
        sweep(now=timezone.now())
        return 200

    for came_to in together(act, 6):
        assert isinstance(came_to, int), came_to
        assert came_to < 500
    person.hub()
    person.assert_ended(kind)
    moves = Counter(person.attempt.transitions.values_list("to_state", flat=True))
    assert moves[ENDS[kind].state] == 1
    assert moves["submitted"] <= 1


@every_play
@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_tabs_that_begin_at_once_begin_one_check(play: Play, person: Person) -> None:
    def begin(number: int) -> int:
        browser = Client()
        browser.cookies.update(person.client.cookies)
        address = reverse("wallet_identity_start", args=[person.redirect_task.id])
        return int(browser.post(address, {"provider": play.name}).status_code)

    statuses = set(together(begin, 4))
    assert 303 in statuses
    assert statuses <= {303, 502}  # only so many threads may wait for one provider
    assert IdentityVerification.objects.get().state == "started"
    person.ends(
        best(play), person.client.get(reverse("wallet_identity_continue", args=[person.redirect_task.id])).url
    )
    person.returns()
    person.assert_ended(best(play))
