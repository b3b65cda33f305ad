"""The operator's program that gets certificates, with an authority of openssl behind it."""

import os
import re
import stat
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from json import loads
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from keys.certificates import command
from keys.certificates.chain import MAX_PEM
from keys.certificates.command import CommandFailedError
from keys.checks import certificate_command
from keys.models import KeyEvent, SigningKey, StatementKey
from keys.rotation import due_steps, renewal, transitions
from keys.rotation.states import State, in_state
from tests.keys.openssl import openssl

BOTH = (SigningKey, StatementKey)  # that are made by themselves
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "keys.md"
Program = Callable[[str], Path]
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
CA_USAGE = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes a program of these lines of shell."""

    def make(lines: str) -> Path:
        path = tmp_path / "get-certificate"
        path.write_text(f"#!/bin/sh\n{lines}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def authority(tmp_path: Path, settings: Any) -> Path:
    """A folder with a root and an issuing CA, as docs/keys.md makes them, without passphrases."""
    settings.SELF_CERTIFYING_AUTHORITY = False
    root, issuing, request = (tmp_path / name for name in ("root", "issuing", "issuing.csr"))
    openssl(
        *("req", "-x509", *CURVE, "-keyout", f"{root}.key", "-out", f"{root}.pem", "-days", "3650"),
        *(
            "-subj",
            "/O=Example Ltd/CN=Example Root",
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            *CA_USAGE,
        ),
    )
    openssl(
        *("req", *CURVE, "-keyout", f"{issuing}.key", "-out", request),
        *("-subj", "/O=Example Ltd/CN=Example Issuing CA", *CA_USAGE),
        *("-addext", "basicConstraints=critical,CA:TRUE,pathlen:0"),
    )
    openssl(
        *("x509", "-req", "-in", request, "-CA", f"{root}.pem", "-CAkey", f"{root}.key", "-days", "1825"),
        *("-copy_extensions", "copyall", "-out", f"{issuing}.pem"),
    )
    return tmp_path


@pytest.fixture
def hook(authority: Path, program: Program, settings: Any) -> Path:
    """The program of docs/keys.md, for this authority; it also notes each call."""
    (lines,) = re.findall(r"^```sh\n#!/bin/sh\n(.+?)\n```", GUIDE.read_text(), re.M | re.S)
    assert "cd /etc/presentation-authority\n" in lines
    made = program(
        lines.replace("cd /etc/presentation-authority", f"cd {authority}\necho $SIGNING_KEY_ID >> calls")
    )
    settings.CERTIFICATE_COMMAND = str(made)
    return made


def rotated() -> dict[str, Any]:
    """The report; the command fails if it reports that a certificate was not obtained."""
    out, failed = StringIO(), False
    try:
        call_command("rotate_signing_keys", json=True, stdout=out)
    except CommandError:
        failed = True
    found: dict[str, Any] = loads(out.getvalue())
    assert failed == ("certificate_not_obtained" in [entry["what"] for entry in found["problems"]])
    return found


def answer(made: Path, longest: float = 30.0) -> bytes:
    return command.chain_for("a request", path=str(made), kid=uuid4(), longest=longest)


def test_a_new_service_gets_its_first_key_certified_and_signs_without_hands(hook: Path) -> None:
    report = rotated()

    steps = ["staged", "certified", "activated"]
    assert [entry["what"] for entry in report["done"]] == [step for step in steps for _kind in BOTH]
    for kind, called in zip(BOTH, (hook.parent / "calls").read_text().split(), strict=True):
        active = in_state(State.ACTIVE, kind)
        assert active
        assert active.certified_chain
        assert str(active.pk) == called
        assert KeyEvent.objects.get(action="certified", kid=active.pk).actor == "CERTIFICATE_COMMAND"


def test_with_a_spare_the_next_key_stands_certified_at_once(hook: Path, settings: Any) -> None:
    settings.SIGNING_KEY_SPARE = True

    first, second = rotated(), rotated()

    assert [entry["what"] for entry in first["done"]][-1] == "staged"
    assert [entry["what"] for entry in first["problems"]] == ["no_spare_key"] * 2
    assert [entry["what"] for entry in second["done"]] == ["certified"] * 2
    assert second["problems"] == []
    for kind in BOTH:
        assert {key.state for key in kind.objects.exclude(certified_at=None)} == {"active", "staged"}


def test_certificates_that_last_are_not_asked_for_again(hook: Path) -> None:
    for _again in range(3):
        rotated()

    assert len((hook.parent / "calls").read_text().split()) == len(BOTH)


def test_a_leaf_near_its_end_is_renewed_for_the_same_key(hook: Path, now: datetime) -> None:
    rotated()
    key = SigningKey.objects.get()
    chain = key.certified_chain
    assert chain
    ends = chain.not_after

    for days, needed in ((31, False), (29, True)):
        assert renewal.is_needed(key, ends - timedelta(days=days)) is needed
    done, failed = renewal.renew(now=now)
    assert (done, failed) == ([], [])

    done, failed = renewal.renew(now=ends - timedelta(days=29))

    # openssl goes by the clock of the machine, so this one ends within a minute of the one before.
    assert (done, failed) == (done, []) or "no later" in failed[0].text
    assert len((hook.parent / "calls").read_text().split()) == 2 * len(BOTH)


def test_an_authority_whose_certificates_end_no_later_changes_nothing(hook: Path, now: datetime) -> None:
    """Otherwise a key would be certified anew every hour while the authority's own end is near."""
    rotated()
    before = in_state(State.ACTIVE)
    assert before
    hook.write_text(hook.read_text().replace("-days 397 ", "-days 390 "))

    done, failed = renewal.renew(now=now + timedelta(days=370))

    assert (done, [entry.what for entry in failed]) == ([], ["certificate_not_obtained"] * len(BOTH))
    assert "no later" in failed[0].text
    after = in_state(State.ACTIVE)
    assert after
    assert after.chain_pem == before.chain_pem


