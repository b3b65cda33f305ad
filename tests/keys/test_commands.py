"""The commands for signing keys, as an operator types them."""

import json
from contextlib import nullcontext
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from infra.moments import moment
from keys.models import Authority, KeyEvent, SigningKey, StatementKey
from keys.rotation import due_steps, transitions
from keys.rotation.states import PUBLISHED_BEFORE_SIGNING, State, find, in_state
from keys.sealed_columns import sealed_columns
from tests.keys.chains import chain_for
from tests.people import register
from tests.wallet.statuses import present
from wallet.models import Wallet

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.fixture
def long_ago() -> None:
    """A service that started hours ago, whose staged key has waited long enough."""
    due_steps.rotate(now=timezone.now() - timedelta(hours=4))
    due_steps.rotate(now=timezone.now() - timedelta(hours=4), kind=StatementKey)
    transitions.stage(now=timezone.now() - timedelta(hours=3))


def test_one_command_begins_and_can_be_repeated() -> None:
    assert "Activated key" in run("rotate_signing_keys")
    assert run("rotate_signing_keys").startswith("The key after ")


def as_json(*words: str) -> Any:
    return json.loads(run("rotate_signing_keys", "--json", *words))


def kinds(entries: Any) -> list[str]:
    return [one["what"] for one in entries]


def test_json_says_what_was_done_and_what_is_next() -> None:
    before = timezone.now().replace(microsecond=0)
    first = as_json()
    kid = str(in_state(State.ACTIVE))
    assert set(first) == {"at", "dry_run", "done", "next", "problems"}
    assert first["dry_run"] is False
    other = str(in_state(State.ACTIVE, StatementKey))
    assert [(one["what"], one["kid"]) for one in first["done"]] == [
        (what, each) for each in (kid, other) for what in ("staged", "activated")
    ]
    assert [set(one) for one in first["next"]] == [{"what", "kid", "at", "text"}] * 2
    assert (first["next"][0]["what"], first["next"][0]["kid"]) == ("stage", None)
    at = datetime.fromisoformat(first["next"][0]["at"])
    assert timedelta(days=88) <= at - before <= timedelta(days=88, minutes=1)
    assert first["problems"] == []
    assert as_json()["done"] == []


def test_the_text_is_the_one_of_the_json(long_ago: None) -> None:
    as_text = run("rotate_signing_keys").splitlines()
    report = as_json()
    assert as_text == [one["text"] for name in ("done", "problems", "next") for one in report[name]]


def test_a_dry_run_says_what_would_be_done_and_changes_nothing() -> None:
    due_steps.rotate(now=timezone.now() - timedelta(days=100))
    due_steps.rotate(now=timezone.now(), kind=StatementKey)
    transitions.stage(now=timezone.now() - timedelta(days=3))
    staged = str(in_state(State.STAGED))
    before = list(SigningKey.objects.values()), KeyEvent.objects.count()
    report = as_json("--dry-run")
    assert report["dry_run"] is True
    assert [(one["what"], one["kid"]) for one in report["done"]] == [("activate", staged)]
    assert f"Would activate key {staged}." in run("rotate_signing_keys", "--dry-run")
    assert (list(SigningKey.objects.values()), KeyEvent.objects.count()) == before
    assert kinds(as_json()["done"]) == ["activated", "retired"]


def test_a_dry_run_before_the_first_key_makes_none() -> None:
    assert "Would make the first key." in run("rotate_signing_keys", "--dry-run")
    assert not SigningKey.objects.exists()


