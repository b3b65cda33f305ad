"""The requests of relying parties as the request log shows them: steps, outcome, delivery and webhooks."""

import re
from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from consent import decisions
from presentation import outcomes
from presentation.models import Interaction, RelyingParty
from presentation.webhooks.models import WebhookEvent
from sandbox.api.description import groups
from sandbox.models import LoggedStep
from sandbox.request_log.recording import KEPT, MACHINES

# `request` names the parameter only at the beginning or before "object"; elsewhere it is the word.
_NAMES = re.compile(r"^request\b|\brequest(?= object)|\b(?!request\b)[a-z_]+\b")


def requests_of(parties: Collection[RelyingParty], *, now: datetime) -> list[dict[str, Any]]:
    """The requests of the last day, the newest first, as the template needs them.

    A step that belongs to no interaction, such as a call of a machine, is a request of its own. The outcome
    is what the relying party reads at the endpoint for outcomes.
    """
    grouped: dict[UUID | int, list[LoggedStep]] = defaultdict(list)
    steps = LoggedStep.objects.filter(relying_party__in=parties, at__gt=now - KEPT)
    for step in steps.select_related("relying_party").order_by("-id"):
        grouped[step.interaction or step.pk].insert(0, step)
    rows = Interaction.objects.select_related("relying_party", "delivery", "code", "consent__wallet")
    interactions: dict[Any, Any] = rows.in_bulk([key for key in grouped if isinstance(key, UUID)])
    webhooks = defaultdict(list)
    for event in WebhookEvent.objects.filter(relying_party__in=parties, subject__in=map(str, interactions)):
        webhooks[event.subject].append(event)
    return [
        {
            "steps": [(step, *_rule(step)) for step in steps],
            "outcome": outcomes.told_about(interactions[key], now=now) if key in interactions else {},
            "delivery": getattr(interactions.get(key), "delivery", None),
            "code": _code_of(interactions[key], steps, now=now) if key in interactions else "",
            "webhooks": webhooks[str(key)],
        }
        for key, steps in grouped.items()
    ]


def _code_of(interaction: Interaction, steps: Collection[LoggedStep], *, now: datetime) -> str:
    """What became of the code of OpenID Connect, in words; empty if there is none, or it was exchanged."""
    consent = interaction.consent
    by_code = interaction.relying_party.wire_format == RelyingParty.WireFormat.OPENID_CONNECT
    answered = by_code and interaction.outcome == Interaction.Outcome.TOKEN
    if not answered or consent is None or consent.undelivered_at is None:  # collected
        return ""
    if any(step.route == "token" for step in steps):
        return "sent, but not exchanged: the last token request says why"
    code = getattr(interaction, "code", None)
    if code is not None and code.expires_at > now and decisions.is_collectable(consent, now=now):
        ends = f"{code.expires_at.astimezone(UTC):%H:%M:%S} UTC"
        return f"not sent to the token endpoint yet; it can be exchanged until {ends}"
    return "never sent to the token endpoint while it worked, for a minute at most"


def _rule(step: LoggedStep) -> tuple[str, str]:
    """The parameter that the sentence of a refusal names, and what the API description says about it."""
    rules = _rules(settings.BASE_URL, step.route if step.route in MACHINES else "authorize")
    # A wrong secret or assertion breaks no rule of a parameter, though the sentence names some.
    breaks_a_rule = step.is_refused and step.error != "invalid_client"
    names = _NAMES.findall(step.sentence) if breaks_a_rule else []
    named = next((name for name in names if name in rules), "")
    return named, rules.get(named, "")


@cache
def _rules(base_url: str, route: str) -> dict[str, str]:
    """What the API description says about each parameter of an endpoint."""
    rules: dict[str, str] = {}
    for operation in (tag_operation for _tag, operations in groups(base_url) for tag_operation in operations):
        if operation["path"] == reverse(route):
            sent = operation["sent"].members if operation["sent"] else []
            rules |= {member.name: member.about for member in [*operation["query"], *sent]}
    return rules
