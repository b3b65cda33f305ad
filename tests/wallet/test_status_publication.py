"""The published lists: their contents, their signing, and the responses to relying parties."""

import gzip
import threading
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from infra.published import documents as keys_published
from infra.published.documents import NothingToPublishError
from keys import issuer_key
from keys.issuer_key import active_issuer_key
from keys.jwk import public_key_from_der
from keys.jws import decode_segment, take_apart
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from tests.keys.compact_jws import verify_compact
from tests.relying_party import status_at
from tests.wallet.conftest import together
from tests.wallet.statuses import (
    INVALID,
    SAID,
    SUSPENDED,
    VALID,
    presented,
    published,
    small_lists,
    status_of,
)
from wallet.credential import revocation
from wallet.models import StatusEntry, StatusList, Wallet
from wallet.operations import suspension
from wallet.status_lists import changes, endpoints, publication, statuses, upkeep
from wallet.status_lists.changes import Action

pytestmark = pytest.mark.usefixtures("signing_key")


@pytest.fixture(autouse=True)
def _documents_made_anew() -> None:
    endpoints.lists.refresh()
    endpoints.aggregation.refresh()


def address(entry: StatusEntry) -> str:
    return f"/status-lists/{entry.status_list_id}"


# --- Contents ---------------------------------------------------------------------------------------------


def test_a_list_is_signed_as_the_standard_has_it(alice: Wallet, signing_key: SigningKey) -> None:
    list_id = presented(alice).status_list_id
    token = publication.current(list_id).decode()

    payload = verify_compact(token, public_key_from_der(signing_key.public_key), typ="statuslist+jwt")
    header = take_apart(token).header

    now = timezone.now().timestamp()
    assert header.keys() == {"alg", "typ", "kid", "x5c"}
    assert (header["kid"], len(header["x5c"])) == (str(signing_key.pk), 2)
    assert payload["sub"] == f"{settings.BASE_URL}/status-lists/{list_id}"
    assert payload.keys() == {"sub", "iat", "exp", "ttl", "status_list"}
    assert abs(payload["iat"] - now) < 5
    assert payload["exp"] == payload["iat"] + 4 * 3600
    assert payload["ttl"] == 300
    assert payload["status_list"]["bits"] == 2
    assert payload["status_list"]["aggregation_uri"] == f"{settings.BASE_URL}/status-lists"


def test_a_list_has_room_for_a_million(alice: Wallet) -> None:
    content = published(presented(alice).status_list_id)["status_list"]

    assert status_at(content["lst"], 2, 2**20 - 1) == VALID
    with pytest.raises(AssertionError, match="no entry"):
        status_at(content["lst"], 2, 2**20)


def test_no_list_outlives_the_certificates_of_its_key(alice: Wallet, monkeypatch: Any) -> None:
    entry = presented(alice)
    end = active_issuer_key(now=timezone.now()).not_after
    monkeypatch.setattr(publication, "timezone", SimpleNamespace(now=lambda: end - timedelta(minutes=10)))

    assert published(entry.status_list_id)["exp"] == int(end.timestamp())


def test_what_is_presented_is_valid_among_what_is_not(alice: Wallet, bob: Wallet) -> None:
    now = timezone.now()
    good, taken_back = presented(alice), presented(bob)
    changes.change_presented(taken_back, Action.INVALIDATED, now=now, **SAID)

    assert (status_of(good), status_of(taken_back)) == (VALID, INVALID)


def test_a_suspension_passes_and_a_revocation_does_not(alice: Wallet) -> None:
    now, entry = timezone.now(), presented(alice)
    said = {"now": now, **SAID}
    seen = []
    steps = (
        lambda: changes.change_presented(entry, Action.SUSPENDED, **said),
        lambda: changes.change_presented(entry, Action.REINSTATED, **said),
        lambda: revocation.suspend(alice.credential, **said),
        lambda: revocation.reinstate(alice.credential, **said),
        lambda: suspension.suspend(alice, **said),
        lambda: suspension.reinstate(alice, **said),
        lambda: revocation.revoke(alice.credential, **said),
    )
    rows = StatusEntry.objects.select_related("credential__wallet", "signing_key")
    for step in steps:
        step()
        seen.append(status_of(entry))
        assert statuses.status_of(rows.get()) == seen[-1]

    assert seen == [SUSPENDED, VALID, SUSPENDED, VALID, SUSPENDED, VALID, INVALID]
    with pytest.raises(changes.NothingToChangeError):
        changes.change_presented(entry, Action.REINSTATED, **said)


