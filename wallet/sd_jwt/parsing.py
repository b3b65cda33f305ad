"""Parses an SD-JWT (RFC 9901 §4), strictly and with limits; verifies nothing. Pure."""

from typing import Any, NamedTuple

from infra import base64url, strict_json
from wallet.sd_jwt.issuance import SdJwtError, digest

MAX_TOKEN = 65_536  # characters
MAX_DISCLOSURES = 200

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"


class UnverifiedDisclosure(NamedTuple):
    """A Disclosure before verification; `content` should be [salt, name, value] or [salt, value]."""

    text: str
    content: list[Any]

    def __repr__(self) -> str:
        return "<UnverifiedDisclosure>"


class UnverifiedSdJwt(NamedTuple):
    """A well-formed token before verification, with its Disclosures by their digests."""

    jwt: str
    disclosures: dict[str, UnverifiedDisclosure]
    key_binding: str
    sd_hash: str  # the digest over everything up to and including the last `~` (§4.3.1)
    repeats: bool = False  # whether a Disclosure occurs twice

    def __repr__(self) -> str:
        return f"<UnverifiedSdJwt with {len(self.disclosures)} disclosures>"


def parse(token: str) -> UnverifiedSdJwt:
    """The issuer-signed JWT, the decoded Disclosures, and the key binding or "". Raises SdJwtError."""
    if len(token) > MAX_TOKEN:
        raise SdJwtError(f"longer than {MAX_TOKEN} characters")
    if token.encode("ascii", "replace").translate(None, _ALPHABET):
        raise SdJwtError("a character that no SD-JWT has")
    jwt, tilde, rest = token.partition("~")
    if not tilde:
        raise SdJwtError("there is no ~ after the issuer-signed JWT")
    *texts, key_binding = rest.split("~")
    if len(texts) > MAX_DISCLOSURES:
        raise SdJwtError(f"more than {MAX_DISCLOSURES} disclosures")
    if not _has_three_segments(jwt):
        raise SdJwtError("the issuer-signed JWT does not have three segments")
    if key_binding and not _has_three_segments(key_binding):
        raise SdJwtError("the key binding does not have three segments")
    disclosures = {digest(text): UnverifiedDisclosure(text, _content(text)) for text in texts}
    sd_hash = digest(token[: len(token) - len(key_binding)])
    return UnverifiedSdJwt(jwt, disclosures, key_binding, sd_hash, len(disclosures) != len(texts))


def _has_three_segments(jwt: str) -> bool:
    header, _, rest = jwt.partition(".")  # which finds a character several times as fast as `split`
    payload, _, signature = rest.partition(".")
    return bool(header and payload and signature) and "." not in signature


def _content(text: str) -> list[Any]:
    """The JSON array of a Disclosure; `Processing` checks its elements."""
    try:
        content = strict_json.read(base64url.decode(text))
    except ValueError as error:  # either of the two
        raise SdJwtError("a disclosure that is not JSON in base64url") from error
    if not isinstance(content, list):
        raise SdJwtError("a disclosure that is no array")
    return content
