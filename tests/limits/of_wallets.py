"""Trials of the limits of signing in, and of what a holder does in the wallet."""

from contextlib import suppress
from itertools import count

import pytest
from django.core import mail
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from consent import requesters
from tests.limits.trial import Begin, Trial, address, browser, over_http, raising, silently
from tests.people import NORA
from tests.wallet.attempts import attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.conftest import code_in
from tests.wallet.requesting_codes import asks
from tests.wallet.requesting_codes import browser as cookie
from wallet.account.address import changes
from wallet.identity import attempts, progress, recoveries, state_machine
from wallet.identity.settling import settle
from wallet.models import Wallet
from wallet.providers.findings import SubmitAgain
from wallet.sign_in import allowances, codes, known_browsers
from wallet.sign_in.codes import WrongCodeError

SECOND_NETWORK = 100  # above it are client addresses of nobody


def gets_a_code(*, email: str, name: object, client: str) -> bool:
    """Whether a browser that asks for an e-mail gets a code in it, and not a link."""
    return asks(name, timezone.now(), client=client, email=email).link_until is None


def codes_per_client(_stage: pytest.FixtureRequest) -> Trial:
    numbers = count()
    return silently(
        lambda who: gets_a_code(email=f"{next(numbers)}@example.org", name="new", client=address(who))
    )


def links_per_client(_stage: pytest.FixtureRequest) -> Trial:
    numbers, now = count(), timezone.now()
    for who in range(2):
        for _ in range(allowances.CODES_PER_CLIENT.most):
            allowances.CODES_PER_CLIENT.take(address(who), now=now)

    def use(who: int) -> None:
        assert not gets_a_code(email=f"{next(numbers)}@example.org", name="new", client=address(who))

    return raising(use)


def redirect_tasks_per_client(_stage: pytest.FixtureRequest) -> Trial:
    numbers = count()

    def use(who: int) -> object:
        form = {"email": f"{next(numbers)}@example.org"}
        return browser(who).post(reverse("wallet_front_door"), form)

    return over_http(use, "You can ask again at <time", done=303)


def passkey_challenges(_stage: pytest.FixtureRequest) -> Trial:
    return over_http(lambda who: browser(who).post(reverse("wallet_passkey_options")), "too many requests")


def tries_per_client(_stage: pytest.FixtureRequest) -> Trial:
    task = asks("new", timezone.now(), client=address(SECOND_NETWORK))

    def use(who: int) -> None:
        with suppress(WrongCodeError):
            codes.redeem(task, "no code", client=address(who), now=timezone.now())

    return raising(use)


def codes_of_a_known_browser(_stage: pytest.FixtureRequest) -> Trial:
    for who in range(2):
        known_browsers.remember(cookie(who), NORA, now=timezone.now())
    return silently(lambda who: gets_a_code(email=NORA, name=who, client=address(SECOND_NETWORK)))


def codes_per_email_and_client(_stage: pytest.FixtureRequest) -> Trial:
    names = count()
    return silently(lambda who: gets_a_code(email=NORA, name=next(names), client=address(who)))


def codes_to_strangers(_stage: pytest.FixtureRequest) -> Trial:
    numbers = count()

    def use(who: int) -> bool:
        number = next(numbers)
        return gets_a_code(email=f"{who}@example.org", name=number, client=address(number))

    return silently(use)


def notices(stage: pytest.FixtureRequest) -> Trial:
    wallets = [stage.getfixturevalue(name) for name in ("alice", "bob")]

    def use(who: int) -> bool:
        before = len(mail.outbox)
        request = RequestFactory().get("/")
        known_browsers.tell_of_new_browser(request, wallets[who], is_known_browser=False, now=timezone.now())
        return len(mail.outbox) > before

    return silently(use)


def signed_in(stage: pytest.FixtureRequest) -> list[Client]:
    """The browsers of Alice and Bob."""
    browsers = [Client(), Client()]
    for one, name in zip(browsers, ("alice", "bob"), strict=True):
        stage.getfixturevalue("sign_in")(stage.getfixturevalue(name), browser=one)
    return browsers


def downloads(stage: pytest.FixtureRequest) -> Trial:
    browsers = signed_in(stage)
    return over_http(lambda who: browsers[who].get(reverse("wallet_data_json")), "You can do it again at")


def closings(stage: pytest.FixtureRequest) -> Trial:
    browsers, wallets = signed_in(stage), [stage.getfixturevalue(name) for name in ("alice", "bob")]

    def use(who: int) -> bool:
        assert browsers[who].post(reverse("wallet_close")).status_code == 303
        closes = Wallet.objects.get(pk=wallets[who].pk).closes_at is not None
        browsers[who].post(reverse("wallet_close_keep"))
        return closes

    return silently(use)


