"""The claims on a consent page, read from its HTML in English, as the holder sees them."""

import html
import re
from dataclasses import dataclass
from typing import Any

_CLAIMS = re.compile(r'<dl class="claims">.*?</dl>', re.DOTALL)
_CLAIM = re.compile(r'<dt>(.*?)</dt>\s*<dd><bdi translate="no">(.*?)</bdi>', re.DOTALL)
_CHECKBOX = re.compile(r'<label class="optional-claim"><input [^>]*value="([^"]*)"[^>]*>')
_BADGE = re.compile(r'<span class="badge">(.*?)</span>')
_WITHHELD = re.compile(r'<p class="withheld"><strong>Not shared:</strong> (.*?)</p>')


@dataclass(frozen=True)
class ShownClaim:
    """optional: the value of its checkbox; empty if it has none. new: whether it was not shared last time."""

    label: str
    value: str
    optional: str
    new: bool


def claims_on(response: Any) -> list[ShownClaim]:
    """The claims in their order."""
    lists = _CLAIMS.findall(response.content.decode())
    return [_claim(*found) for each in lists for found in _CLAIM.findall(each)]


def values_on(response: Any) -> list[str]:
    """The values of the claims in their order."""
    return [claim.value for claim in claims_on(response)]


def optional_on(response: Any) -> list[str]:
    """The names of the claims with a checkbox."""
    return [claim.optional for claim in claims_on(response) if claim.optional]


def withheld_on(response: Any) -> list[str]:
    """The labels of what the page says is not shared."""
    return html.unescape(_WITHHELD.findall(response.content.decode())[0]).split(" · ")


def _claim(term: str, value: str) -> ShownClaim:
    checkbox, badges = _CHECKBOX.findall(term), _BADGE.findall(term)
    label = re.sub("<[^>]*>", "", _BADGE.sub("", term)).strip()
    assert ("optional" in badges) == bool(checkbox), term
    optional = checkbox[0] if checkbox else ""
    return ShownClaim(
        html.unescape(label), html.unescape(value), optional, new="not shared last time" in badges
    )
