"""Credentials: issued, previewed, presented, suspended and revoked; no two presentations are linkable."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from infra.operations import WrongStateError
from infra.sealing import SealError, seal
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.jwk import public_key_from_der
from keys.jws import decode_segment, take_apart
from keys.models import SigningKey
from tests.people import DETAILS, enroll
from tests.wallet.conftest import together
from wallet.credential import claims, credentials, revocation
from wallet.credential.claims import CLAIMS, Identity
from wallet.credential.credentials import Binding, CredentialNotUsableError
from wallet.models import Credential, IdentityVerification, StatusEntry, Wallet
from wallet.sd_jwt.issuance import digest
from wallet.sd_jwt.parsing import parse
from wallet.sd_jwt.verification import verify

AUDIENCE, NONCE = "acme-bank", "n-0S6_WzA2MjAzNDU2Nzg5MA"
BASIC = [("given_name",), ("family_name",), ("age_equal_or_over", "18")]
State = Credential.State
SAID: dict[str, Any] = {
    "actor": "olga",
    "reason": "Reported stolen",
    "now": datetime(2026, 11, 21, 12, tzinfo=UTC),
}


def bound(now: datetime, **facts: Any) -> Binding:
    """What a presentation to Acme Bank is bound to."""
    request = {"audience": AUDIENCE, "nonce": NONCE, "transaction_data": [], "today": timezone.localdate(now)}
    return Binding(**(request | facts))


def presented(credential: Credential, paths: Any, binding: Binding, *, now: datetime) -> str:
    """One presentation."""
    (token,) = credentials.present(credential, [(paths, binding)], now=now)
    return token


@pytest.fixture
def present(alice: Wallet, signing_key: SigningKey) -> Callable[..., str]:
    """A presentation of Alice's credential to Acme Bank."""

    def present(paths: Any = BASIC, *, of: Any = None, **facts: Any) -> str:
        now = facts.pop("now", timezone.now())
        return presented(of or alice.credential, paths, bound(now, **facts), now=now)

    return present


@pytest.fixture
def read(signing_key: SigningKey) -> Callable[..., dict[str, Any]]:
    """The payload, verified as Acme Bank."""

    def read(token: str, **facts: Any) -> dict[str, Any]:
        key = public_key_from_der(signing_key.public_key)
        request: dict[str, Any] = {"audience": AUDIENCE, "nonce": NONCE, "now": timezone.now()}
        return verify(token, issuer_key=key, **(request | facts))

    return read


def _approved(wallet: Wallet, now: datetime) -> IdentityVerification:
    return IdentityVerification.objects.create(
        wallet=wallet, state="approved", provider="tests", created_at=now, changed_at=now
    )


# --- Presenting -------------------------------------------------------------------------------------------


def test_a_presentation_says_what_was_asked_and_nothing_else(present: Any, read: Any, settings: Any):
    payload = read(present())
    plain = {name: payload.pop(name) for name in ("iss", "vct", "iat", "exp", "cnf", "status")}
    assert payload == {"given_name": "Alice", "family_name": "Archer", "age_equal_or_over": {"18": True}}
    assert plain["iss"] == settings.BASE_URL
    assert plain["vct"] == f"{settings.BASE_URL}/credential-types/identity/v1"
    assert plain["status"].keys() == {"status_list"}
    assert plain["status"]["status_list"].keys() == {"idx", "uri"}
    assert plain["cnf"].keys() == {"jwk"}
    assert plain["cnf"]["jwk"].keys() == {"kty", "crv", "x", "y"}


def test_no_claims_asked_discloses_nothing(present: Any, read: Any):
    token = present([])
    assert token.count("~") == 1
    assert read(token).keys() == {"iss", "vct", "iat", "exp", "cnf", "status"}


@pytest.mark.parametrize("path", CLAIMS, ids=".".join)
def test_every_claim_can_be_presented_by_itself(path: Any, present: Any, read: Any):
    born = date(1990, 4, 1)
    eve = enroll("eve@example.org", given_name="Eve", family_name="", birth_date=born, details=DETAILS)
    payload = read(present([path], of=eve.credential, subject="a number"))
    assert payload.keys() - {"iss", "vct", "iat", "exp", "cnf", "status"} == {path[0]}
    if len(path) > 1:
        assert payload[path[0]].keys() == {path[1]}
    if path == ("place_of_birth",):  # as a whole
        assert payload["place_of_birth"] == DETAILS["place_of_birth"]