def reports(stage: pytest.FixtureRequest) -> Trial:
    wallets, numbers = [stage.getfixturevalue(name) for name in ("alice", "bob")], count()
    return raising(
        lambda who: requesters.report(
            wallets[who], f"party-{next(numbers)}", reason="other", text="", now=timezone.now()
        )
    )


def asks_for_a_code(wallet: Wallet, number: int) -> str:
    """The code to a new e-mail address. Each is asked for by itself; there is a pause between two."""
    now = timezone.now() + number * changes.RESEND_AFTER
    changes.ask(wallet, f"new{number}@example.net", browser="own", client=address(number), now=now)
    return code_in(mail.outbox[-1].body)


def address_codes(stage: pytest.FixtureRequest) -> Trial:
    wallets, numbers = [stage.getfixturevalue(name) for name in ("alice", "bob")], count()
    return raising(lambda who: asks_for_a_code(wallets[who], next(numbers)))


def address_changes(stage: pytest.FixtureRequest) -> Trial:
    wallets, numbers = [stage.getfixturevalue(name) for name in ("alice", "bob")], count()

    def use(who: int) -> None:
        number = next(numbers)
        code = asks_for_a_code(wallets[who], number)
        now = timezone.now() + number * changes.RESEND_AFTER
        changes.confirm(wallets[who], code, browser="own", client=address(number), now=now)

    return raising(use)


def recoveries_per_wallet(stage: pytest.FixtureRequest) -> Trial:
    wallets = [stage.getfixturevalue(name) for name in ("alice", "bob")]
    return raising(lambda who: recoveries.ask(wallets[who], "old@example.org", now=timezone.now()))


def new_wallets() -> list[Wallet]:
    """Two wallets without a credential."""
    return [
        Wallet.objects.create(email=f"new{who}@example.org", created_at=timezone.now()) for who in range(2)
    ]


def identity_attempts(_stage: pytest.FixtureRequest) -> Trial:
    wallets = new_wallets()

    def use(who: int) -> None:
        now = timezone.now()
        task = make_redirect_task(Client(), now=now, email=wallets[who].email)
        state_machine.cancel(attempts.attempt(wallets[who], task, "simulated", now=now), now=now)

    return raising(use)


def identity_submissions(_stage: pytest.FixtureRequest) -> Trial:
    tried = [attempt_in("started", wallet, timezone.now(), submissions=0) for wallet in new_wallets()]

    def use(who: int) -> None:
        now = timezone.now()
        state_machine.submit(tried[who], now=now)
        settle(tried[who], SubmitAgain("blurry"), now=now)
        progress.begin(tried[who], now=now)

    return raising(use)


def checked(stage: pytest.FixtureRequest) -> list[tuple[Client, object]]:
    """Two browsers of people who are signed in, with the redirect task in which they can be verified."""
    both = []
    for wallet in new_wallets():
        client = Client()
        stage.getfixturevalue("sign_in")(wallet, browser=client)
        both.append((client, make_redirect_task(client, now=timezone.now(), email=wallet.email).id))
    return both


def identity_starts(stage: pytest.FixtureRequest) -> Trial:
    both = checked(stage)

    def use(who: int) -> object:
        client, task = both[who]
        return client.post(reverse("wallet_identity_start", args=[task]))

    return over_http(use, "<time", done=303)


def identity_uploads(stage: pytest.FixtureRequest) -> Trial:
    stage.getfixturevalue("settings").IDENTITY_PROVIDERS = {"from_afar": {"verified_by": "Example Ltd"}}
    both = checked(stage)
    forms = [client.post(reverse("wallet_identity_start", args=[task])).url for client, task in both]
    return over_http(lambda who: both[who][0].post(forms[who], {"given_name": "N"}), "<time", done=422)


TRIALS: dict[str, Begin] = {
    "codes-per-client": codes_per_client,
    "links-per-client": links_per_client,
    "redirect-tasks-per-client": redirect_tasks_per_client,
    "passkey-challenges-per-client": passkey_challenges,
    "tries-per-client": tries_per_client,
    "codes-per-browser": codes_of_a_known_browser,
    "codes-per-browser-and-day": codes_of_a_known_browser,
    "codes-per-email-and-client": codes_per_email_and_client,
    "codes-to-strangers": codes_to_strangers,
    "notices-of-new-browsers": notices,
    "wallet-downloads": downloads,
    "closings-per-wallet": closings,
    "reports-per-wallet": reports,
    "address-codes-per-wallet": address_codes,
    "address-changes-per-wallet": address_changes,
    "recoveries-per-wallet": recoveries_per_wallet,
    "identity-attempts": identity_attempts,
    "identity-starts": identity_starts,
    "identity-uploads": identity_uploads,
    "identity-submissions": identity_submissions,
}
