"""The credential and its claims, as developers read about them."""

from datetime import date

from django.utils.translation import gettext_lazy as _

from presentation.sandbox.api.description import Schema, members, text
from wallet.claims import CLAIMS, GROUPS, Claim, Identity

_SOMEBODY = Identity("Ada", "Example", date(1990, 4, 1), ("GB",))
_KINDS: dict[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": {"type": "string"}},
}


def _schema(claim: Claim) -> Schema:
    kind = _KINDS[type(claim.value(_SOMEBODY, date(2026, 1, 1)))]
    return {**kind, "description": claim.description}


def _disclosed() -> Schema:
    """Any of the claims, in the groups they are in."""
    properties = {path[0]: _schema(claim) for path, claim in CLAIMS.items() if len(path) == 1}
    for (group,), (_label, about) in GROUPS.items():
        within = {path[1]: _schema(claim) for path, claim in CLAIMS.items() if path[:-1] == (group,)}
        properties[group] = {**members("", **within), "description": about}
    return {**members("", **properties), "description": _("What is disclosed; of what is valid.")}


DISCLOSED = _disclosed()
CREDENTIAL: Schema = {
    **members(
        "iss vct iat exp",
        iss=text(_("Who issued it."), format="uri"),
        vct=text(_("Its type."), format="uri"),
        iat={"type": "integer", "description": _("Since when it is good, in seconds since 1970.")},
        exp={"type": "integer", "description": _("When it ends.")},
    ),
    "description": _("Of what is valid."),
}
