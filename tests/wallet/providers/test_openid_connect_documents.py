"""The settings that docs/identity-providers.md has for OpenID providers are accepted as they stand there."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from config import option_files
from wallet.providers import registry
from wallet.providers.openid_connect.provider import OpenIDConnect

DOCUMENT = Path(__file__).parents[3] / "docs" / "identity-providers.md"
SECTION = DOCUMENT.read_text().partition("\n## OpenID Connect\n")[2].partition("\n## ")[0]
BLOCKS = [
    block for block in re.findall(r"^```toml\n(.*?)^```$", SECTION, re.M | re.S) if "openid_connect" in block
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
    (tmp_path / "key").write_bytes(pem)
    (tmp_path / "secret").write_text("a secret")
    content = re.sub(r'(_(key|secret)_file = )".*"', rf'\1"{tmp_path}/\2"', block)
    (tmp_path / "providers.toml").write_text(content)
    monkeypatch.setenv("IDENTITY_PROVIDERS_FILE", str(tmp_path / "providers.toml"))
    for name, values in option_files.identity_providers("in_person").items():
        made = registry.load(name, values, own_framework="https://id.example/assurance", loopback=False)
        assert isinstance(made, OpenIDConnect) == (name != "in_person")


def test_there_are_four_examples() -> None:
    assert len(BLOCKS) == 4


def test_every_setting_is_in_the_table() -> None:
    table = SECTION.partition("### Settings\n")[2].partition("\n### ")[0]
    documented = set(re.findall(r"`([a-z_]+)`", table))
    read = set().union(*SETTINGS.values())
    assert len(read) > 15
    assert read - documented == set()
