"""Developers, their applications, and what their request log shows."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from presentation.relying_parties.metadata.grants import GRANTS
from sandbox.models import LoggedStep, SelfRegistration
from tests.people import register
from tests.sandbox.developers import DEVELOPER, HOME, signed_in

CALLBACK = "https://bank.example/callback"


def registered_by(owner: str = DEVELOPER, name: str = "My Shop", **fields: Any) -> RelyingParty:
    """A self-registered relying party of this developer."""
    party = register(name, CALLBACK, self_registered=True, grants=list(GRANTS), **fields)
    SelfRegistration.objects.create(
        relying_party=party, owner=owner, expires_at=timezone.now() + timedelta(days=90)
    )
    return party


@pytest.fixture
def own(db: None) -> RelyingParty:
    return registered_by()


@pytest.fixture
def developer(db: None) -> Client:
    return signed_in()


def text(response: Any) -> str:
    return " ".join(unescape(response.content.decode()).split())


def request_log_of(party: RelyingParty) -> str:
    return f"{HOME}{party.client_id}/requests/"


def steps(**by: Any) -> list[tuple[str, int | None]]:
    """Route and status of each step, in order."""
    return list(LoggedStep.objects.filter(**by).order_by("id").values_list("route", "status"))
