"""Keys in a hardware module, tested with SoftHSM 2: making keys, failures, and recovery."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID, uuid4

import pkcs11
import pytest
from pkcs11 import Attribute, ObjectClass

from keys.jwk import public_key_from_der
from keys.jws import verify_signature
from keys.private_keys import hardware_module
from keys.private_keys.hardware_module import HardwareModule
from keys.private_keys.signer import SignerUnavailableError
from tests.keys.compact_jws import sign_compact, verify_compact
from tests.softhsm import LABEL, SOFTHSM, Server, Token

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = b"header.payload"
DIGEST = sha256(MESSAGE).digest()

pytestmark = pytest.mark.softhsm


def opened(token: Token, **changes: Any) -> HardwareModule:
    facts: dict[str, Any] = {"path": SOFTHSM, "label": LABEL, "pin": lambda: token.pin}
    path, label, pin = (facts | changes).values()
    return HardwareModule(path, label, pin=pin)


def verifies(signature: bytes, public_key: bytes) -> bool:
    return verify_signature(signature, MESSAGE, public_key_from_der(public_key))


def inside(token: Token, work: Callable[[pkcs11.Session], Any]) -> Any:
    """The result of `work` in a session of its own, without our code."""
    library = pkcs11.lib(SOFTHSM)
    library.reinitialize()
    return work(library.get_token(token_label=LABEL).open(rw=True, user_pin=token.pin))


def private_key(session: pkcs11.Session, kid: UUID) -> Any:
    return session.get_key(object_class=ObjectClass.PRIVATE_KEY, id=kid.bytes)


def test_a_token_is_signed_inside_and_verifies_outside(token: Token) -> None:
    module, kid = opened(token), uuid4()
    public_key = public_key_from_der(module.generate(kid))
    signer = module.signer(kid, public_key)
    jws = sign_compact({"alg": "ES256", "typ": "t"}, {"a": 1}, signer)
    assert verify_compact(jws, public_key, typ="t") == {"a": 1}
    assert all(len(signer.sign(bytes([n]))) == 64 for n in range(50))  # short r and s are padded


def test_a_private_key_cannot_leave_the_module_and_only_signs(token: Token) -> None:
    kid = uuid4()
    opened(token).generate(kid)

    def look(session: pkcs11.Session) -> None:
        key = private_key(session, kid)
        said = {name: key[name] for name in (Attribute.SENSITIVE, Attribute.EXTRACTABLE, Attribute.SIGN)}
        assert said == {Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False, Attribute.SIGN: True}
        assert (
            key[Attribute.NEVER_EXTRACTABLE]
            is key[Attribute.ALWAYS_SENSITIVE]
            is key[Attribute.LOCAL]
            is True
        )
        assert not any(key[name] for name in (Attribute.DECRYPT, Attribute.UNWRAP, Attribute.DERIVE))
        with pytest.raises(pkcs11.AttributeSensitive):
            key[Attribute.VALUE]
        with pytest.raises(pkcs11.PKCS11Error):
            key[Attribute.EXTRACTABLE] = True

    inside(token, look)


def test_a_key_that_is_destroyed_is_gone_and_its_neighbour_stays(token: Token) -> None:
    module, kid, other = opened(token), uuid4(), uuid4()
    module.generate(kid)
    public_key = module.generate(other)
    assert module.destroy(kid) is True
    assert module.destroy(kid) is False
    with pytest.raises(SignerUnavailableError, match="does not hold the key"):
        module.sign(kid, DIGEST)
    assert verifies(module.sign(other, DIGEST), public_key)
    left = inside(token, lambda session: [found[Attribute.ID] for found in session.get_objects()])
    assert left == [other.bytes] * 2


def test_many_threads_sign_at_once(token: Token, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware_module, "PATIENCE", 120.0)  # the last of sixteen threads may wait for long
    module = opened(token)
    keys = {kid: module.generate(kid) for kid in (uuid4(), uuid4())}

    def sign(number: int) -> bool:
        kid = list(keys)[number % 2]
        return verifies(module.sign(kid, DIGEST), keys[kid])

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(sign, range(2000)))


CHILD = """
import os, sys
from hashlib import sha256
from uuid import UUID
from keys.private_keys.hardware_module import HardwareModule