def test_without_a_number_no_presentation_says_that_somebody_can_be_recognised(present: Any):
    with pytest.raises(CredentialNotUsableError):
        present([("pairwise_subject",)])


def test_claims_asked_twice_or_as_lists_are_presented_once(present: Any, read: Any):
    token = present([["given_name"], ("given_name",)])
    assert read(token)["given_name"] == "Alice"
    assert token.count("~") == 2


@pytest.mark.parametrize(
    "path", [("shoe_size",), ("age_equal_or_over",), ("age_equal_or_over", "121"), ("iss",), ()]
)
def test_a_claim_the_credential_does_not_hold_is_no_smaller_answer(path: Any, present: Any):
    with pytest.raises(CredentialNotUsableError):
        present([("given_name",), path])


def test_the_headers_are_exactly_those_of_the_contract(present: Any, signing_key: SigningKey):
    parsed = parse(present())
    now = timezone.now()
    header = take_apart(parsed.jwt).header
    assert header == {
        "alg": "ES256",
        "typ": "dc+sd-jwt",
        "kid": str(signing_key.id),
        "x5c": list(active_issuer_key(now=now).x5c),
    }
    assert len(header["x5c"]) == 2
    assert take_apart(parsed.key_binding).header == {"alg": "ES256", "typ": "kb+jwt"}


def test_transaction_data_is_bound_in_the_order_of_the_request(present: Any, read: Any):
    sent = ["eyJhIjoxfQ", "eyJiIjoyfQ"]
    token = present(transaction_data=sent)
    assert read(token, transaction_data=sent)
    binding = decode_segment(parse(token).key_binding.split(".")[1])
    assert binding.keys() == {
        "iat",
        "aud",
        "nonce",
        "sd_hash",
        "transaction_data_hashes",
        "transaction_data_hashes_alg",
    }
    assert binding["transaction_data_hashes"] == [digest(value) for value in sent]
    assert binding["transaction_data_hashes_alg"] == "sha-256"


def test_without_transaction_data_the_key_binding_holds_four_claims(present: Any):
    binding = decode_segment(parse(present()).key_binding.split(".")[1])
    assert binding.keys() == {"iat", "aud", "nonce", "sd_hash"}
    assert isinstance(binding["iat"], int)


def test_age_is_that_of_the_day_of_presentation(signing_key: SigningKey, read: Any):
    now = timezone.now()
    birthday = (timezone.localdate(now) + timedelta(days=40)).replace(day=15)
    born = birthday.replace(year=birthday.year - 18)
    tom = enroll("tom@example.org", given_name="Tom", family_name="", birth_date=born)
    said = []
    for day in (birthday - timedelta(days=1), birthday):
        moment = datetime.combine(day, time(12), UTC)
        binding = bound(moment, today=day)
        token = presented(tom.credential, [("age_equal_or_over", "18")], binding, now=moment)
        said.append(read(token, now=moment)["age_equal_or_over"]["18"])
    assert said == [False, True]


def test_a_presentation_takes_its_place_in_a_list_and_asks_for_nothing_else(present: Any, statements: Any):
    present()
    with statements() as asked:
        present()
    (place,) = asked.texts
    assert "INSERT INTO wallet_statusentry" in place


# --- Times ------------------------------------------------------------------------------------------------


def test_times_tell_the_hour_and_no_more(present: Any, read: Any):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    seen = {
        (payload["iat"], payload["exp"])
        for moment in (hour, hour + timedelta(minutes=29, seconds=7), hour + timedelta(seconds=3599.9))
        for payload in [read(present(now=moment), now=moment)]
    }
    assert seen == {(int(hour.timestamp()), int(hour.timestamp()) + 86_400)}
    later = hour + timedelta(hours=1)
    assert read(present(now=later), now=later)["iat"] == int(hour.timestamp()) + 3600


def test_the_key_binding_tells_the_moment(present: Any):
    now = timezone.now() + timedelta(minutes=17)
    binding = decode_segment(parse(present(now=now)).key_binding.split(".")[1])
    assert binding["iat"] == int(now.timestamp())


def test_no_token_outlives_the_credential(alice: Wallet, present: Any, read: Any):
    end = alice.credential.expires_at
    assert (end.hour, end.minute, end.second, end.microsecond) == (10, 0, 0, 0)  # midnight in UTC+14
    Credential.objects.update(expires_at=timezone.now() + timedelta(hours=5))
    alice.credential.refresh_from_db()
    expires_at = read(present())["exp"]
    assert expires_at <= alice.credential.expires_at.timestamp()
    assert expires_at % 3600 == 0


