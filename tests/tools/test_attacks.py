"""An attack counts as refused only if it tried something, and nothing went through."""

from collections.abc import Iterator
from typing import Any

import pytest

from tools.attacks.__main__ import refuses
from tools.attacks.every import ATTACKS


def breaks_off() -> Iterator[tuple[str, bool]]:
    yield "one", True
    raise OSError("the service is gone")


@pytest.mark.parametrize(
    ("tries", "expected", "words"),
    [
        (lambda: iter([("one", True), ("another", True)]), True, "2 of 2 refused"),
        (lambda: iter([("one", True), ("another", False)]), False, "1 of 2 refused\n  another"),
        (lambda: iter(()), False, "0 of 0 refused\n  the attack tried nothing"),
        (breaks_off, False, "1 of 2 refused\n  the attack did not end: OSError('the service is gone')"),
    ],
)
def test_what_an_attack_says(
    tries: Any,
    expected: bool,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site: Any = None
    monkeypatch.setitem(ATTACKS, "an attack", lambda _site: tries())

    assert refuses(site, "an attack") is expected
    assert capsys.readouterr().out == f"an attack: {words}\n"
