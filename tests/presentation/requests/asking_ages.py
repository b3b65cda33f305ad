"""Requests that ask whether a person has reached certain ages."""

import json
import secrets
from typing import Any

from django.test import Client

from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.people import ALICE
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from wallet.credential.credentials import credential_type


def query(*paths: tuple[str, ...]) -> str:
    """A DCQL query for these paths of claims."""
    claims = [{"path": list(path)} for path in paths]
    vct = {"vct_values": [credential_type()]}
    return json.dumps({"credentials": [{"id": "q", "format": "dc+sd-jwt", "meta": vct, "claims": claims}]})


def ages(*years: int) -> list[tuple[str, ...]]:
    """The paths that ask whether a person has reached these ages."""
    return [("age_equal_or_over", str(each)) for each in years]


def ask(client: Client, party: RelyingParty, *paths: tuple[str, ...], hint: str = ALICE) -> Any:
    """The answer to a request for these paths."""
    facts = {"dcql_query": query(*paths), "login_hint": hint, "nonce": secrets.token_urlsafe(24)}
    return client.get(PATH, asked(party, scope=None, **facts))


def share(client: Client, party: RelyingParty, *paths: tuple[str, ...], hint: str = ALICE) -> dict[str, str]:
    """The answer to a request that the holder answers with yes; a request that cannot be met is left."""
    response = ask(client, party, *paths, hint=hint)
    interaction = path_of(Interaction.objects.latest("created_at"))
    if response.status_code == 200:
        return fragment(client.post(interaction, {"decision": "share"}).headers["Location"])
    page = client.get(interaction)
    assert page.status_code == 200
    assert "leave/" in page.content.decode()
    return fragment(client.get(f"{interaction}leave/").headers["Location"])