def test_no_token_outlives_the_signing_certificate(alice: Wallet, present: Any, read: Any):
    not_after = active_issuer_key(now=timezone.now()).not_after
    moment = not_after - timedelta(hours=2)
    Credential.objects.update(expires_at=not_after + timedelta(days=400))
    alice.credential.refresh_from_db()
    ends = read(present(now=moment), now=moment)["exp"]
    assert moment.timestamp() < ends <= not_after.timestamp()


@pytest.mark.parametrize("left", [timedelta(seconds=-1), timedelta(0), timedelta(minutes=-90)])
def test_an_expired_credential_is_not_presented(left: timedelta, alice: Wallet, present: Any):
    now = timezone.now()
    alice.credential.expires_at = now + left
    assert credentials.valid_credential(alice, now=now) is None
    with pytest.raises(CredentialNotUsableError):
        present(now=now)


def test_a_credential_is_valid_exactly_as_long_as_it_can_be_presented(alice: Wallet, present: Any):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=3)
    alice.credential.expires_at = hour + timedelta(minutes=30)
    moment = hour + timedelta(minutes=10)
    assert credentials.valid_credential(alice, now=moment) is None
    with pytest.raises(CredentialNotUsableError):
        present(now=moment)
    assert credentials.valid_credential(alice, now=hour) is None
    moment = hour - timedelta(minutes=10)
    assert credentials.valid_credential(alice, now=moment) == alice.credential
    assert present(now=moment)


# --- Unlinkability ----------------------------------------------------------------------------------------


def _traces(token: str) -> set[str]:
    """Everything in a token by which two tokens of one person could be linked."""
    parsed = parse(token)
    payload = decode_segment(parsed.jwt.split(".")[1])
    salts, values = zip(*((d.content[0], d.content[-1]) for d in parsed.disclosures.values()), strict=True)
    return {
        *payload["_sd"],
        *(nested for value in values if isinstance(value, dict) for nested in value["_sd"]),
        *salts,
        *(disclosure.text for disclosure in parsed.disclosures.values()),
        *(payload["cnf"]["jwk"][coordinate] for coordinate in "xy"),
        parsed.jwt.split(".")[2],
        *parsed.key_binding.split(".")[1:],
        parsed.sd_hash,
    }


def test_two_presentations_share_nothing_that_links_them(present: Any):
    now = timezone.now()
    one, two = present(now=now), present(now=now)
    assert len(_traces(one)) > 20
    assert not _traces(one) & _traces(two)


def test_what_two_presentations_share_is_shared_by_everybody(present: Any, bob: Wallet, alice: Wallet):
    now = timezone.now()
    bob.credential.sealed_identity = seal(  # by an earlier release, which kept nothing of how he was verified
        Identity("Bob", "Baker", date(1985, 12, 24)).to_json(),
        context=f"wallet_credential.sealed_identity:{bob.credential.id}",
    )
    born = date(1990, 4, 1)
    eve = enroll("eve@example.org", given_name="Eve", family_name="", birth_date=born, details=DETAILS)
    payloads = [
        decode_segment(parse(presented(wallet.credential, BASIC, bound(now), now=now)).jwt.split(".")[1])
        for wallet in (alice, alice, bob, eve)
    ]
    for payload in payloads:
        assert len(payload.pop("_sd")) == claims.DIGESTS[()]  # claims, groups of claims, decoys
        del payload["cnf"]
        assert payload["status"]["status_list"].pop("idx") >= 0
        assert payload.pop("status")
    assert payloads[0] == payloads[1] == payloads[2] == payloads[3]


def test_the_holder_key_is_kept_nowhere(present: Any, statements: Any):
    present()
    with statements() as asked:
        present()
    assert not [text for text in asked.texts[:-1] if not text.startswith("SELECT")]
    kept = {field.name for field in StatusEntry._meta.fields}
    assert kept == {
        *("id", "status_list", "idx", "credential", "signing_key"),
        *("reference", "status", "expires_at"),
    }


# --- Previewing -------------------------------------------------------------------------------------------


def test_a_preview_shows_what_a_presentation_says(alice: Wallet, present: Any, read: Any):
    now = timezone.now()
    shown = credentials.preview(alice.credential, BASIC, today=timezone.localdate(now))
    assert [(str(claim.label), str(claim.value)) for claim in shown] == [
        ("Given name", "Alice"),
        ("Family name", "Archer"),
        ("Aged 18 or over", "Yes"),
    ]
    assert [claim.path for claim in shown] == BASIC
    assert "Alice" not in repr(shown)


