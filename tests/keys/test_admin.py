"""The admin pages of signing keys."""

import re
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from infra import second_factors
from infra.models import AuditLine, SecondFactor
from keys.certificates.authority import authority
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import State, find, in_state
from operators.second_factor import MARK, PROVED_AT_PROVIDER
from presentation.models import RelyingParty
from tests.keys.admin_pages import LIST, operator, page
from tests.keys.chains import chain_for
from tests.operators.one_time_codes import SECRET, code, wrong
from tests.people import register

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
STEPS = ("activate", "retire", "certify", "withdraw")


@pytest.fixture
def keeper(db: None) -> Client:
    return operator("keeper", "view_signingkey", "change_signingkey", "view_authority")


@pytest.fixture
def auditor(db: None) -> Client:
    return operator("auditor", "view_signingkey")


@pytest.fixture
def unprivileged(db: None) -> Client:
    return operator("unprivileged")


@pytest.fixture
def keys(db: None) -> dict[str, SigningKey]:
    """A retired, an active and a staged key; the staged one may take over."""
    now = timezone.now()
    due_steps.rotate(now=now - timedelta(days=3))
    transitions.activate(transitions.stage(now=now - timedelta(days=2)).pk, now=now - timedelta(days=1))
    transitions.stage(now=now - timedelta(hours=4))
    return {key.state: key for key in SigningKey.objects.all()}


def test_the_list_shows_every_key_its_state_and_what_comes_next(keeper: Client, keys: Any) -> None:
    text = keeper.get(LIST).content.decode()
    for key in keys.values():
        assert str(key) in text
    assert f"Key {keys['staged']} takes over on" in text


def test_a_keys_page_shows_its_certificate_and_never_its_private_key(keeper: Client, keys: Any) -> None:
    text = keeper.get(page(keys["active"])).content.decode()
    assert "SANDBOX" in text
    assert re.search(r"([0-9A-F]{2} ){31}[0-9A-F]{2}", text)
    assert "localhost" in text
    assert bytes(keys["active"].sealed_private_key).hex() not in text
    assert "sealed" not in text
    assert 'name="_save"' not in text


def test_times_say_that_they_are_utc(keeper: Client, keys: dict[str, SigningKey]) -> None:
    staged_at = f"{keys['staged'].staged_at:%H:%M} UTC"

    assert staged_at in keeper.get(page(keys["staged"])).content.decode()


def test_nothing_can_be_typed_into_a_key(keeper: Client, keys: Any) -> None:
    keeper.post(page(keys["staged"]), {"state": "active", "reason": "mine", "chain_pem": "x"})
    assert find(keys["staged"].pk).state == State.STAGED
    assert find(keys["staged"].pk).reason == ""
    assert keeper.get(f"{LIST}add/").status_code == 403
    assert keeper.post(f"{LIST}{keys['active'].pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        ("staged", {"activate", "certify", "withdraw"}),
        ("active", {"retire", "certify", "withdraw"}),
        ("retired", {"withdraw"}),
    ],
)
def test_a_key_offers_the_steps_its_state_allows(
    keeper: Client, keys: Any, state: str, offered: set[str]
) -> None:
    text = keeper.get(page(keys[state])).content.decode()
    assert {step for step in STEPS if page(keys[state], step) in text} == offered


def test_asking_changes_nothing(keeper: Client, keys: Any) -> None:
    before = list(SigningKey.objects.values())
    for step in STEPS:
        assert keeper.get(page(keys["active"], step)).status_code == 200
    for step in ("stage", "rotate"):
        assert keeper.get(f"{LIST}do/{step}/").status_code == 200
    assert list(SigningKey.objects.values()) == before