def test_a_renewed_chain_replaces_the_one_before(hook: Path, now: datetime) -> None:
    hook.write_text(hook.read_text().replace("-days 397 ", "-days 1 "))
    rotated()
    before = in_state(State.ACTIVE)
    assert before
    hook.write_text(hook.read_text().replace("-days 1 ", "-days 397 "))

    done, failed = renewal.renew(now=now + timedelta(hours=20))

    after = in_state(State.ACTIVE)
    assert after
    assert failed == []
    assert before.pk in {entry.kid for entry in done}
    assert after.certified_chain
    assert before.certified_chain
    assert after.certified_chain.not_after > before.certified_chain.not_after
    assert (after.pk, after.state, after.public_key) == (before.pk, State.ACTIVE, before.public_key)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("exit 3", "ended with status 3"),
        ("echo hello", "not a chain of PEM certificates"),
        ("cat", "certificate request. Send the certificate"),
        ("cat issuing.pem root.pem", "no certificate here is for this signing key"),
        ("yes", "wrote more than 65536 bytes"),
        ("cat root.key", "private key, which must stay"),
    ],
)
def test_what_is_no_chain_is_refused_as_if_an_operator_had_sent_it(
    lines: str, why: str, authority: Path, program: Program, settings: Any, logged: list[dict[str, Any]]
) -> None:
    settings.CERTIFICATE_COMMAND = str(program(f"cd {authority}; {lines}"))

    report = rotated()

    problems = {entry["what"]: entry["text"] for entry in report["problems"]}
    assert why.lower() in problems["certificate_not_obtained"].lower()
    assert "certificate_not_obtained" in [event["event"] for event in logged]
    assert SigningKey.objects.get().chain_pem == ""
    assert not KeyEvent.objects.filter(action="certified").exists()


def test_after_a_failure_the_next_run_asks_again_at_once(hook: Path) -> None:
    working = hook.read_text()
    hook.write_text("#!/bin/sh\nexit 3\n")
    assert rotated()["problems"][0]["what"] == "certificate_not_obtained"
    hook.write_text(working)

    report = rotated()

    assert [entry["what"] for entry in report["done"]] == ["certified"] * 2 + ["activated"] * 2