def test_a_preview_of_an_unknown_claim_is_refused(alice: Wallet):
    with pytest.raises(CredentialNotUsableError):
        credentials.preview(alice.credential, [("shoe_size",)], today=date(2026, 1, 1))


# --- At rest ----------------------------------------------------------------------------------------------


def test_the_identity_is_sealed_and_good_for_its_own_row_only(alice: Wallet, bob: Wallet, present: Any):
    stored = bytes(alice.credential.sealed_identity)
    for secret in (b"Alice", b"Archer", b"1990"):
        assert secret not in stored
    alice.credential.sealed_identity = bob.credential.sealed_identity
    with pytest.raises(SealError):
        present()


def test_a_new_verification_takes_the_place_of_the_old_credential(alice: Wallet, present: Any, read: Any):
    now = timezone.now()
    old = alice.credential.id
    with transaction.atomic():
        credentials.issue(alice, Identity("Alice", "Baker", date(1990, 4, 1)), _approved(alice, now), now=now)
    alice = Wallet.objects.select_related("credential").get(id=alice.id)
    assert Credential.objects.count() == 1
    assert alice.credential.id == old
    token = present(of=alice.credential, now=now)
    assert read(token)["family_name"] == "Baker"


def test_without_a_signing_key_nothing_is_presented(alice: Wallet):
    with pytest.raises(NoSigningKeyError):
        presented(alice.credential, [], bound(now := timezone.now()), now=now)


# --- Suspending, reinstating, revoking --------------------------------------------------------------------


@pytest.mark.parametrize("move", [revocation.suspend, revocation.revoke])
def test_a_credential_set_aside_is_not_presented(move: Any, alice: Wallet, present: Any):
    move(alice.credential, **SAID)
    assert credentials.valid_credential(Wallet.objects.get(id=alice.id), now=timezone.now()) is None
    with pytest.raises(CredentialNotUsableError):
        present()


def test_a_suspended_wallet_has_no_valid_credential(alice: Wallet):
    alice.state = Wallet.State.SUSPENDED
    assert credentials.valid_credential(alice, now=timezone.now()) is None


def test_a_wallet_without_credential_has_none(nora: Wallet):
    assert credentials.valid_credential(nora, now=timezone.now()) is None


def test_a_valid_credential_that_is_loaded_costs_no_query(alice: Wallet, statements: Any):
    with statements() as asked:
        assert credentials.valid_credential(alice, now=timezone.now()) == alice.credential
    assert asked.texts == []


MOVES = {
    (State.VALID, revocation.suspend): State.SUSPENDED,
    (State.VALID, revocation.revoke): State.REVOKED,
    (State.SUSPENDED, revocation.reinstate): State.VALID,
    (State.SUSPENDED, revocation.revoke): State.REVOKED,
}


@pytest.mark.parametrize("origin", State)
@pytest.mark.parametrize("move", [revocation.suspend, revocation.reinstate, revocation.revoke])
def test_only_the_moves_of_the_diagram_are_made(origin: Any, move: Any, alice: Wallet):
    Credential.objects.update(state=origin)
    if (origin, move) in MOVES:
        move(alice.credential, **SAID)
    else:
        with pytest.raises(WrongStateError):
            move(alice.credential, **SAID)
    assert Credential.objects.get().state == MOVES.get((origin, move), origin)


def test_a_suspension_is_not_lifted_by_being_verified_again(alice: Wallet):
    now = timezone.now()
    revocation.suspend(alice.credential, **SAID)
    with pytest.raises(CredentialNotUsableError), transaction.atomic():
        credentials.issue(alice, Identity("Al", "Ice", date(1990, 4, 1)), _approved(alice, now), now=now)
    assert Credential.objects.get().state == State.SUSPENDED


def test_a_revoked_credential_is_replaced_by_being_verified_again(alice: Wallet):
    now = timezone.now()
    revocation.revoke(alice.credential, **SAID)
    with transaction.atomic():
        issued = credentials.issue(
            alice, Identity("Al", "Ice", date(1990, 4, 1)), _approved(alice, now), now=now
        )
    assert issued.state == State.VALID


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_hands_at_once_one_revokes():
    wallet = enroll("race@example.org", given_name="R", family_name="S", birth_date=date(1990, 1, 1))
    results = together(lambda number: revocation.revoke(Credential.objects.get(wallet=wallet), **SAID))
    assert sum(isinstance(result, WrongStateError) for result in results) == 7
    assert results.count(None) == 1