def test_reinstating_what_is_above_does_not_reinstate_what_was_suspended_by_itself(alice: Wallet) -> None:
    said = {"now": timezone.now(), **SAID}
    entry, other = presented(alice), presented(alice)
    changes.change_presented(entry, Action.SUSPENDED, **said)
    suspension.suspend(alice, **said)
    suspension.reinstate(alice, **said)

    assert (status_of(entry), status_of(other)) == (SUSPENDED, VALID)


def test_invalid_outweighs_suspended(alice: Wallet) -> None:
    said = {"now": timezone.now(), **SAID}
    entry = presented(alice)
    changes.change_presented(entry, Action.INVALIDATED, **said)
    suspension.suspend(alice, **said)

    assert status_of(entry) == INVALID


def test_what_a_withdrawn_key_signed_is_invalid_and_what_the_next_signs_is_valid(
    alice: Wallet, signing_key: SigningKey
) -> None:
    before = presented(alice)
    transitions.withdraw(signing_key.pk, reason="stolen", now=timezone.now())
    due_steps.rotate(now=timezone.now())
    after = presented(alice)

    assert (status_of(before), status_of(after)) == (INVALID, VALID)


def test_what_a_retired_key_signed_stays_valid(alice: Wallet, signing_key: SigningKey) -> None:
    entry = presented(alice)
    staged = transitions.stage(now=timezone.now())
    transitions.activate(staged.pk, now=timezone.now() + timedelta(hours=2))

    assert status_of(entry) == VALID


def test_what_was_presented_before_a_revocation_stays_invalid_when_its_holder_is_verified_anew(
    alice: Wallet,
) -> None:
    now, entry = timezone.now(), presented(alice)
    revocation.revoke(alice.credential, now=now, **SAID)
    type(alice.credential).objects.update(state="valid")  # as after `credentials.issue`

    assert status_of(entry) == INVALID


def test_an_ended_credential_is_not_reported(alice: Wallet) -> None:
    entry = presented(alice)
    revocation.revoke(alice.credential, now=timezone.now(), **SAID)
    assert status_of(entry) == INVALID

    StatusEntry.objects.update(expires_at=timezone.now() - timedelta(minutes=11))
    assert status_of(entry) == VALID


def test_a_list_is_made_from_a_few_statements_however_many_places_are_taken(
    alice: Wallet, statements: Any
) -> None:
    entries = [presented(alice) for _ in range(20)]
    changes.change_presented(entries[0], Action.INVALIDATED, now=timezone.now(), **SAID)
    with statements() as asked:
        found = statuses.not_valid(entries[0].status_list_id, now=timezone.now())

    assert found == {entries[0].idx: INVALID}
    assert len(asked.texts) == 4


# --- Signing ----------------------------------------------------------------------------------------------


def signings(list_id: int) -> tuple[datetime | None, UUID | None]:
    row = StatusList.objects.get(pk=list_id)
    return row.signed_at, row.kid


