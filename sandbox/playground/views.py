"""The playground: a relying application of our own, to try a request and see the answer verified."""

import secrets
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from infra.reading import only_read
from keys.certificates.authority import root_fingerprint
from presentation.dcql.queries import SCOPES, claims_of
from presentation.models import RelyingParty, ResponseURI
from presentation.transaction_data.types import TYPES
from sandbox.playground import posted_answers
from sandbox.playground.checks import CHECKS
from sandbox.playground.error_meanings import ERRORS
from sandbox.playground.examples import EXAMPLES
from sandbox.playground.sample_request import MISTAKES, SampleRequest, address
from sandbox.wording import PARAMETERS
from wallet.claims import labels
from wallet.credentials import TYPE_PATH


@only_read
@never_cache
def playground(request: HttpRequest) -> HttpResponse:
    """Choose what to ask; the page shows the request and leads to the authorization endpoint."""
    redirect_uri = settings.BASE_URL + reverse("playground_callback")
    endpoint = settings.BASE_URL + reverse("authorize")
    parties = {party.client_id: party for party in _parties(redirect_uri)}
    if not parties:
        return render(request, "playground/no_parties.html", {"redirect_uri": redirect_uri})
    sample = SampleRequest.from_query(
        request.GET,
        client_ids=parties,
        redirect_uri=redirect_uri,
        secret=lambda: secrets.token_urlsafe(24),
        response_uris={client_id: posted_answers.response_uri() for client_id in _posted_to(parties)},
    )
    context = _choices(parties) | _as_built(sample, endpoint) | {"obstacle": posted_answers.obstacle()}
    facts = {"base_url": settings.BASE_URL, "root_fingerprint": root_fingerprint()}
    return render(request, "playground/index.html", context | facts)


@only_read
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Where answers come back. They are in the fragment, so everything else happens in the browser."""
    context = {
        "base_url": settings.BASE_URL,
        "vct": settings.BASE_URL + TYPE_PATH,
        "groups": CHECKS,
        "errors": ERRORS,
        "posted": "response_code" in request.GET,
    }
    return render(request, "playground/callback.html", context)


def _parties(redirect_uri: str) -> list[RelyingParty]:
    """The active relying parties that are answered here: the demo ones, and any that an operator adds."""
    answered_here = RelyingParty.objects.filter(
        state=RelyingParty.State.ACTIVE, redirect_uris__uri=redirect_uri
    )
    return list(answered_here.defer("logo")[:20])


def _posted_to(parties: dict[str, RelyingParty]) -> set[str]:
    """Those whose answers may be posted here, if any can."""
    if posted_answers.obstacle():
        return set()
    registered = ResponseURI.objects.filter(
        uri=posted_answers.response_uri(), relying_party__in=parties.values()
    )
    return set(registered.values_list("relying_party__client_id", flat=True))


def _choices(parties: dict[str, RelyingParty]) -> dict[str, Any]:
    """What can be chosen; `known` says the same to the page's script."""
    scopes = {scope: [list(path) for path in claims_of(scope)] for scope in SCOPES}
    posted = _posted_to(parties)
    names = {
        client_id: {"name": party.name, "wireFormat": party.wire_format, "posted": client_id in posted}
        for client_id, party in parties.items()
    }
    return {
        "parties": parties.values(),
        "scopes": [
            (scope, labels(claims_of(scope)), [".".join(path) for path in claims_of(scope)])
            for scope in SCOPES
        ],
        "transactions": [(urn, TYPES[urn].title) for urn in EXAMPLES],
        "known": {
            "parties": names,
            "scopes": scopes,
            "examples": dict(EXAMPLES),
            "responseUri": posted_answers.response_uri(),
        },
    }


def _as_built(sample: SampleRequest, endpoint: str) -> dict[str, Any]:
    """The request itself: its address, its parameters one by one, and ways to get it wrong."""
    parameters = sample.parameters()
    plain = sample.in_the_fragment().parameters()
    return {
        "sample": sample,
        "endpoint": endpoint,
        "authorize_url": address(endpoint, parameters),
        "parameters": [(name, parameters.get(name), about) for name, about in PARAMETERS.items()],
        "mistakes": [(mistake, address(endpoint, {**plain, **mistake.changes})) for mistake in MISTAKES],
        "mistake_changes": [dict(mistake.changes) for mistake in MISTAKES],
    }
