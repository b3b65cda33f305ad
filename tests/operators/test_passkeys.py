"""Operators prove the second factor with passkeys: added, used, removed; and what attackers try."""

from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.conf import settings as project_settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from infra import second_factors
from infra.models import AuditLine, OperatorPasskey, RecoveryCode, SecondFactor
from infra.sealing import sha256_hex
from operators import passkeys
from tests.operators.actions_on_record import actions
from tests.operators.one_time_codes import SECRET, code
from tests.wallet.authenticator import PRESENT, Authenticator
from tests.wallet.conftest import together
from wallet.account.fresh import FRESH_FOR
from wallet.models import PasskeyChallenge
from wallet.passkeys import assertion, options
from wallet.passkeys.assertion import Purpose
from wallet.passkeys.errors import PasskeyError

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
STEP, OPTIONS, OWN = (f"/admin/second-factor/{page}" for page in ("", "options/", "passkeys/"))
FRONT_DOOR = "wallet_passkey_front_door"


@pytest.fixture(autouse=True)
def _as_in_production(settings: Any) -> None:
    settings.OPERATOR_SECOND_FACTOR = True


def operator(name: str) -> User:
    user, before = User.objects.create_superuser(name), timezone.now() - timedelta(minutes=2)
    second_factors.set_up(user, SECRET, code(before), now=before)
    return user


def known(user: User) -> Client:
    """A session that has shown only the password."""
    client = Client()
    client.force_login(user)
    return client


def proved(user: User) -> Client:
    """A session that has just proved the second factor, with the app."""
    client = known(user)
    SecondFactor.objects.update(used_step=0)
    assert client.post(STEP, {"code": code()}).status_code == 302
    return client


def device(**fields: Any) -> Authenticator:
    return Authenticator(**{"origin": project_settings.BASE_URL, **fields})


def adds(client: Client, authenticator: Authenticator) -> Client:
    asked = client.post(f"{OPTIONS}?add").json()
    assert client.post(OWN, {"passkey": authenticator.create(asked)})["Location"] == OWN
    return client


def proves(client: Client, authenticator: Authenticator, **changes: Any) -> int:
    """The status of the second step with a signature, whose authenticator differs in `changes`."""
    posted = authenticator.changed(**changes).get(client.post(OPTIONS).json())
    return client.post(STEP, {"passkey": posted}).status_code


@pytest.fixture
def olga() -> User:
    return operator("olga")


@pytest.fixture
def key(olga: User) -> Authenticator:
    """Olga's passkey."""
    adds(proved(olga), authenticator := device())
    return authenticator


def test_an_operator_signs_in_with_a_passkey_or_still_the_app(olga: User, key: Authenticator) -> None:
    client = known(olga)
    assert "Passkeys need an up-to-date browser with JavaScript" in client.get(STEP).content.decode()
    asked, before = client.post(OPTIONS).json(), client.session.session_key
    assert [each["id"] for each in asked["allowCredentials"]] == [OperatorPasskey.objects.get().credential_id]
    assert (asked["rpId"], asked["userVerification"]) == (options.rp_id(), "required")

    done = client.post(STEP, {"passkey": key.get(asked), "next": "/admin/auth/user/"})

    assert (done.status_code, done["Location"]) == (302, "/admin/auth/user/")
    assert client.get("/admin/").status_code == 200
    assert client.session.session_key != before
    assert actions() == ["second_factor_used", "passkey_added", "passkey_used"]
    assert AuditLine.objects.get(action="passkey_added").about.startswith("infra.operatorpasskey:")
    assert proved(olga).get(OWN).status_code == 200