def test_problems_are_reported_beside_the_steps_that_were_taken(settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    report = as_json()
    kid = str(in_state(State.STAGED))
    assert kinds(report["problems"]) == ["no_active_key"] * 2
    assert [(one["what"], one["kid"]) for one in report["next"]] == [
        ("certify", kid),
        ("certify", str(in_state(State.STAGED, StatementKey))),
    ]
    staged = SigningKey.objects.get()
    transitions.certify(
        staged.pk,
        chain_for(staged, timezone.now(), ends=timezone.now() + timedelta(days=5)),
        now=timezone.now(),
    )
    assert kinds(as_json()["problems"]) == ["no_active_key", "certificate_ends"]


def test_a_life_of_keys_from_the_shell(long_ago: None) -> None:
    first, second = str(in_state(State.ACTIVE)), str(in_state(State.STAGED))
    assert run("activate_signing_key") == f"Key {second} is active.\n"
    assert "Staged key" in run("stage_signing_key")
    assert "become invalid" in run("withdraw_signing_key", first, "--reason", "tidy", "--yes")
    assert [find(kid).state for kid in (first, second)] == [State.WITHDRAWN, State.ACTIVE]


def test_retiring_from_the_shell_lets_the_staged_key_take_over(long_ago: None) -> None:
    first = str(in_state(State.ACTIVE))
    assert run("retire_signing_key").startswith(f"Key {first} is retired; it leaves the key set on ")


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yesterday\n"])
def test_withdrawing_says_what_it_costs_and_waits_for_a_yes(
    long_ago: None, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    active = str(in_state(State.ACTIVE))
    monkeypatch.setattr("sys.stdin", StringIO(answer))
    out = StringIO()
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("withdraw_signing_key", active, "--reason", "lost", stdout=out)
    assert "become invalid" in out.getvalue()
    assert "[y/N]" in out.getvalue()
    assert find(active).state == State.ACTIVE


def test_in_an_emergency_one_command_withdraws_the_active_key_and_the_next_signs(
    long_ago: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    active, staged = str(in_state(State.ACTIVE)), str(in_state(State.STAGED))
    monkeypatch.setattr("sys.stdin", StringIO("y\n"))
    assert f"Key {staged} signs." in run("withdraw_signing_key", "--reason", "stolen")
    assert find(active).state == State.WITHDRAWN


def test_in_production_without_a_certified_key_a_withdrawal_says_what_to_do_next(
    long_ago: None, settings: Any
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    run("withdraw_signing_key", str(in_state(State.STAGED)), "--reason", "stolen", "--yes")
    said = run("withdraw_signing_key", str(in_state(State.ACTIVE)), "--reason", "stolen", "--yes")
    assert "nothing can be issued until one is" in said
    assert "No key signs now. Run stage_signing_key" in said
    with pytest.raises(CommandError, match="No key for credentials is active. Say which"):
        run("withdraw_signing_key", "--reason", "again", "--yes")


@pytest.mark.parametrize(("typed", "withdrawn"), [("y", False), ("{other}", False), ("{name}", True)])
def test_the_only_key_that_can_sign_is_withdrawn_only_by_its_name(
    long_ago: None, settings: Any, monkeypatch: pytest.MonkeyPatch, typed: str, withdrawn: bool
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    active, staged = str(in_state(State.ACTIVE)), str(in_state(State.STAGED))
    run("withdraw_signing_key", staged, "--reason", "stolen", "--yes")
    register("Acme Bank")
    with pytest.raises(CommandError, match="with --yes, name it"):
        run("withdraw_signing_key", "--reason", "stolen", "--yes")
    monkeypatch.setattr("sys.stdin", StringIO(typed.format(name=active[:8], other=staged[:8]) + "\n"))
    out = StringIO()
    with nullcontext() if withdrawn else pytest.raises(CommandError, match="Nothing was changed"):
        call_command("withdraw_signing_key", "--reason", "stolen", stdout=out)
    assert "0 unexpired credentials that it signed" in out.getvalue()
    assert "This stops the service for everybody. Active relying parties: 1." in out.getvalue()
    assert find(active).state == (State.WITHDRAWN if withdrawn else State.ACTIVE)


def test_production_sends_a_request_and_installs_the_chain(settings: Any, tmp_path: Path) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    printed = run("stage_signing_key")
    key = SigningKey.objects.get()
    request = x509.load_pem_x509_csr(printed[printed.index("-----BEGIN") :].encode())
    assert request.is_signature_valid
    assert (
        x509.load_pem_x509_csr(run("certify_signing_key", str(key)).encode()).public_key()
        == request.public_key()
    )
    chain = tmp_path / "chain.pem"
    chain.write_text(chain_for(key, timezone.now()))
    assert f"Certified key {key} until " in run("certify_signing_key", str(key), "--chain", str(chain))
    assert "Activated" in run("rotate_signing_keys")


def test_the_request_can_be_printed_again_by_its_own_command(settings: Any) -> None:
    with pytest.raises(CommandError, match="No key for credentials is staged"):
        run("signing_key_csr")
    settings.SELF_CERTIFYING_AUTHORITY = False
    settings.CERTIFICATE_SUBJECT = "O=Example Ltd,C=GB"
    key = transitions.stage(now=timezone.now())
    for words in (["signing_key_csr"], ["signing_key_csr", str(key)]):
        request = x509.load_pem_x509_csr(run(*words).encode())
        assert request.subject.rfc4514_string() == "CN=localhost,O=Example Ltd,C=GB"
    settings.CERTIFICATE_SUBJECT = "Example Ltd"
    with pytest.raises(CommandError, match="CERTIFICATE_SUBJECT is no distinguished name"):
        run("signing_key_csr")


def test_each_command_chooses_the_key_for_statements_by_what_it_signs(settings: Any, tmp_path: Path) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    statements = ("--for", "statements")
    run("stage_signing_key")
    run("stage_signing_key", *statements)
    key, chain = StatementKey.objects.get(), tmp_path / "chain.pem"
    request = x509.load_pem_x509_csr(run("signing_key_csr", *statements).encode())
    chain.write_text(chain_for(key, timezone.now()))

    said = run("certify_signing_key", *statements, "--chain", str(chain))
    said += run("activate_signing_key", *statements)

    assert (
        request.public_key()
        == x509.load_pem_x509_csr(transitions.certificate_request(key.pk).encode()).public_key()
    )
    assert said.startswith(f"Certified key {key} until ")
    assert said.endswith(f"Key {key} is active.\n")
    assert (find(key.pk).state, SigningKey.objects.get().state) == (State.ACTIVE, State.STAGED)
    with pytest.raises(CommandError, match="not allowed with argument"):
        run("withdraw_signing_key", str(key), *statements, "--reason", "stolen", "--yes")
    run("withdraw_signing_key", *statements, "--reason", "stolen", "--yes")
    assert find(key.pk).state == State.WITHDRAWN


def test_a_chain_in_several_der_files_is_installed(settings: Any, tmp_path: Path) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    key = transitions.stage(now=timezone.now())
    names = []
    for certificate in x509.load_pem_x509_certificates(chain_for(key, timezone.now()).encode()):
        names.insert(0, str(tmp_path / f"{len(names)}.der"))
        Path(names[0]).write_bytes(certificate.public_bytes(Encoding.DER))
    assert f"Certified key {key} until " in run("certify_signing_key", str(key), "--chain", *names)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["activate_signing_key"], "No key for credentials is staged"),
        (["activate_signing_key", "--for", "statements"], "No key for statements is staged"),
        (["retire_signing_key"], "No key for credentials is active"),
        (["activate_signing_key", "nonsense"], "There is no signing key"),
        (["withdraw_signing_key", "nonsense", "--reason", "x", "--yes"], "There is no signing key nonsense"),
        (["certify_signing_key", "nonsense"], "There is no signing key nonsense"),
        (
            ["certify_signing_key", "nonsense", "--chain", "/nowhere.pem"],
            "/nowhere.pem cannot be read: No such file",
        ),
        (["withdraw_signing_key", "nonsense"], "required: --reason"),
    ],
)
def test_what_cannot_be_done_is_one_clear_sentence(words: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        run(*words)


def test_what_is_due_later_is_said_with_its_time() -> None:
    run("rotate_signing_keys")
    run("stage_signing_key")
    with pytest.raises(CommandError, match="may sign from .* UTC: until then cached key sets may lack it"):
        run("activate_signing_key")
    with pytest.raises(CommandError, match="staged already"):
        run("stage_signing_key")
    assert timedelta(hours=1) < PUBLISHED_BEFORE_SIGNING


def test_a_chain_that_does_not_fit_is_refused_with_its_reason(settings: Any, tmp_path: Path) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    key = transitions.stage(now=timezone.now())
    for name, content, reason in (
        (
            "ended",
            chain_for(key, timezone.now(), ends=timezone.now() - timedelta(minutes=1)),
            "leaf .* ended on",
        ),
        ("text", "hello", "not a chain of PEM"),
        ("binary", "\xff\xfe", "not a chain of PEM certificates, nor of DER ones"),
        ("cut off", "\x30\x82\x04", "cut off, or something else"),
    ):
        path = tmp_path / name
        path.write_text(content, encoding="latin-1")
        with pytest.raises(CommandError, match=reason):
            run("certify_signing_key", str(key), "--chain", str(path))
    assert find(key.pk).chain_pem == ""


def test_a_lost_sealing_key_is_one_clear_sentence(settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    key = transitions.stage(now=timezone.now())
    settings.KEY_SEALING_KEYS = ["another-sealing-key-of-thirty-two-characters"]
    with pytest.raises(CommandError, match="not among KEY_SEALING_KEYS"):
        run("certify_signing_key", str(key))


@pytest.mark.parametrize(
    "words",
    [
        ("signing_key_csr", "KID"),
        ("certify_signing_key", "KID"),
        ("stage_signing_key",),
        ("rotate_signing_keys",),
        ("export_keys", "FILE", "--reason", "backup", "--passphrase-file", "PASSPHRASE"),
    ],
    ids=lambda words: words[0],
)
def test_where_ciphertexts_are_damaged_one_sentence_names_the_place_and_nothing_changes(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    due_steps.rotate(now=timezone.now() - timedelta(days=100))  # so that the next key is due
    for column in sealed_columns():
        for row in column.rows():
            value = bytes(getattr(row, column.name))
            damaged = value[:-1] + bytes([value[-1] ^ 1])
            type(row)._base_manager.filter(pk=row.pk).update(**{column.name: damaged})
    (tmp_path / "passphrase").write_text("five random words stand here")
    before = [list(model.objects.values()) for model in (SigningKey, Authority, KeyEvent)]
    kid, file = str(in_state(State.ACTIVE)), str(tmp_path / "keys.jwe")
    meant = {"KID": kid, "FILE": file, "PASSPHRASE": str(tmp_path / "passphrase")}

    with pytest.raises(
        CommandError, match=r"^keys_\w+\.sealed_\w+:\S+ was changed after it was sealed, or [^.]*$"
    ):
        run(*(meant.get(word, word) for word in words))

    assert [list(model.objects.values()) for model in (SigningKey, Authority, KeyEvent)] == before
    assert not Path(file).exists()


def test_every_key_is_listed_with_its_state_its_end_and_its_unexpired_credentials(
    long_ago: None, alice: Wallet, settings: Any
) -> None:
    present(alice)
    run("withdraw_signing_key", str(in_state(State.STAGED)), "--reason", "a rehearsal", "--yes")
    settings.SELF_CERTIFYING_AUTHORITY = False
    staged = transitions.stage(now=timezone.now())
    active, statements = (find(str(in_state(State.ACTIVE, kind))) for kind in (SigningKey, StatementKey))

    lines = run("list_signing_keys").splitlines()

    assert lines == [
        f"{staged}  staged     not certified yet  unexpired credentials: 0",
        f"{active}  active     certificates end {moment(active.chain(at=timezone.now()).not_after)}"
        "  unexpired credentials: 1",
        f"{statements}  active     certificates end {moment(statements.chain(at=timezone.now()).not_after)}"
        "  for statements",
    ]


def test_without_keys_the_list_says_so() -> None:
    assert run("list_signing_keys") == "There are no signing keys. rotate_signing_keys makes one.\n"