def look(list_id: int, *, later: timedelta = timedelta(0), monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The token that an instance serves that much later."""
    moment = datetime.now(tz=timezone.get_default_timezone()) + later
    monkeypatch.setattr(publication, "timezone", SimpleNamespace(now=lambda: moment))
    return publication.current(list_id)


def test_on_another_domain_a_list_is_signed_at_once(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    list_id = presented(alice).status_list_id
    look(list_id, monkeypatch=monkeypatch)

    settings.BASE_URL = "https://new.example"
    moved = look(list_id, later=timedelta(seconds=10), monkeypatch=monkeypatch).decode()

    assert decode_segment(moved.split(".")[1])["sub"] == f"https://new.example/status-lists/{list_id}"


def test_an_unchanged_list_is_signed_anew_at_half_of_its_ttl_and_not_before(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = presented(alice).status_list_id
    first = look(list_id, monkeypatch=monkeypatch)

    early = look(list_id, later=timedelta(seconds=140), monkeypatch=monkeypatch)
    late = look(list_id, later=timedelta(seconds=160), monkeypatch=monkeypatch)

    assert early == first
    assert late != first


def test_a_changed_list_is_signed_at_the_next_look(alice: Wallet, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = presented(alice)
    first = look(entry.status_list_id, monkeypatch=monkeypatch)
    changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)

    soon = look(entry.status_list_id, later=timedelta(seconds=2), monkeypatch=monkeypatch)
    then = look(entry.status_list_id, later=timedelta(seconds=6), monkeypatch=monkeypatch)

    assert soon == first
    assert then != first


def test_a_new_key_signs_the_lists_at_the_next_look(
    alice: Wallet, signing_key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = presented(alice).status_list_id
    look(list_id, monkeypatch=monkeypatch)
    transitions.withdraw(signing_key.pk, reason="stolen", now=timezone.now())
    due_steps.rotate(now=timezone.now())

    look(list_id, later=timedelta(seconds=6), monkeypatch=monkeypatch)

    _signed_at, kid = signings(list_id)
    assert kid == SigningKey.objects.get(state=SigningKey.State.ACTIVE).pk != signing_key.pk


def test_a_look_from_the_future_does_not_stop_the_looking(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = presented(alice)
    look(entry.status_list_id, later=timedelta(days=300), monkeypatch=monkeypatch)
    changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)

    before = signings(entry.status_list_id)
    look(entry.status_list_id, monkeypatch=monkeypatch)
    assert signings(entry.status_list_id) != before


def test_while_another_instance_looks_the_stored_list_is_served(alice: Wallet) -> None:
    entry = presented(alice)
    stored = publication.current(entry.status_list_id)
    changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)
    StatusList.objects.update(checked_at=timezone.now())  # it has claimed the check, and not finished

    assert publication.current(entry.status_list_id) == stored


@pytest.mark.parametrize("signed_at", [None, timedelta(minutes=6)])
def test_a_list_too_old_to_be_served_is_signed_even_if_another_instance_checks_it(
    alice: Wallet, signed_at: Any
) -> None:
    entry = presented(alice)
    publication.current(entry.status_list_id)
    now = timezone.now()
    StatusList.objects.update(checked_at=now, signed_at=signed_at and now - signed_at, token="old")

    assert publication.current(entry.status_list_id) != b"old"
    assert StatusList.objects.get(pk=entry.status_list_id).token != "old"


def test_what_a_slow_instance_found_is_not_written_over_what_is_newer(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = presented(alice)
    not_valid, newer = statuses.not_valid, []

    def overtaken(list_id: int, *, now: datetime) -> dict[int, int]:
        found = not_valid(list_id, now=now)
        monkeypatch.setattr(statuses, "not_valid", not_valid)
        changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)
        StatusList.objects.update(checked_at=None)  # it takes so long that another instance checks, too
        newer.append(publication.current(list_id))
        return found

    monkeypatch.setattr(statuses, "not_valid", overtaken)
    served = publication.current(entry.status_list_id)

    assert served == newer[0]
    assert StatusList.objects.get(pk=entry.status_list_id).token.encode() == newer[0]


def test_without_a_signing_key_the_last_list_is_served_unless_its_key_is_withdrawn(
    alice: Wallet, signing_key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = presented(alice).status_list_id
    stored = look(list_id, monkeypatch=monkeypatch)
    retired = {"state": "retired", "retired_at": timezone.now()}
    SigningKey.objects.filter(pk=signing_key.pk).update(**retired)
    assert look(list_id, later=timedelta(hours=1), monkeypatch=monkeypatch) == stored
    with pytest.raises(NothingToPublishError):
        look(list_id, later=timedelta(hours=5), monkeypatch=monkeypatch)

    transitions.withdraw(signing_key.pk, reason="stolen", now=timezone.now())
    with pytest.raises(NothingToPublishError) as refused:
        look(list_id, later=timedelta(hours=1), monkeypatch=monkeypatch)
    assert refused.value.status == 503


def test_a_list_that_ended_with_the_certificates_of_its_key_is_not_served(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = presented(alice).status_list_id
    before_end = active_issuer_key(now=timezone.now()).not_after - timezone.now() - timedelta(minutes=1)
    stored = look(list_id, later=before_end, monkeypatch=monkeypatch)

    assert look(list_id, later=before_end + timedelta(seconds=2), monkeypatch=monkeypatch) == stored
    for later in (timedelta(seconds=62), timedelta(minutes=3)):
        with pytest.raises(NothingToPublishError) as refused:
            look(list_id, later=before_end + later, monkeypatch=monkeypatch)
        assert refused.value.status == 503


def test_while_the_database_is_away_a_list_is_served_until_it_ends(
    client: Client, alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = address(presented(alice))
    served, began = client.get(path).content, keys_published.monotonic()

    def away(list_id: int) -> bytes:
        raise OperationalError("connection refused")

    monkeypatch.setattr(publication, "current", away)
    answers = []
    for hours in (1, 2, 3, 3.9, 4.1):
        monkeypatch.setattr(keys_published, "monotonic", lambda now=began + hours * 3600: now)
        answers.append(client.get(path))

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 503]
    assert {answer.content for answer in answers[:-1]} == {served}
    assert {answer["Cache-Control"] for answer in answers[:-1]} == {"no-cache"}
    assert int(answers[-1]["Retry-After"]) > 0


def test_while_the_hardware_module_is_away_the_last_list_is_served(
    alice: Wallet, signing_key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_id = presented(alice).status_list_id
    stored = look(list_id, monkeypatch=monkeypatch)
    in_a_module = {"store": "pkcs11", "sealed_private_key": b""}  # which this process is not configured for
    SigningKey.objects.filter(pk=signing_key.pk).update(**in_a_module)
    issuer_key.forget()
    assert look(list_id, later=timedelta(hours=1), monkeypatch=monkeypatch) == stored


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_instances_at_once_one_signs(alice: Wallet) -> None:
    entry = presented(alice)
    publication.current(entry.status_list_id)
    changes.change_presented(entry, Action.INVALIDATED, now=timezone.now(), **SAID)
    StatusList.objects.update(checked_at=None)
    before = signings(entry.status_list_id)
    signed = []
    original = publication.token.signed
    lock = threading.Lock()

    def counting(*args: Any, **facts: Any) -> str:
        with lock:
            signed.append(args[0])
        return original(*args, **facts)

    publication.token.signed = counting  # type: ignore[assignment]
    try:
        results = together(lambda number: publication.current(entry.status_list_id))
    finally:
        publication.token.signed = original

    assert signed == [entry.status_list_id]
    assert all(isinstance(result, bytes) for result in results)
    assert signings(entry.status_list_id) != before


# --- Responses --------------------------------------------------------------------------------------------


def test_a_change_is_seen_at_every_instance_after_both_delays(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two instances, as two sets of documents. The tests change the clock instead of waiting."""
    entry = presented(alice)
    seconds = 0.0
    start = timezone.now()
    monkeypatch.setattr(keys_published, "monotonic", lambda: 1_000_000 + seconds)
    monkeypatch.setattr(
        publication, "timezone", SimpleNamespace(now=lambda: start + timedelta(seconds=seconds))
    )
    instances = [endpoints._document(entry.status_list_id) for _ in range(2)]

    def seen() -> list[int]:
        bodies = [document(RequestFactory().get("/")).content.decode() for document in instances]
        contents = [decode_segment(body.split(".")[1])["status_list"] for body in bodies]
        return [status_at(content["lst"], 2, entry.idx) for content in contents]

    assert seen() == [VALID, VALID]
    seconds = 1
    changes.change_presented(entry, Action.INVALIDATED, now=start, **SAID)
    assert seen() == [VALID, VALID]
    while seen() != [INVALID, INVALID]:
        seconds += 1
        assert seconds < 60 - endpoints.MAX_AGE
    assert seconds <= 12


def test_a_list_is_answered_as_relying_parties_and_caches_want_it(client: Client, alice: Wallet) -> None:
    path = address(presented(alice))
    answer = client.get(path, headers={"Accept": "application/statuslist+jwt"})

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/statuslist+jwt"
    assert answer.headers["Cache-Control"] == "public, max-age=30"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in answer.headers
    assert "Set-Cookie" not in answer.headers
    assert answer.content.count(b".") == 2

    again = client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    head = client.head(path)
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.content))
    assert client.options(path).headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert client.post(path).status_code == 405


