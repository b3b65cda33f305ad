"""The settings that docs/identity-providers.md has for OpenID providers are accepted as they stand there."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from config import identity_providers
from wallet.providers import registry
from wallet.providers.openid_connect.provider import OpenIDConnect

DOCUMENT = Path(__file__).parents[3] / "docs" / "identity-providers.md"
SECTION = DOCUMENT.read_text().partition("\n## OpenID Connect\n")[2].partition("\n## ")[0]
BLOCKS = [
    block for block in re.findall(r"^```\n(.*?)^```$", SECTION, re.M | re.S) if "IDENTITY_PROVIDERS=" in block
]
SETTINGS = {
    path.stem: set(re.findall(r"options\.\w+\(\s*\"(\w+)\"", path.read_text()))
    for path in (DOCUMENT.parent.parent / "wallet" / "providers" / "openid_connect").glob("*.py")
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_documented_settings_are_accepted(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for line in block.splitlines():
        name, _, value = line.partition("=")
        value = value.removeprefix('"').removesuffix('"')
        if name.endswith("_FILE"):
            value = str(tmp_path / name)
            Path(value).write_bytes(pem if "KEY" in name else b"a secret")
        monkeypatch.setenv(name, value)
    for name, values in identity_providers.from_environment("in_person").items():
        made = registry.load(name, values, own_framework="https://id.example/assurance", loopback=False)
        assert isinstance(made, OpenIDConnect) == (name != "in_person")


def test_there_are_four_examples() -> None:
    assert len(BLOCKS) == 4


def test_every_setting_is_in_the_table() -> None:
    table = SECTION.partition("### Settings\n")[2].partition("\n### ")[0]
    documented = {name.lower() for name in re.findall(r"`([A-Z_]+)`", table)}
    read = set().union(*SETTINGS.values())
    assert len(read) > 15
    assert read - documented == set()