module = HardwareModule(sys.argv[1], sys.argv[2], pin=lambda: os.environ["PIN"])
kid = UUID(sys.argv[3])
digest = sha256(b"header.payload").digest()

def sign(times):
    for _ in range(times):
        print("signed", module.sign(kid, digest).hex(), flush=True)
"""


def child(token: Token, kid: UUID, script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + script, SOFTHSM, LABEL, str(kid)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PIN": token.pin, **token.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def signatures(process: subprocess.Popen[str]) -> list[bytes]:
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return [bytes.fromhex(line.split()[1]) for line in out.splitlines() if line.startswith("signed ")]


def test_several_processes_sign_at_once(token: Token) -> None:
    kid = uuid4()
    public_key = opened(token).generate(kid)
    together = [child(token, kid, "sign(300)") for _ in range(3)]
    for process in together:
        made = signatures(process)
        assert len(made) == 300
        assert all(verifies(signature, public_key) for signature in made)


def test_a_session_stays_with_the_process_that_opened_it(token: Token) -> None:
    """As under gunicorn with --preload, if a signature was made before the workers were forked."""
    kid = uuid4()
    public_key = opened(token).generate(kid)
    script = """
from threading import Thread
sign(1)
stop = []
busy = Thread(target=lambda: [module.sign(kid, digest) for _ in iter(lambda: bool(stop), True)])
busy.start()  # almost always in a call to the module; does not exist in the child processes
children = []
for _ in range(4):
    pid = os.fork()
    if not pid:
        assert module._session is None
        sign(20)
        os._exit(0)
    children.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