def test_activating_asks_first_then_acts_and_is_logged(keeper: Client, keys: Any) -> None:
    asked = keeper.get(page(keys["staged"], "activate")).content.decode()
    assert "Let this key sign from now on?" in asked
    answer = keeper.post(page(keys["staged"], "activate"), follow=True)
    assert f"Key {keys['staged']} is active." in answer.content.decode()
    assert find(keys["staged"].pk).state == State.ACTIVE
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("keeper", str(keys["staged"].pk))
    assert entry.get_change_message() == f"Key {keys['staged']} is active."


def test_retiring_lets_the_staged_key_take_over(keeper: Client, keys: Any) -> None:
    keeper.post(page(keys["active"], "retire"))
    assert find(keys["active"].pk).state == State.RETIRED
    assert find(keys["staged"].pk).state == State.ACTIVE


def test_withdrawing_says_what_it_costs_and_wants_a_reason(keeper: Client, keys: Any) -> None:
    assert "become invalid" in keeper.get(page(keys["active"], "withdraw")).content.decode()
    for reason in ("", "   ", "x" * 201):
        answer = keeper.post(page(keys["active"], "withdraw"), {"reason": reason})
        assert answer.status_code == 200
        assert find(keys["active"].pk).state == State.ACTIVE
    keeper.post(page(keys["active"], "withdraw"), {"reason": "A laptop was stolen."})
    assert find(keys["active"].pk).reason == "A laptop was stolen."
    assert in_state(State.ACTIVE) == keys["staged"]
    assert "A laptop was stolen." in LogEntry.objects.get().get_change_message()


@pytest.fixture
def alone(keys: Any, settings: Any) -> SigningKey:
    """The only key that can sign, where the service makes no certificates; operators have a second factor."""
    settings.SELF_CERTIFYING_AUTHORITY = False
    settings.OPERATOR_SECOND_FACTOR = True
    transitions.withdraw(keys["staged"].pk, reason="lost", now=timezone.now())
    return find(keys["active"].pk)


@pytest.fixture
def proved(keeper: Client) -> Client:
    """The keeper, signed in with a second factor that was set up two minutes ago."""
    before, user = timezone.now() - timedelta(minutes=2), User.objects.get()
    factor, _codes = second_factors.set_up(user, SECRET, code(before), now=before)
    session = keeper.session
    session[MARK] = factor.enrolment
    session.save()
    return keeper


def test_withdrawing_the_only_key_that_can_sign_says_that_it_stops_the_service(
    proved: Client, alone: SigningKey, now: Any
) -> None:
    register("Acme Bank")
    register("Corner Shop")
    RelyingParty.objects.create(name="Gone", state="suspended", suspension_reason="x")
    asked = proved.get(page(alone, "withdraw")).content.decode()

    assert "This stops the service for everybody. Active relying parties: 2." in asked
    assert "0 unexpired credentials that it signed become invalid" in asked
    assert f"Type {str(alone.pk)[:8]} to stop the service" in asked
    assert 'autocomplete="one-time-code"' in asked


@pytest.mark.parametrize("name", ["", "{kid}", "x"])
@pytest.mark.parametrize("right_code", [True, False])
def test_it_is_withdrawn_only_with_its_name_and_a_fresh_code(
    proved: Client, alone: SigningKey, name: str, right_code: bool
) -> None:
    given = {"reason": "stolen", "typed_name": name.format(kid=str(alone.pk)[:8])}
    given["second_factor"] = code() if right_code else wrong()
    done = right_code and name == "{kid}"

    answer = proved.post(page(alone, "withdraw"), given)

    assert answer.status_code == (302 if done else 200)
    assert find(alone.pk).state == (State.WITHDRAWN if done else State.ACTIVE)
    if done:
        assert AuditLine.objects.filter(action="second_factor_used").exists()
        assert SecondFactor.objects.get().used_step


