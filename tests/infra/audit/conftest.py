"""Fixtures for the audit record: a key, a folder of day heads, and three days of lines."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.contrib.auth.models import User

from infra import audit
from tests.infra.audit.days_on_record import NOON


@pytest.fixture
def key(tmp_path: Path, settings: Any) -> Ed25519PrivateKey:
    """The key that signs day heads, in its file."""
    made = Ed25519PrivateKey.generate()
    content = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "audit.pem").write_bytes(content)
    settings.AUDIT_KEY_FILE = str(tmp_path / "audit.pem")
    return made


@pytest.fixture
def folder(tmp_path: Path, settings: Any, key: Ed25519PrivateKey) -> Path:
    """The folder to which signed day heads are written."""
    made = tmp_path / "heads"
    made.mkdir()
    settings.AUDIT_FOLDER = str(made)
    return made


@pytest.fixture
def olga() -> User:
    """An operator."""
    return User.objects.create_user("olga")


@pytest.fixture
def three_days(olga: User) -> None:
    """Six lines of three days in a row."""
    for hours in (0, 1, 24, 25, 26, 48):
        audit.record(olga, "seen", f"wallet.wallet:{hours}", now=NOON + timedelta(hours=hours))
