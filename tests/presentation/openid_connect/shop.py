"""A shop that is a client of OpenID Connect: its requests, and what it makes of the answers."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from django.test import Client
from django.utils import timezone

from presentation.models import Interaction, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.requests.interactions import path_of
from tests.people import register
from tests.presentation.clients import FORM, TOKEN, basic
from tests.presentation.requests.authorization_requests import PATH
from tests.relying_party import encode, read_jwt

CALLBACK = "https://shop.example/callback"
USERINFO = "/openid-connect/userinfo"
# Everything but what a person is asked as a question.
ALL = ["given_name", "family_name", "birth_date", "nationalities", "email", "age_equal_or_over.*"]
VERIFICATION = [f"verification.{name}" for name in ("trust_framework", "assurance_level", "time", "evidence")]


@dataclass
class Shop:
    """Begins requests, and exchanges their codes."""

    party: RelyingParty
    secret: str
    verifiers: list[str] = field(default_factory=list)

    @classmethod
    def registered(cls, name: str = "Shop", **fields: Any) -> "Shop":
        facts = {"wire_format": "openid", "allowed_claims": ALL + VERIFICATION} | fields
        party = register(name, CALLBACK, f"{CALLBACK}?lang=en", **facts)
        return cls(party, client_secrets.rotate(party, now=timezone.now()).text)

    def asks(self, **changes: Any) -> dict[str, str]:
        """The parameters of a request; None leaves one out, and `claims` may be an object."""
        self.verifiers.append(secrets.token_urlsafe(32))
        parameters = {
            "response_type": "code",
            "client_id": self.party.client_id,
            "redirect_uri": CALLBACK,
            "scope": "openid profile",
            "state": "af0ifjsldkj",
            "nonce": secrets.token_urlsafe(16),
            "code_challenge": challenge(self.verifiers[-1]),
            "code_challenge_method": "S256",
        } | changes
        if isinstance(parameters.get("claims"), dict):
            parameters["claims"] = json.dumps(parameters["claims"])
        return {name: str(value) for name, value in parameters.items() if value is not None}

    def code(self, client: Client, *, switched_on: list[str] | None = None, **changes: Any) -> str:
        """The code after the yes of the holder who is signed in."""
        response = client.get(PATH, self.asks(**changes))
        assert response.status_code in (200, 303), response.content
        return answer_of(share(client, switched_on=switched_on))["code"]

    def redeems(self, client: Client, sent: str | None, **changes: Any) -> Any:
        """The response to the exchange of this code, with the newest verifier."""
        form = {
            "grant_type": "authorization_code",
            "code": sent,
            "redirect_uri": CALLBACK,
            "code_verifier": self.verifiers[-1],
        } | changes
        body = urlencode({name: value for name, value in form.items() if value is not None}, quote_via=quote)
        return client.post(TOKEN, body, content_type=FORM, headers=basic(self.party.client_id, self.secret))

    def tokens(self, client: Client, **changes: Any) -> dict[str, Any]:
        """The members of the token response to a request that the holder agrees to."""
        response = self.redeems(Client(), self.code(client, **changes))
        assert response.status_code == 200, response.content
        members: dict[str, Any] = response.json()
        return members

    def id_token(self, client: Client, **changes: Any) -> dict[str, Any]:
        return dict(read_jwt(self.tokens(client, **changes)["id_token"]).payload)


def challenge(verifier: str) -> str:
    return encode(hashlib.sha256(verifier.encode()).digest())


def share(client: Client, *, switched_on: list[str] | None = None, decision: str = "share") -> Any:
    """The response to the holder's decision on the newest request."""
    newest = Interaction.objects.latest("created_at")
    return client.post(path_of(newest), {"decision": decision, "optional": switched_on or []})


def answer_of(response: Any) -> dict[str, str]:
    """The parameters in the query of the redirect, which has an empty fragment; each occurs once."""
    assert response.status_code == 303, response.content
    location = response.headers["Location"]
    assert location.endswith("#")
    pairs = parse_qsl(urlsplit(location).query, keep_blank_values=True, strict_parsing=True)
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def user_info(client: Client, access_token: str) -> Any:
    return client.get(USERINFO, headers={"Authorization": f"Bearer {access_token}"})