def test_a_list_is_sent_compressed_to_those_who_take_it(client: Client, alice: Wallet) -> None:
    path = address(presented(alice))
    plain = client.get(path)
    small = client.get(path, headers={"Accept-Encoding": "br, gzip;q=0.8"})

    assert small.headers["Content-Encoding"] == "gzip"
    assert small.headers["Vary"] == "Accept-Encoding"
    assert small.headers["ETag"] != plain.headers["ETag"]
    assert small.headers["Content-Length"] == str(len(small.content))
    assert len(small.content) < len(plain.content)
    assert gzip.decompress(small.content) == plain.content
    same = {"Accept-Encoding": "gzip", "If-None-Match": small.headers["ETag"]}
    assert client.get(path, headers=same).status_code == 304


def test_all_published_lists_can_be_found(client: Client, alice: Wallet) -> None:
    upkeep.keep_open(now=timezone.now())
    retired = StatusList.objects.create(
        slot=0, opened_at=timezone.now(), closed_at=timezone.now(), retired_at=timezone.now()
    )
    ids = StatusList.objects.exclude(pk=retired.pk).order_by("id").values_list("id", flat=True)

    answer = client.get("/status-lists")

    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == {"status_lists": [f"{settings.BASE_URL}/status-lists/{pk}" for pk in ids]}
    assert client.get(f"/status-lists/{retired.pk}").status_code == 404


