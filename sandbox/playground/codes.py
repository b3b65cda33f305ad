"""The playground as a client of OpenID Connect: it exchanges the code on its server, as applications do.

It needs no secret, because the sandbox exchanges for its own page. The verifier follows from `state`, so that
nothing has to be kept.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from infra.sealing import sha256_hex
from keys.jws import decode_segment
from presentation.entrances.context import ExchangeContext
from presentation.entrances.stages import REDEEM, go_through
from presentation.machine_errors import MachineError
from presentation.models import AuthorizationCode, RelyingParty
from presentation.requests.wire_formats import codes


def verifier(state: str) -> str:
    """The verifier of PKCE of the request with this `state`."""
    return salted_hmac("playground", state, algorithm="sha256").hexdigest()


def received(query: Mapping[str, str], *, now: datetime) -> dict[str, Any]:
    """What the page about an answer shows: the error, or the claims and the presentation."""
    rows = AuthorizationCode.objects.select_related("interaction__relying_party")
    row = rows.filter(digest=sha256_hex(query.get("code", ""))).first()
    if row is None:
        return {"error": query.get("error", "invalid_grant"), "about": query.get("error_description", "")}
    form = {"code": query["code"], "code_verifier": verifier(query.get("state", ""))}
    form["redirect_uri"] = row.interaction.redirect_uri
    try:
        tokens = _redeemed(row.interaction.relying_party, form, now=now)
        told = codes.user_info(tokens["access_token"], network_address="", now=now)
    except MachineError as error:
        return {"error": error.error, "about": error.description}
    claims = decode_segment(tokens["id_token"].split(".")[1])
    return {"claims": _written(claims), "told": _written(told), "vp_token": tokens["vp_token"]}


def _redeemed(party: RelyingParty, form: Mapping[str, str], *, now: datetime) -> dict[str, Any]:
    """What the token endpoint answers to a client that has proved who it is."""
    context = ExchangeContext(form=form, authorization="", network_address="", now=now)
    context.party = party
    return go_through(REDEEM, context)


def _written(claims: Mapping[str, Any]) -> str:
    return json.dumps(claims, indent=2, ensure_ascii=False)
