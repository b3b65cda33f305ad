"""The playground: the sandbox's own relying application, which sends requests and verifies answers."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from infra.reading import only_read
from keys.certificates.authority import root_fingerprint
from presentation.models import RelyingParty, ResponseURI
from presentation.relying_parties.models.relying_parties import OPENID_CONNECT
from presentation.scopes import catalogue, choices
from presentation.transaction_data.types import TYPES
from sandbox.api.description import resolved
from sandbox.playground import codes, posted_answers
from sandbox.playground.examples import URNS, example
from sandbox.playground.sample_request import MISTAKES, PARAMETERS, SampleRequest, address
from wallet.credential.credentials import credential_type


@only_read
@never_cache
def playground(request: HttpRequest) -> HttpResponse:
    """The page on which a developer builds a request; its button leads to the authorization endpoint."""
    redirect_uri = settings.BASE_URL + reverse("playground_callback")
    endpoint = settings.BASE_URL + reverse("authorize")
    parties = {party.client_id: party for party in _parties(redirect_uri)}
    if not parties:
        return render(request, "playground/no_parties.html", {"redirect_uri": redirect_uri})
    obstacle = posted_answers.obstacle()
    posted = set() if obstacle else _with_response_uri(parties)
    sample = SampleRequest.from_query(
        request.GET,
        client_ids=parties,
        redirect_uri=redirect_uri,
        secret=lambda: secrets.token_urlsafe(24),
        response_uris=dict.fromkeys(posted, posted_answers.response_uri()),
        by_code=[client_id for client_id, party in parties.items() if party.wire_format == OPENID_CONNECT],
    )
    if "go" in request.GET:  # without JavaScript, what was typed is known only now
        return HttpResponseRedirect(address(endpoint, sample.parameters()), status=303)
    facts = {"base_url": settings.BASE_URL, "root_fingerprint": root_fingerprint(), "obstacle": obstacle}
    context = _choices(parties, posted, sample.scopes) | _as_built(sample, endpoint) | facts
    return render(request, "playground/index.html", context)


@only_read
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """The page to which answers return. Its script reads them from the fragment and verifies them.

    A code of OpenID Connect is in the query, and the server exchanges it.
    """
    if request.GET.keys() & {"code", "error"}:
        return render(request, "playground/code.html", codes.received(request.GET, now=timezone.now()))
    context = {
        "base_url": settings.BASE_URL,
        "vct": credential_type(),
        "posted": "response_code" in request.GET,
    }
    return render(request, "playground/callback.html", context)


def _parties(redirect_uri: str) -> list[RelyingParty]:
    """The active relying parties, 20 at most, that have registered the playground as a redirect URI."""
    answered_here = RelyingParty.objects.filter(
        state=RelyingParty.State.ACTIVE, redirect_uris__uri=redirect_uri
    )
    return list(answered_here.defer("logo")[:20])


def _with_response_uri(parties: dict[str, RelyingParty]) -> set[str]:
    """The client IDs of those that have registered the playground as a response URI."""
    registered = ResponseURI.objects.filter(
        uri=posted_answers.response_uri(), relying_party__in=parties.values()
    )
    return set(registered.values_list("relying_party__client_id", flat=True))


def _choices(
    parties: dict[str, RelyingParty], posted: set[str], scopes_chosen: Sequence[str]
) -> dict[str, Any]:
    """What a developer can choose; `known` holds the same for the page's script.

    posted: the client IDs of those whose answers can be posted to the playground. scopes_chosen: for which
    the examples of transactions are.
    """
    known_scopes = catalogue.current()
    names = {
        client_id: {"name": party.name, "wireFormat": party.wire_format, "posted": client_id in posted}
        for client_id, party in parties.items()
    }
    return {
        "parties": parties.values(),
        "scopes": [
            (urn, choices.claims_in_words(scope), [".".join(path) for path in scope.claims])
            for urn, scope in known_scopes.items()
        ],
        "transactions": [(urn, TYPES[urn].title) for urn in URNS],
        "known": {
            "parties": names,
            "scopes": {urn: [list(path) for path in scope.claims] for urn, scope in known_scopes.items()},
            "optional": {urn: scope.optional for urn, scope in known_scopes.items() if scope.optional},
            "queryIds": {urn: scope.query_id for urn, scope in known_scopes.items()},
            "examples": {urn: example(urn, scopes_chosen) for urn in URNS},
            "responseUri": posted_answers.response_uri(),
        },
    }


def _as_built(sample: SampleRequest, endpoint: str) -> dict[str, Any]:
    """The request: its address, each parameter with its description, and the same request with mistakes."""
    operation = resolved(settings.BASE_URL)["paths"][reverse("authorize")]["get"]
    about = {parameter["name"]: parameter["schema"]["description"] for parameter in operation["parameters"]}
    parameters = sample.parameters()
    plain = replace(sample, response_uri="").parameters()
    return {
        "sample": sample,
        "endpoint": endpoint,
        "authorize_url": address(endpoint, parameters),
        "parameters": [(name, parameters.get(name), about[name]) for name in PARAMETERS],
        "mistakes": [(mistake, address(endpoint, {**plain, **mistake.changes})) for mistake in MISTAKES],
        "mistake_changes": [dict(mistake.changes) for mistake in MISTAKES],
    }
