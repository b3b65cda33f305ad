"""The `claims` parameter (OpenID Connect Core §5.5, OpenID Connect for Identity Assurance §5). Pure."""

from typing import Any

from wallet.credential.evidence import Assurance
from wallet.providers.openid_connect.metadata import Metadata
from wallet.providers.openid_connect.settings import Settings

_DETAILS: dict[str, dict[str, Any]] = {
    "document": {
        "document_details": {
            "type": None,
            "document_number": None,
            "issuer": {"country_code": None},
            "date_of_expiry": None,
        }
    },
    "electronic_record": {"record": {"type": None, "date_of_expiry": None}},
}


def claims_request(settings: Settings, metadata: Metadata) -> dict[str, Any]:
    """Where the claims are asked for, and under which conditions they count."""
    wanted: dict[str, Any] = {}
    for path in settings.claims.values():
        wanted[path[0]] = None
    if settings.identity_assurance:
        frameworks = dict.fromkeys(each.trust_framework for each in settings.accepted)
        groups = [
            {"verification": _verification(settings, metadata, framework), "claims": wanted}
            for framework in frameworks
        ]
        wanted = {"verified_claims": groups[0] if len(groups) == 1 else groups}
    return {"userinfo" if metadata.userinfo_endpoint else "id_token": wanted}


def _verification(settings: Settings, metadata: Metadata, framework: str) -> dict[str, Any]:
    """What is asked of `verification`; what is not named there is not given (Identity Assurance §5.4)."""
    asked: dict[str, Any] = {"trust_framework": {"value": framework}, "time": None}
    asked["assurance_level"] = _levels(
        [each for each in settings.accepted if each.trust_framework == framework]
    )
    kinds = [kind for kind in settings.evidence if metadata.evidence is None or kind in metadata.evidence]
    if kinds:
        asked["evidence"] = [{"type": {"value": kind}, **_DETAILS[kind]} for kind in kinds]
    return asked


def _levels(accepted: list[Assurance]) -> dict[str, Any] | None:
    """A condition on the level, unless every level of the framework will do."""
    levels = [each.level for each in accepted]
    return {"values": levels} if all(levels) else None
