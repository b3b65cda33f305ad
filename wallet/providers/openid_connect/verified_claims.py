"""`verified_claims`, as a provider gives them (OpenID Connect for Identity Assurance 1.0 §5). Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from wallet.credential.evidence import Assurance, EvidenceError
from wallet.credential.names import is_left_out

MOST = 20  # elements of an array; further ones are not looked at
AHEAD = timedelta(minutes=5)  # by which a provider's clock may be fast
# The identity assurance specification leaves the seconds out where they are not known.
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})", re.ASCII)

Path = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class VerifiedClaims:
    """One element: claims that were verified together, and how. verified_at: None if that was not given."""

    assurance: Assurance
    verified_at: datetime | None
    evidence: tuple[Mapping[str, Any], ...]
    claims: Mapping[str, Any]


class TooLowError(Exception):
    """Claims were verified, but none well enough."""


class ClaimsMissingError(Exception):
    """What is needed is not all there."""


def parse(value: Any) -> tuple[VerifiedClaims, ...]:
    """The elements that make sense, of one object or of an array. What makes no sense is left out."""
    elements = value[:MOST] if isinstance(value, list) else [value]
    return tuple(parsed for element in elements if (parsed := _element(element)) is not None)


def choose(
    elements: Sequence[VerifiedClaims],
    accepted: Sequence[Assurance],
    required: Collection[Path],
    names: Collection[Path] = (),
    *,
    now: datetime,
) -> VerifiedClaims:
    """The element that has all required claims, with the highest assurance among the accepted ones.

    accepted: the lowest first. names: one of these is enough; of two elements with the same assurance the one
    with more of them is chosen. Claims of two are never put together. Raises `TooLowError` or
    `ClaimsMissingError`.
    """
    if not elements:
        raise ClaimsMissingError
    past = [
        element for element in elements if element.verified_at is None or element.verified_at <= now + AHEAD
    ]
    ranked = [(rank, element) for element in past if (rank := _rank(element.assurance, accepted)) is not None]
    if not ranked:
        raise TooLowError
    whole = [(rank, element) for rank, element in ranked if suffices(element.claims, required, names)]
    if not whole:
        raise ClaimsMissingError
    rank, best = max(whole, key=lambda pair: (pair[0], _how_many(pair[1].claims, names)))
    return replace(best, assurance=accepted[rank])


def suffices(claims: Mapping[str, Any], required: Collection[Path], names: Collection[Path]) -> bool:
    """Whether all that is required is there, and one of the names."""
    has_name = not names or _how_many(claims, names) > 0
    return has_name and all(at(claims, path) is not None for path in required)


def _how_many(claims: Mapping[str, Any], names: Collection[Path]) -> int:
    return sum(not is_left_out(at(claims, path)) for path in names)


def at(claims: Mapping[str, Any], path: Path) -> Any:
    """The value at the path; None if there is none."""
    value: Any = claims
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _rank(assurance: Assurance, accepted: Sequence[Assurance]) -> int | None:
    """The place among the accepted ones; one without a level stands for every level of its framework."""
    if assurance in accepted:
        return accepted.index(assurance)
    whole_framework = Assurance(assurance.trust_framework)
    return accepted.index(whole_framework) if whole_framework in accepted else None


def _element(value: Any) -> VerifiedClaims | None:
    if not isinstance(value, Mapping):
        return None
    verification, claims = value.get("verification"), value.get("claims")
    if not isinstance(verification, Mapping) or not isinstance(claims, Mapping):
        return None
    level = verification.get("assurance_level")
    evidence = verification.get("evidence")
    try:
        assurance = Assurance(verification.get("trust_framework", ""), "" if level is None else level)
        verified_at = _time(verification.get("time"))
    except (EvidenceError, ValueError):
        return None
    listed = evidence[:MOST] if isinstance(evidence, list) else []
    return VerifiedClaims(assurance, verified_at, tuple(e for e in listed if isinstance(e, Mapping)), claims)


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("time is not a time with a time zone")
    return datetime.fromisoformat(value)
