"""Operators prove a second factor before they reach any part of the admin; production always asks for it."""

import re
from base64 import b32decode
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from infra import second_factors
from infra.models import AuditLine, RecoveryCode, SecondFactor, SecondFactorReset
from infra.second_factors import WrongCodeError
from tests.config.starting import start
from tests.deployment_check import production_environment
from tests.operators.actions_on_record import actions
from tests.operators.admin_addresses import addresses
from tests.operators.one_time_codes import SECRET, code, wrong
from tests.wallet.conftest import together

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
STEP = "/admin/second-factor/"
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _as_in_production(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.OPERATOR_SECOND_FACTOR = True


@pytest.fixture
def olga() -> User:
    return User.objects.create_superuser("olga", "olga@example.org", PASSWORD)


@pytest.fixture
def factor(olga: User) -> SecondFactor:
    """Set up a minute ago, so that the present code is not used."""
    before = timezone.now() - timedelta(minutes=2)
    return second_factors.set_up(olga, SECRET, code(before), now=before)[0]


@pytest.fixture
def known(client: Client, olga: User) -> Client:
    """A session that has only shown the password."""
    client.post("/admin/login/", {"username": "olga", "password": PASSWORD})
    return client


def test_production_asks_for_it() -> None:
    print_it = "print(settings.OPERATOR_SECOND_FACTOR)"

    assert start(production_environment(), print_it).stdout.strip() == "True"
    assert start({"ENVIRONMENT": "sandbox"}, print_it).stdout.strip() == "False"


@pytest.mark.slow
@pytest.mark.parametrize("with_a_factor", [True, False])
def test_with_the_password_alone_no_address_of_the_admin_is_reached(
    known: Client, olga: User, request: pytest.FixtureRequest, with_a_factor: bool
) -> None:
    if with_a_factor:
        request.getfixturevalue("factor")
    own = {"/admin/login/", "/admin/logout/", STEP, f"{STEP}options/"}
    own |= {"/admin/single-sign-on/", "/admin/single-sign-on/return/"}  # another way to sign in
    reached = []
    for address in sorted(set(addresses()) - own):
        for value in (str(olga.pk), str(uuid4())):
            path = address.replace("{}", value)
            for response in (known.get(path), known.post(path, {"post": "yes", "reason": "x"})):
                if response.status_code not in (301, 302, 404) or (
                    response.status_code == 302 and not response["Location"].startswith("/admin/login/")
                ):
                    reached.append((path, response.status_code))

    assert reached == []
    assert set(actions()) == {"signed_in"}
    assert User.objects.filter(pk=olga.pk).exists()


def test_an_operator_sets_it_up_at_the_first_sign_in_and_goes_on(known: Client, olga: User) -> None:
    page = known.get("/admin/wallet/wallet/", follow=True)
    assert page.redirect_chain[-1][0].startswith(STEP)
    text = page.content.decode()
    assert "Set up your second factor" in text
    assert "data:image/svg" in text
    typed = re.search(r"<code>([A-Z2-7 ]+)</code>", text)[1].replace(" ", "")  # type: ignore[index]
    secret = b32decode(typed)
    codes = known.post(STEP, {"code": code(secret=secret), "next": "/admin/wallet/wallet/"})

    assert len(re.findall(r"\b(?:[a-z2-7]{4}-){3}[a-z2-7]{4}\b", codes.content.decode())) == 10
    assert 'href="/admin/wallet/wallet/"' in codes.content.decode()
    assert known.get("/admin/wallet/wallet/").status_code == 200
    assert actions() == ["signed_in", "second_factor_set_up", "list_seen"]
    kept = SecondFactor.objects.get()
    assert secret not in bytes(kept.sealed_secret)
    assert typed not in str(known.session.items())


def test_the_code_of_the_app_opens_the_admin_once(known: Client, factor: SecondFactor, olga: User) -> None:
    present = code()
    done = known.post(STEP, {"code": f"{present[:3]} {present[3:]}", "next": "/admin/auth/user/"})
    assert (done.status_code, done["Location"]) == (302, "/admin/auth/user/")
    assert known.get("/admin/").status_code == 200
    assert known.get(STEP).status_code == 302

    thief = Client()
    thief.post("/admin/login/", {"username": "olga", "password": PASSWORD})
    again = thief.post(STEP, {"code": present})

    assert again.status_code == 403
    assert "<title>Error: " in again.content.decode()
    assert thief.get("/admin/").status_code == 302
    assert actions() == ["signed_in", "second_factor_used", "signed_in", "second_factor_refused"]


def test_the_session_has_another_key_after_the_second_step(known: Client, factor: SecondFactor) -> None:
    """Whoever has put the key of a session into this browser, or has read it, is not let in with it."""
    before = known.session.session_key
    attacker = Client()
    attacker.cookies[settings.SESSION_COOKIE_NAME] = before

    assert known.post(STEP, {"code": code()}).status_code == 302

    assert known.session.session_key != before
    assert known.get("/admin/").status_code == 200
    assert attacker.get("/admin/")["Location"].startswith("/admin/login/")
    assert attacker.get(STEP)["Location"].startswith("/admin/login/")


def test_a_code_is_good_in_its_own_step_and_the_two_beside_it(olga: User) -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    factor, _codes = second_factors.set_up(olga, SECRET, code(start), now=start)
    at = start + timedelta(hours=1)

    for steps in (-2, 2):
        with pytest.raises(WrongCodeError):
            second_factors.prove(factor, code(at + steps * timedelta(seconds=30)), now=at)
    for steps in (-1, 0, 1):
        second_factors.prove(factor, code(at + steps * timedelta(seconds=30)), now=at)


@pytest.mark.parametrize("written", ["{} {}", "\u200e{}-{}\u200f", "Your code: “{}{}”", "１{}{}"])
def test_a_code_is_read_however_it_is_typed(olga: User, written: str) -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    factor, recovery_codes = second_factors.set_up(olga, SECRET, code(start), now=start)
    at = start + timedelta(hours=1)
    right = code(at).translate({ord("0") + digit: 0x0660 + digit for digit in range(10)})
    typed = written.format(right[:3], right[3:])

    if typed.startswith("１"):
        with pytest.raises(WrongCodeError):
            second_factors.prove(factor, typed, now=at)
    else:
        assert second_factors.prove(factor, typed, now=at) == "second_factor_used"
    first, second, third, *_left = recovery_codes
    for one in (
        first.upper().replace("-", "\u2011"),
        second.replace("-", " "),
        f"1. “{third}”, to be kept safe",
    ):
        assert second_factors.prove(factor, one, now=at) == "recovery_code_used"
    with pytest.raises(WrongCodeError):
        second_factors.prove(factor, first, now=at)


def test_the_code_that_set_the_app_up_is_used_up(olga: User) -> None:
    now = timezone.now()
    factor, _codes = second_factors.set_up(olga, SECRET, code(now), now=now)

    with pytest.raises(WrongCodeError):
        second_factors.prove(factor, code(now), now=now)


def test_a_code_of_a_factor_that_was_replaced_meanwhile_proves_nothing(
    olga: User, factor: SecondFactor
) -> None:
    """Between the reading of the factor and its use, a superuser reset it and the operator set up another."""
    now = timezone.now()
    other = bytes(20)
    earlier = now - timedelta(minutes=1)
    passed_on = second_factors.reset(olga, now=earlier)
    second_factors.set_up(olga, other, code(earlier, other), now=earlier, reset_code=passed_on)
    before = SecondFactor.objects.get().used_step

    with pytest.raises(WrongCodeError):
        second_factors.prove(factor, code(now), now=now)

    assert SecondFactor.objects.get().used_step == before


def test_a_recovery_code_is_good_once(known: Client, olga: User) -> None:
    now = timezone.now()
    _factor, codes = second_factors.set_up(olga, SECRET, code(now), now=now)

    assert known.post(STEP, {"code": codes[0].upper()}).status_code == 302
    other = Client()
    other.force_login(olga)
    assert other.post(STEP, {"code": codes[0]}).status_code == 403
    assert other.post(STEP, {"code": codes[1]}).status_code == 302
    assert RecoveryCode.objects.count() == 8
    assert "recovery_code_used" in actions()
    assert codes[2] not in "".join(RecoveryCode.objects.values_list("digest", flat=True))


@pytest.mark.parametrize("bad", ["", "000", "٠١٢٣٤٥", "\0", "x" * 400, "aaaa-bbbb-cccc-dddd", "-1", "²²²²²²"])
def test_anything_else_is_refused(known: Client, factor: SecondFactor, bad: str) -> None:
    assert known.post(STEP, {"code": bad}).status_code in (200, 403)
    assert known.get("/admin/").status_code == 302


@pytest.mark.usefixtures("windows_just_begun")
def test_guessing_ends_after_ten_codes_and_the_right_one_does_not_help_then(
    known: Client, factor: SecondFactor
) -> None:
    statuses = [known.post(STEP, {"code": wrong()}).status_code for _ in range(10)]
    assert statuses == [403] * 10

    limited = known.post(STEP, {"code": code()})

    assert limited.status_code == 429
    assert int(limited["Retry-After"]) > 0
    assert known.get("/admin/").status_code == 302


def test_the_secret_that_one_session_saw_is_not_that_of_another(known: Client, olga: User) -> None:
    thief = Client()
    thief.force_login(olga)

    def seen(client: Client) -> str:
        return re.search(r"<code>([A-Z2-7 ]+)</code>", client.get(STEP).content.decode())[1]  # type: ignore[index]

    assert seen(known) != seen(thief)
    assert seen(known) == seen(known)


def test_a_factor_that_is_set_up_cannot_be_replaced_with_the_password(
    known: Client, olga: User, factor: SecondFactor
) -> None:
    text = known.get(STEP).content.decode()
    assert "data:image" not in text
    with pytest.raises(WrongCodeError):
        second_factors.set_up(olga, bytes(20), code(secret=bytes(20)), now=timezone.now())
    assert known.post(STEP, {"code": code(secret=bytes(20))}).status_code == 403


@pytest.mark.parametrize("wanted", ["//evil.example/", "https://evil.example/admin/", "/wallet/", "/\\evil"])
def test_it_goes_on_to_pages_of_the_admin_only(known: Client, factor: SecondFactor, wanted: str) -> None:
    assert known.post(STEP, {"code": code(), "next": wanted})["Location"] == "/admin/"


def test_strangers_and_accounts_without_staff_status_have_no_second_step(client: Client) -> None:
    assert client.get(STEP)["Location"] == "/admin/login/"
    client.force_login(User.objects.create_user("nobody"))
    assert client.post(STEP, {"code": "000000"})["Location"] == "/admin/login/"
    assert not SecondFactor.objects.exists()


def test_one_can_sign_out_before_the_second_step(known: Client) -> None:
    assert known.post("/admin/logout/").status_code == 200
    assert known.get(STEP)["Location"] == "/admin/login/"


def test_another_superuser_resets_it_and_the_sessions_of_the_operator_end(
    known: Client, olga: User, factor: SecondFactor
) -> None:
    known.post(STEP, {"code": code()})
    otto = User.objects.create_superuser("otto")
    superuser = Client()
    superuser.force_login(otto)
    second = second_factors.set_up(otto, SECRET, code(), now=timezone.now())[0]
    session = superuser.session
    session["second_factor"] = second.enrolment
    session.save()
    address = f"/admin/auth/user/{olga.pk}/reset-second-factor/"
    assert address in superuser.get(f"/admin/auth/user/{olga.pk}/change/").content.decode()
    assert superuser.get(address).status_code == 200

    shown = superuser.post(address, {"reason": "Ticket 9"})

    assert shown.status_code == 200
    passed_on = re.search(r"<pre>([a-z2-7-]{19})</pre>", shown.content.decode())
    assert passed_on
    assert SecondFactorReset.objects.get().digest != passed_on[1]
    assert not SecondFactor.objects.filter(pk=olga.pk).exists()
    assert not RecoveryCode.objects.filter(factor=olga.pk).exists()
    assert known.get(STEP)["Location"] == "/admin/login/"
    line = AuditLine.objects.get(action="second_factor_reset")
    assert (line.operator_id, line.about) == (otto.pk, f"auth.user:{olga.pk}")
    assert superuser.get("/admin/").status_code == 200
    own = f"/admin/auth/user/{otto.pk}/reset-second-factor/"
    assert superuser.post(own, {"reason": "Me"}).status_code == 403


@pytest.mark.usefixtures("factor")
def test_nobody_but_a_superuser_resets_one(client: Client, olga: User, settings: Any) -> None:
    settings.OPERATOR_SECOND_FACTOR = False
    client.force_login(User.objects.create_user("audrey", is_staff=True))

    address = f"/admin/auth/user/{olga.pk}/reset-second-factor/"

    assert client.post(address, {"reason": "x"}).status_code == 403
    assert SecondFactor.objects.exists()


def test_a_session_from_before_a_reset_proves_nothing_afterwards(
    known: Client, olga: User, factor: SecondFactor
) -> None:
    known.post(STEP, {"code": code()})
    SecondFactor.objects.filter(pk=olga.pk).update(enrolment="another")

    assert known.get("/admin/").status_code == 302


@pytest.mark.parametrize(
    ("typed", "hours", "is_set_up"),
    [
        ("{code}", 1, True),
        (" {CODE} ", 23, True),
        ("", 1, False),
        ("aaaa-bbbb-cccc-dddd", 1, False),
        ("{code}", 25, False),
    ],
)
@pytest.mark.usefixtures("factor")
def test_after_a_reset_the_password_alone_sets_up_no_new_one(
    known: Client, olga: User, typed: str, hours: int, is_set_up: bool
) -> None:
    """A thief of a laptop has the password that the browser keeps."""
    passed_on = second_factors.reset(olga, now=timezone.now() - timedelta(hours=hours))
    known.force_login(olga)
    page = known.get(STEP)
    assert "Code of the reset" in page.content.decode()
    secret = b32decode(page.context["typed"].replace(" ", ""))

    reset_code = typed.format(code=passed_on, CODE=passed_on.upper())
    answer = known.post(STEP, {"code": code(timezone.now(), secret), "reset_code": reset_code})

    assert answer.status_code == (200 if is_set_up else 403)
    assert SecondFactor.objects.exists() is is_set_up
    assert SecondFactorReset.objects.exists() is not is_set_up


@pytest.mark.usefixtures("factor")
def test_the_code_of_a_reset_works_once_and_only_the_newest(olga: User) -> None:
    now = timezone.now()
    first, second = second_factors.reset(olga, now=now), second_factors.reset(olga, now=now)
    with pytest.raises(WrongCodeError):
        second_factors.set_up(olga, SECRET, code(now), now=now, reset_code=first)
    second_factors.set_up(olga, SECRET, code(now), now=now, reset_code=second)
    SecondFactor.objects.all().delete()
    second_factors.reset(olga, now=now)
    with pytest.raises(WrongCodeError):
        second_factors.set_up(olga, SECRET, code(now), now=now, reset_code=second)


def test_a_first_factor_asks_for_no_code_of_a_reset(known: Client) -> None:
    assert "Code of the reset" not in known.get(STEP).content.decode()


def test_the_last_superuser_resets_it_at_the_shell(olga: User, factor: SecondFactor) -> None:
    said = StringIO()
    call_command("reset_second_factor", "olga", reason="Lost phone", stdout=said)

    assert re.search(r"with this code: [a-z2-7-]{19}\n", said.getvalue())
    assert not SecondFactor.objects.exists()
    line = AuditLine.objects.get()
    assert (line.operator_id, line.action, line.about) == (
        None,
        "second_factor_reset",
        f"auth.user:{olga.pk}",
    )
    with pytest.raises(CommandError, match="no operator"):
        call_command("reset_second_factor", "nobody", reason="x")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_one_code_in_parallel_requests_one_counts(olga: User, kind: str) -> None:
    now = timezone.now()
    factor, codes = second_factors.set_up(olga, SECRET, code(now), now=now)
    later = now + timedelta(minutes=5)
    used = codes[0] if kind == "recovery" else code(later)

    results = together(lambda _number: second_factors.prove(factor, used, now=later))

    assert sum(isinstance(result, str) for result in results) == 1
    assert [type(result) for result in results].count(WrongCodeError) == 7


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_parallel_requests_one_sets_the_factor_up(olga: User) -> None:
    now = timezone.now()

    results = together(lambda _number: second_factors.set_up(olga, SECRET, code(now), now=now))

    assert [type(result) for result in results].count(WrongCodeError) == 7
    assert RecoveryCode.objects.count() == 10
