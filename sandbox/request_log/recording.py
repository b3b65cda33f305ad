"""Stores one `Step` for each response to a request of a self-registered relying party.

The middleware is installed in the sandbox only. An error here is logged and changes no response.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from infra import log_context, runs
from infra.sealing import sha256_hex
from keys.jws import JwsError, decode_segment
from presentation.errors import refusal_of
from presentation.machine_errors import MachineError
from presentation.models import AuthorizationCode, Interaction, RelyingParty
from presentation.relying_parties.authentication.assertion import unverified_subject
from presentation.relying_parties.authentication.authentication import basic
from presentation.requests.receiving import posted_form
from sandbox.models import LoggedStep

MACHINES = {"push", "token", "userinfo", "verify", "outcome"}
# The routes that are recorded, besides the pages of a redirect task: sign-in and identity check.
ROUTES = MACHINES | {"authorize", "resume", "leave", "delivery", "consent_review"}
MOST = 500  # steps of one relying party, because everybody who knows its client ID can make some
KEPT = timedelta(days=1)
_PAGES_OF = {"interaction_id": "pk", "redirect_task_id": "redirect_task", "consent_id": "consent"}
_ANSWER = {"vp_token", "code", "error", "error_description", "state", "iss"}


class Recording:
    """The innermost middleware, so that it gets the response of the view, also for an exception."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        record(request, response)
        return response


def record(request: HttpRequest, response: HttpResponse) -> None:
    """Stores the step, if the request is one of a self-registered relying party."""
    match, facts = request.resolver_match, log_context.facts()
    route, kwargs = (match.url_name or "", match.kwargs) if match else ("", {})
    refused = refusal_of(request)
    is_anothers = "client_id" in facts and "self_registered" not in facts
    is_database_away = response.status_code == 503 and not refused
    if is_anothers or is_database_away or not (route in ROUTES or "redirect_task_id" in kwargs):
        return
    with runs.isolated("step_not_recorded"):
        if about := _about(request, kwargs, facts):
            said = _members(response)
            step = LoggedStep(reference=facts.get("reference", ""), route=route, at=timezone.now())
            party, begun = step.relying_party_id, step.interaction = about
            if handle := said.get("request_uri") or request.GET.get("request_uri"):
                push = UUID(sha256_hex(handle)[:32])  # in place of the interaction, until that begins
                step.interaction = begun or push
                LoggedStep.objects.filter(relying_party=party, interaction=push).update(
                    interaction=begun or push
                )
            step.method, step.status = str(request.method)[:7], response.status_code
            step.error = getattr(refused, "error", said.get("error", ""))[:60]
            left_out = facts.get("left_out", "") if route in ("push", "authorize") else ""
            told = getattr(refused, "for_developer", "") or refused
            sentence = str(told or said.get("error_description", left_out))
            named = sentence.partition(" must equal")[0]
            sent = named and (request.GET.dict() | request.POST.dict()).get(named)
            step.sentence = re.sub(r"\S+@\S+", "…", f"{sentence}; sent: {sent}" if sent else sentence)[:300]
            step.answer = ", ".join(f"{name} ({len(value)})" for name, value in said.items())[:300]
            store_step(step)


@transaction.atomic
def store_step(step: LoggedStep) -> None:
    """Stores a step, and deletes the oldest of its relying party beyond `MOST`."""
    step.save(force_insert=True)
    steps = LoggedStep.objects.filter(relying_party=step.relying_party_id)
    for newest in steps.order_by("-id").values_list("id", flat=True)[MOST : MOST + 1]:
        steps.filter(id__lte=newest).delete()


def _about(request: HttpRequest, kwargs: dict[str, Any], facts: dict[str, Any]) -> tuple[Any, Any] | None:
    """The self-registered relying party and the interaction of the request; None for all others."""
    page_of = {field: kwargs[name] for name, field in _PAGES_OF.items() if name in kwargs}
    if by := page_of or ({"pk": facts["interaction"]} if "interaction" in facts else {}):
        rows = Interaction.objects.filter(**by, relying_party__self_registered=True)
        if ids := rows.values_list("relying_party", "pk").first():
            return ids
    client_id = "" if page_of else facts.get("client_id") or _claimed(request)
    if not client_id or not client_id.isascii() or not client_id.isprintable():
        return None
    party = RelyingParty.objects.filter(client_id=client_id, self_registered=True).first()
    return (party.pk, _of_its_code(request, party)) if party else None


def _of_its_code(request: HttpRequest, party: RelyingParty) -> UUID | None:
    """The interaction of the code that the request sends, if it is a code of this relying party."""
    with suppress(MachineError):
        if code := _form(request).get("code"):
            own = AuthorizationCode.objects.filter(digest=sha256_hex(code), interaction__relying_party=party)
            return own.values_list("interaction", flat=True).first()
    return None


def _form(request: HttpRequest) -> dict[str, str]:
    """The posted form, if the view has read it; raises MachineError."""
    return posted_form.read(vars(request).get("_body", b""))


def _claimed(request: HttpRequest) -> str:
    """The client ID that the request names, not proven; empty if there is none."""
    authorization = request.headers.get("Authorization", "")
    scheme, _space, token = authorization.partition(" ")
    with suppress(MachineError, JwsError, IndexError):
        if scheme.lower() == "bearer":
            return str(decode_segment(token.split(".")[1]).get("client_id"))
        form = _form(request)
        named = basic(authorization)[0] if scheme else form.get("client_id") or request.GET.get("client_id")
        return named or unverified_subject(form.get("client_assertion", ""))
    return ""


def _members(response: HttpResponse) -> dict[str, str]:
    """The members of an answer in the address of a redirect, or in JSON."""
    parts = urlsplit(response.headers.get("Location", ""))
    members = dict(parse_qsl(parts.fragment or parts.query))
    if members.keys() & {
        "iss",
        "vp_token",
    }:  # other addresses are those of a page, ours or the relying party's
        return {name: value for name, value in members.items() if name in _ANSWER}
    if response.headers.get("Content-Type") != "application/json":
        return {}
    read = json.loads(response.content)
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in read.items()}