@pytest.mark.parametrize("name", ["0", "999999", "007", "-1", "x", "", "1/2", "9" * 40])
def test_an_unknown_list_is_not_found(client: Client, alice: Wallet, name: str) -> None:
    presented(alice)

    assert client.get(f"/status-lists/{name}").status_code == 404


@pytest.mark.parametrize(
    ("query", "code"),
    [("time=1686925000", 501), ("a=b&time", 501), ("time=now&time=then", 501), ("timeout=1&x=time", 200)],
)
def test_historical_lists_are_not_published(client: Client, alice: Wallet, query: str, code: int) -> None:
    path = address(presented(alice))
    assert (
        client.get(path).status_code == 200
    )  # made here: ahead of Django a test's connection would be closed
    said: list[str] = []
    environ = RequestFactory().get(f"{path}?{query}").environ
    endpoints.lists.wsgi(environ, lambda status, headers: said.append(status))

    assert client.get(f"{path}?{query}").status_code == code
    assert said[0].startswith(str(code))


def test_a_list_that_is_served_again_costs_no_query(client: Client, alice: Wallet, statements: Any) -> None:
    path = address(presented(alice))
    client.get(path)
    with statements() as asked:
        client.get(path)

    assert asked.texts == []


def test_a_new_list_is_served_at_once(client: Client, alice: Wallet) -> None:
    assert client.get("/status-lists/1").status_code in (200, 404)  # the IDs of the lists are cached now
    for row in small_lists(8):
        StatusList.objects.filter(pk=row.pk).update(closed_at=timezone.now())
    upkeep.keep_open(now=timezone.now())
    newest = StatusList.objects.latest("id")
    endpoints.lists._due = 0.0  # a tenth of a second later

    assert client.get(f"/status-lists/{newest.pk}").status_code == 200