def test_the_code_that_signed_the_operator_in_or_withdrew_another_key_is_not_taken_again(
    proved: Client, alone: SigningKey
) -> None:
    digits = code()
    second_factors.prove(SecondFactor.objects.get(), digits, now=timezone.now())
    given = {"reason": "stolen", "typed_name": str(alone.pk)[:8], "second_factor": digits}

    answer = proved.post(page(alone, "withdraw"), given)

    assert "it was used already" in answer.content.decode()
    assert find(alone.pk).state == State.ACTIVE
    assert AuditLine.objects.filter(action="second_factor_refused").exists()


def test_codes_cannot_be_guessed_there_either(proved: Client, alone: SigningKey) -> None:
    given = {"reason": "stolen", "typed_name": str(alone.pk)[:8], "second_factor": wrong()}
    for _ in range(second_factors.TRIES[0].most):
        proved.post(page(alone, "withdraw"), given)

    answer = proved.post(page(alone, "withdraw"), {**given, "second_factor": code()})

    assert "Too many attempts" in answer.content.decode()
    assert find(alone.pk).state == State.ACTIVE


def test_an_operator_whose_factor_single_sign_on_proved_sets_up_one_of_this_service_first(
    keeper: Client, alone: SigningKey
) -> None:
    session = keeper.session
    session[PROVED_AT_PROVIDER] = True
    session.save()
    given = {"reason": "stolen", "typed_name": str(alone.pk)[:8], "second_factor": "123456"}

    answer = keeper.post(page(alone, "withdraw"), given)

    assert "first set up a second factor at /admin/second-factor/" in answer.content.decode()
    assert find(alone.pk).state == State.ACTIVE


