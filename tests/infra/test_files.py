"""Secrets in files: reading, refusals in one sentence, and permissions."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.files import LONGEST, FileError, others_can_read, secret_in, secrets_in
from keys.checks import secret_files


def test_each_line_is_a_secret_and_empty_ones_are_none(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("first\n\n  second \r\n")
    assert secrets_in(str(file)) == ["first", "second"]
    file.write_text("only")
    assert secret_in(str(file)) == "only"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory."),
        (b"", "is empty."),
        (b"\n \n", "is empty."),
        (b"\xff\xfe", "is not text in UTF-8."),
        (b"x" * (LONGEST + 1), "has more than 65536 bytes."),
        (b"one\ntwo\n", "holds more than one line."),
    ],
)
def test_what_holds_no_secret_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "pin"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(FileError) as caught:
        secret_in(str(file))
    assert str(caught.value) == f"{file} {said}"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="Is a directory"):
        secrets_in(str(tmp_path))


@given(content=st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_file_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secrets"
    file.write_bytes(content)
    try:
        found = secrets_in(str(file))
    except FileError:
        return
    assert found
    assert all(secret and secret == secret.strip() for secret in found)
    assert "".join("".join(found).split()) == "".join(content.decode().split())


@pytest.mark.parametrize(("mode", "warned"), [(0o400, False), (0o640, False), (0o644, True), (0o604, True)])
def test_a_file_that_everybody_can_read_is_warned_of(
    tmp_path: Path, settings: Any, mode: int, warned: bool
) -> None:
    file = tmp_path / "secrets"
    file.write_text("the secret itself")
    file.chmod(mode)
    assert others_can_read(str(file)) is warned
    settings.SECRET_FILES = dict.fromkeys(("KEY_SEALING_KEYS_FILE", "DATABASE_URL_FILE"), str(file))
    found = secret_files(None)
    assert [warning.id for warning in found] == ["keys.W001"] * (2 if warned else 0)
    assert all(str(file) in warning.msg and "itself" not in warning.msg for warning in found)


def test_without_files_there_is_no_warning() -> None:
    assert secret_files(None) == []
    assert others_can_read("/nowhere") is False