WRONG = [{"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"flags": PRESENT}]


@pytest.mark.parametrize(
    "changes", [*WRONG, {"user_handle": b"other"}, {"key": device().key}, {"credential_id": b"unknown"}]
)
def test_a_signature_that_is_not_as_asked_opens_nothing(
    olga: User, key: Authenticator, changes: dict[str, Any]
) -> None:
    client = known(olga)

    assert proves(client, key, **changes) == 403

    assert client.get("/admin/")["Location"].startswith("/admin/login/")
    assert actions()[-1] == "second_factor_refused"
    assert not PasskeyChallenge.objects.exists()  # used up although the signature was refused


def test_a_challenge_is_good_once_in_its_session_for_its_purpose(olga: User, key: Authenticator) -> None:
    client, other = known(olga), known(olga)
    posted = {"passkey": key.get(client.post(OPTIONS).json())}
    assert other.post(STEP, posted).status_code == 403
    assert client.post(STEP, posted).status_code == 302
    assert other.post(STEP, posted).status_code == 403
    session = sha256_hex(str(other.session.session_key))
    for purpose in Purpose:  # also those of holders; the right one has expired
        at = timezone.now() - (purpose is Purpose.OPERATOR_PROVES) * assertion.CHALLENGE_LIFETIME
        challenge = assertion.make_challenge(purpose, bound_to=session, now=at)
        assert other.post(STEP, {"passkey": key.get(options.to_sign(challenge))}).status_code == 403
    assert other.get("/admin/").status_code == 302


def test_operators_and_holders_do_not_sign_in_as_each_other(
    client: Client, olga: User, key: Authenticator
) -> None:
    posted = key.get(known(olga).post(OPTIONS).json())
    assert client.post(reverse(FRONT_DOOR), {"passkey": posted}).status_code == 410
    posted = key.get(client.post(reverse("wallet_passkey_options")).json())
    assert client.post(reverse(FRONT_DOOR), {"passkey": posted}).status_code == 403


def test_the_passkey_of_another_operator_opens_nothing(olga: User, key: Authenticator) -> None:
    otto = operator("otto")
    assert [proves(known(otto), key), proves(known(otto), key, user_handle=b"")] == [403, 403]


def test_a_sign_count_that_goes_back_is_refused(olga: User, key: Authenticator) -> None:
    assert [proves(known(olga), key, sign_count=count) for count in (5, 5, 0, 6)] == [302, 403, 403, 302]


@pytest.mark.usefixtures("windows_just_begun")
def test_refused_passkeys_count_as_wrong_codes(olga: User, key: Authenticator) -> None:
    client = known(olga)
    # One of the ten tries was the sign-in that added the passkey.
    assert [client.post(STEP, {"passkey": "x"}).status_code for _ in range(10)] == [403] * 9 + [429]
    assert proves(client, key) == 429


def test_only_a_complete_and_fresh_sign_in_adds_or_removes(olga: User, key: Authenticator) -> None:
    half, client = known(olga), proved(olga)
    posted = {"passkey": device().create(client.post(f"{OPTIONS}?add").json())}
    session = client.session
    session["second_factor_proved_at"] -= FRESH_FOR.total_seconds()
    session.save()

    for stale, where in ((half, "/admin/login/"), (client, STEP)):
        assert stale.post(f"{OPTIONS}?add").status_code == 403
        assert stale.post(OWN, posted)["Location"].startswith(where)
        assert stale.post(OWN, {"remove": "app"})["Location"].startswith(where)
    assert Client().post(OPTIONS).status_code == 403
    assert client.get("/admin/").status_code == 200
    assert client.get(client.get(OWN)["Location"]).status_code == 200  # asks for the factor once more
    signed = key.get(client.post(OPTIONS).json())
    assert client.post(STEP, {"passkey": signed, "next": OWN}, follow=True).redirect_chain == [(OWN, 302)]
    assert actions().count("passkey_added") == 1
    assert SecondFactor.objects.get().sealed_secret


def test_a_new_passkey_that_is_not_as_asked_or_not_new_is_refused(olga: User, key: Authenticator) -> None:
    client = proved(operator("otto"))
    for bad in (*(device(**fields) for fields in WRONG), key.changed()):
        assert "Nothing was changed." in adds(client, bad).get(OWN).content.decode()
    assert OperatorPasskey.objects.get().factor.operator == olga


def test_without_the_app_its_codes_are_refused_and_a_way_in_stays(olga: User, key: Authenticator) -> None:
    client, first = proved(olga), str(OperatorPasskey.objects.get().pk)
    RecoveryCode.objects.all().delete()
    client.post(OWN, {"remove": "app"})
    assert SecondFactor.objects.get().sealed_secret  # stays while no recovery code is left
    RecoveryCode.objects.create(digest="d", factor_id=olga.pk)
    client.post(OWN, {"remove": "app"})
    for last in (first, "nonsense", ""):
        client.post(OWN, {"remove": last})
    assert OperatorPasskey.objects.exists()
    assert actions()[-1] == "authenticator_app_removed"

    client = known(olga)
    SecondFactor.objects.update(used_step=0)
    assert client.post(STEP, {"code": code()}).status_code == 403
    assert proves(client, key) == 302
    adds(client, second := device()).post(OWN, {"remove": first})
    assert AuditLine.objects.get(action="passkey_removed").about == f"infra.operatorpasskey:{first}"
    assert [proves(known(olga), key), proves(known(olga), second)] == [403, 302]


def test_a_reset_removes_the_passkeys_and_ends_the_sessions(olga: User, key: Authenticator) -> None:
    client = known(olga)
    assert proves(client, key) == 302
    call_command("reset_second_factor", "olga", reason="Lost laptop")
    assert not OperatorPasskey.objects.exists()
    assert client.get("/admin/")["Location"].startswith("/admin/login/")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_one_signature_in_parallel_requests_one_counts(olga: User, key: Authenticator) -> None:
    client = known(olga)
    posted = {"passkey": key.get(client.post(OPTIONS).json())}
    request = cast(HttpRequest, SimpleNamespace(session=client.session, POST=posted))
    results = together(lambda _number: passkeys.signature(request, now=timezone.now()))
    assert [type(result) for result in results].count(PasskeyError) == 7


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_parallel_removals_leave_a_way_in(
    olga: User, key: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    factor, ways = SecondFactor.objects.get(), ("app", str(OperatorPasskey.objects.get().pk))
    both = Barrier(2)

    def record(*args: Any) -> None:
        """Before the commit of one, the other would be here too, if nothing made it wait."""
        with suppress(BrokenBarrierError):
            both.wait(0.5)

    def remove(number: int) -> None:
        request = RequestFactory().post(OWN, {"remove": ways[number]})
        request.user = olga
        passkeys.remove(request, factor, now=timezone.now())

    monkeypatch.setattr(passkeys, "record", record)
    results = together(remove, 2)
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "PasskeyError"]