stop.append(1)
busy.join()
session = module._session
sign(20)
assert module._session is session
"""
    made = signatures(child(token, kid, script))
    assert len(made) == 1 + 4 * 20 + 20
    assert all(verifies(signature, public_key) for signature in made)


def test_a_module_that_restarts_is_signed_with_again_without_a_failure(server: Server, token: Token) -> None:
    module, kid = opened(token, path=server.settings["PKCS11_MODULE"]), uuid4()
    public_key = module.generate(kid)
    for _ in range(3):
        module.sign(kid, DIGEST)
        server.stop()
        server.start()
        assert verifies(module.sign(kid, DIGEST), public_key)


def test_while_the_module_is_away_it_is_said_and_then_it_signs_again(server: Server, token: Token) -> None:
    module, kid = opened(token, path=server.settings["PKCS11_MODULE"]), uuid4()
    public_key = module.generate(kid)
    server.stop()
    for _ in range(3):
        with pytest.raises(SignerUnavailableError, match="no token labelled|cannot be opened"):
            module.sign(kid, DIGEST)
    server.start()
    assert verifies(module.sign(kid, DIGEST), public_key)


def test_a_token_that_is_taken_away_and_put_back_signs_again(token: Token) -> None:
    module, kid = opened(token), uuid4()
    public_key = module.generate(kid)
    token.take_away()
    with pytest.raises(SignerUnavailableError):
        module.sign(kid, DIGEST)
    with pytest.raises(SignerUnavailableError):
        module.destroy(kid)  # must not report that the key is gone
    token.put_back()
    assert verifies(module.sign(kid, DIGEST), public_key)


def test_a_library_that_was_finalised_under_our_hands_is_opened_again(token: Token) -> None:
    module, kid = opened(token), uuid4()
    public_key = module.generate(kid)
    module.sign(kid, DIGEST)
    pkcs11.lib(SOFTHSM).finalize()
    assert verifies(module.sign(kid, DIGEST), public_key)


def test_a_refused_pin_is_tried_once_and_another_one_at_once(token: Token, monkeypatch: Any) -> None:
    pins, tried = ["00000000"], []
    module, kid = opened(token, pin=lambda: pins[0]), uuid4()
    token_now = module._token_now
    monkeypatch.setattr(module, "_token_now", lambda: (tried.append(pins[0]), token_now())[1])
    with pytest.raises(SignerUnavailableError, match="refuses the pin of the token “signing keys”") as caught:
        module.generate(kid)
    for _ in range(5):
        with pytest.raises(SignerUnavailableError, match="not tried again, because tokens lock"):
            module.sign(kid, DIGEST)
    assert tried == ["00000000"]
    assert "00000000" not in f"{caught.value!r} {module!r} {module.signer(kid, None)!r}"  # type: ignore[arg-type]
    pins[0] = token.pin
    assert module.generate(kid)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"label": "another"}, "has no token labelled “another”."),
        ({"path": "/nowhere/module.so"}, "No such file or directory)."),
        ({"path": __file__}, "cannot be opened"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(token: Token, changes: Any, said: str) -> None:
    with pytest.raises(SignerUnavailableError) as caught:
        opened(token, **changes).generate(uuid4())
    assert said in str(caught.value)
    assert str(caught.value).count(". ") == 0


def test_two_tokens_of_one_label_are_not_chosen_between(token: Token) -> None:
    token.initialise(LABEL)
    with pytest.raises(SignerUnavailableError, match="several tokens labelled"):
        opened(token).generate(uuid4())


def test_after_a_failure_it_rests_and_says_so_at_once(token: Token, monkeypatch: Any) -> None:
    monkeypatch.setattr(hardware_module, "PAUSE", 3600.0)
    module, kid = opened(token), uuid4()
    token.take_away()
    with pytest.raises(SignerUnavailableError) as first:
        module.generate(kid)
    token.put_back()
    with pytest.raises(SignerUnavailableError) as second:
        module.generate(kid)
    assert str(second.value) == str(first.value)


def test_a_key_that_is_missing_does_not_cost_the_others_their_session(token: Token, monkeypatch: Any) -> None:
    monkeypatch.setattr(hardware_module, "PAUSE", 3600.0)
    module, kid = opened(token), uuid4()
    public_key = module.generate(kid)
    session = module._session
    for _ in range(3):
        with pytest.raises(SignerUnavailableError, match="does not hold the key"):
            module.sign(uuid4(), DIGEST)
    assert module._session is session
    assert verifies(module.sign(kid, DIGEST), public_key)


def test_a_call_that_waits_too_long_for_others_fails(token: Token, monkeypatch: Any) -> None:
    monkeypatch.setattr(hardware_module, "PATIENCE", 0.01)
    module = opened(token)
    held, done = Event(), Event()

    def hang(session: pkcs11.Session) -> None:
        held.set()
        done.wait(10)

    hanging = Thread(target=module._run, args=(hang,))
    hanging.start()
    held.wait(10)
    with pytest.raises(SignerUnavailableError, match="takes too long"):
        module.sign(uuid4(), DIGEST)
    done.set()
    hanging.join()


def test_the_log_says_what_happens_to_the_module_and_never_the_pin(
    token: Token, capsys: pytest.CaptureFixture[str]
) -> None:
    module, kid = opened(token), uuid4()
    module.generate(kid)
    module.sign(kid, DIGEST)
    pkcs11.lib(SOFTHSM).finalize()
    module.sign(kid, DIGEST)
    wrong = opened(token, pin=lambda: "31415926")
    with pytest.raises(SignerUnavailableError):
        wrong.sign(kid, DIGEST)
    said = capsys.readouterr().err
    for event in ("hardware_module_opened", "hardware_module_session_lost", "hardware_module_unavailable"):
        assert event in said
    assert "31415926" not in said
    assert token.pin not in said