@pytest.mark.parametrize("state", ["retired", "staged"])
def test_what_leaves_a_key_that_signs_needs_neither_name_nor_code(
    keeper: Client, keys: Any, settings: Any, state: str
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    keeper.post(page(keys[state], "withdraw"), {"reason": "stolen"})
    assert find(keys[state].pk).state == State.WITHDRAWN


def test_staging_and_rotating_from_the_list_are_logged(keeper: Client) -> None:
    keeper.post(f"{LIST}do/rotate/")
    assert in_state(State.ACTIVE)
    answer = keeper.post(f"{LIST}do/stage/", follow=True).content.decode()
    staged = in_state(State.STAGED)
    assert f"Staged key {staged}." in answer
    assert [entry.user.username for entry in LogEntry.objects.all()] == ["keeper", "keeper"]
    assert LogEntry.objects.get(action_flag=ADDITION).object_id == str(staged)
    assert keeper.get("/admin/").status_code == 200  # recent actions


def test_a_refused_step_says_why_and_is_not_logged(keeper: Client) -> None:
    now = timezone.now()
    due_steps.rotate(now=now)
    staged = transitions.stage(now=now)
    answer = keeper.post(page(staged, "activate"), follow=True).content.decode()
    assert "cached key sets may lack it" in answer
    assert find(staged.pk).state == State.STAGED
    assert not LogEntry.objects.exists()


def test_certificates_are_requested_and_installed_in_the_admin(keeper: Client, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    staged = transitions.stage(now=timezone.now())
    assert "not certified yet" in keeper.get(LIST).content.decode()
    assert page(staged, "activate") not in keeper.get(page(staged)).content.decode()
    assert "BEGIN CERTIFICATE REQUEST" in keeper.get(page(staged, "certify")).content.decode()
    wrong = keeper.post(page(staged, "certify"), {"chain": "hello"}, follow=True).content.decode()
    assert "not a chain of PEM certificates" in wrong
    keeper.post(page(staged, "certify"), {"chain": chain_for(staged, timezone.now())})
    assert find(staged.pk).certified_at
    assert page(staged, "activate") in keeper.get(page(staged)).content.decode()


def test_certificates_are_uploaded_as_files_of_any_kind(keeper: Client, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    staged = transitions.stage(now=timezone.now())
    assert "multipart/form-data" in keeper.get(page(staged, "certify")).content.decode()
    leaf, issuing, root = x509.load_pem_x509_certificates(chain_for(staged, timezone.now()).encode())
    as_der = [SimpleUploadedFile("ca.der", c.public_bytes(Encoding.DER)) for c in (root, leaf)]
    keeper.post(
        page(staged, "certify"),
        {"chain": issuing.public_bytes(Encoding.PEM).decode(), "chain_files": as_der},
    )
    chain = find(staged.pk).certified_chain
    assert chain
    assert chain.certificates == (leaf, issuing, root)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "Paste the certificates, or choose their files."),
        ([b"x" * 40_000, b"x" * 40_000], "too long for a certificate chain"),
    ],
)
def test_an_upload_of_nothing_or_too_much_is_asked_for_again(
    keeper: Client, settings: Any, files: list[bytes], reason: str
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    staged = transitions.stage(now=timezone.now())
    uploads = [SimpleUploadedFile("chain.pem", file) for file in files]
    answer = keeper.post(page(staged, "certify"), {"chain": "", "chain_files": uploads})
    assert reason in answer.content.decode()
    assert not find(staged.pk).certified_at


@pytest.mark.parametrize("who", ["auditor", "unprivileged"])
def test_who_may_not_change_keys_can_neither_ask_nor_act(
    who: str, keys: Any, request: pytest.FixtureRequest
) -> None:
    client: Client = request.getfixturevalue(who)
    before = list(SigningKey.objects.values())
    addresses = [page(key, step) for key in keys.values() for step in STEPS]
    for address in [*addresses, f"{LIST}do/stage/", f"{LIST}do/rotate/"]:
        assert client.get(address).status_code == 403
        assert client.post(address, {"reason": "because"}).status_code == 403
    assert list(SigningKey.objects.values()) == before


def test_an_auditor_reads_and_is_offered_nothing(auditor: Client, keys: Any) -> None:
    for address in (LIST, page(keys["active"])):
        answer = auditor.get(address)
        assert answer.status_code == 200
        assert "/do/" not in answer.content.decode()


def test_an_operator_without_permissions_sees_no_key(unprivileged: Client, keys: Any) -> None:
    assert unprivileged.get(LIST).status_code == 403
    assert unprivileged.get(page(keys["active"])).status_code == 403


def test_without_signing_in_everything_leads_to_the_sign_in(client: Client, keys: Any) -> None:
    for address in (LIST, page(keys["active"], "withdraw"), f"{LIST}do/rotate/"):
        answer = client.post(address, {"reason": "because"})
        assert answer.status_code == 302
        assert answer["Location"].startswith("/admin/login/")


def test_a_forged_form_without_token_is_refused(keys: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    assert client.post(page(keys["active"], "withdraw"), {"reason": "forged"}).status_code == 403
    assert find(keys["active"].pk).state == State.ACTIVE


@pytest.mark.parametrize("address", ["do/explode/", "do/activate/", "{kid}/do/stage/", "{kid}/do/explode/"])
def test_a_step_that_does_not_exist_there_is_not_found(keeper: Client, keys: Any, address: str) -> None:
    assert keeper.get(LIST + address.format(kid=keys["active"].pk)).status_code == 404


def test_the_step_of_a_key_that_does_not_exist_is_not_found(keeper: Client) -> None:
    assert keeper.get(f"{LIST}00000000-0000-0000-0000-000000000000/do/withdraw/").status_code == 404


def test_the_sandboxs_authority_is_shown_with_its_fingerprint_and_cannot_be_changed(keeper: Client) -> None:
    row = authority(now=timezone.now())
    text = keeper.get(f"/admin/keys/authority/{row.pk}/change/").content.decode()
    assert re.search(r"([0-9A-F]{2} ){31}[0-9A-F]{2}", text)
    assert "sealed" not in text
    assert keeper.post(f"/admin/keys/authority/{row.pk}/change/", {"root_pem": "x"}).status_code == 403
    assert keeper.get("/admin/keys/authority/").status_code == 200