def test_a_chain_for_another_key_is_refused(hook: Path, authority: Path) -> None:
    openssl("req", *CURVE, "-keyout", "/dev/null", "-out", authority / "other.csr", "-subj", "/CN=other")
    hook.write_text(hook.read_text().replace("/dev/stdin", "other.csr"))

    report = rotated()

    assert report["problems"][0]["what"] == "certificate_not_obtained"
    assert SigningKey.objects.get().chain_pem == ""


def test_a_program_that_hangs_is_ended_with_all_that_it_started(program: Program, tmp_path: Path) -> None:
    made = program(f"sleep 300 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/own; wait")

    began = time.monotonic()
    with pytest.raises(CommandFailedError, match="took longer than 2 seconds"):
        answer(made, longest=2)

    assert time.monotonic() - began < 30
    for name in ("own", "child"):
        assert ended(int((tmp_path / name).read_text()))


def ended(pid: int) -> bool:
    """Whether the process is gone, or only waits for its parent to notice."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_program_that_closes_its_output_and_stays_is_ended(program: Program) -> None:
    with pytest.raises(CommandFailedError, match="took longer"):
        answer(program("exec >&-; sleep 300"), longest=0.5)


def test_an_answer_of_exactly_the_greatest_length_is_read_whole(program: Program) -> None:
    assert len(answer(program(f"head -c {MAX_PEM} /dev/zero"))) == MAX_PEM
    with pytest.raises(CommandFailedError, match="more than"):
        answer(program(f"head -c {MAX_PEM + 1} /dev/zero"))


def test_the_program_sees_the_request_and_nothing_of_our_secrets(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_SEALING_KEYS", "hidden-sealing-key")
    monkeypatch.setenv("LD_PRELOAD", "")

    request, _, shown = answer(program("cat; echo; env")).decode().partition("\n")

    assert request == "a request"
    assert "hidden" not in shown
    names = {line.split("=")[0] for line in shown.splitlines()}
    assert names <= {"PATH", "LANG", "SIGNING_KEY_ID", "PWD", "OLDPWD", "SHLVL", "_"}


def test_no_shell_reads_the_setting(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="names no file"):
        answer(Path(f"/bin/true; touch {tmp_path}/made"))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        (0o755, ""),
        (0o700, ""),
        (0o775, "can be changed by other accounts"),
        (0o757, "can be changed by other accounts"),
        (0o644, "may run"),
    ],
)
def test_the_start_refuses_a_program_that_others_could_replace(
    mode: int, fault: str, program: Program, settings: Any
) -> None:
    made = program("true")
    made.chmod(mode)
    settings.CERTIFICATE_COMMAND = str(made)

    found = certificate_command(None)

    assert bool(found) is bool(fault)
    assert all(fault in message.msg for message in found)


def test_a_relative_path_a_folder_and_nothing_are_no_program(tmp_path: Path) -> None:
    assert command.fault(str(tmp_path)) != ""
    assert command.fault(f"{tmp_path}/none") == "names no file"
    assert command.fault("a\0b") == "names no file"
    here = os.path.relpath("/bin/sh")
    assert command.fault(here) == "must be an absolute path"
    assert not stat.S_IMODE(Path("/bin/sh").stat().st_mode) & 0o022


def test_in_a_sandbox_nobody_is_asked(hook: Path, settings: Any) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = True

    rotated()

    assert not (hook.parent / "calls").exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_instances_that_rotate_at_once_ask_the_authority_once(
    hook: Path, now: datetime, at_once: Any, settings: Any
) -> None:
    settings.SIGNING_KEY_SPARE = True
    transitions.stage(now=now)

    def rotate() -> None:
        due_steps.rotate(now=now)
        renewal.renew(now=timezone.now())  # a certificate of a later second than `now` would not be valid yet
        due_steps.rotate(now=timezone.now())

    results = at_once(*[rotate] * 6)

    assert [result for result in results if isinstance(result, Exception)] == []
    due_steps.rotate(now=timezone.now())
    assert sorted(SigningKey.objects.values_list("state", flat=True)) == ["active", "staged"]
    calls = (hook.parent / "calls").read_text().split()
    assert len(calls) == len(set(calls))
    assert KeyEvent.objects.filter(action="certified").count() == len(calls)
