"""The OpenAPI document: complete, valid, readable, and true of the running server (schemathesis)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, given, settings
from rest_framework.views import APIView
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
from presentation.client_metadata.grants import GRANTS
from presentation.clients import access_tokens
from presentation.requests.parameters import CARRIERS
from presentation.sandbox.api.described import ENDPOINTS
from presentation.sandbox.api.openapi import openapi
from presentation.sandbox.api.page import groups
from tests.people import ALICE, register
from tests.presentation.test_authorize import PATH, asked

DOCUMENT, PAGE = "/sandbox/api/openapi.json", "/sandbox/api/"
CALLBACK = "https://bank.example/callback"
WITH_INPUT = [endpoint for endpoint in ENDPOINTS if endpoint.query or endpoint.body]
# What no generator knows: which clients, secrets and requests are good, and that a mistake in a request goes
# home by a redirect.
UNKNOWABLE = {"positive_data_acceptance"}
GOES_HOME = {"negative_data_rejection"}
REFUSALS = [400, 401, 403, 404, 405, 411, 413, 414]
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
)


def endpoint_of(name: str) -> Any:
    return next(endpoint for endpoint in ENDPOINTS if endpoint.name == name)


def access_token() -> dict[str, str]:
    """The header of a client that was granted everything."""
    party = register("Corner Shop", "https://shop.example/callback", grants=list(GRANTS))
    token = access_tokens.issue(party.client_id, list(GRANTS), now=timezone.now())
    return {"Authorization": f"Bearer {token.text}"}


def check(name: str, service: Any, mode: GenerationMode, *, but: set[str], **known: str) -> None:
    """Let schemathesis call one endpoint of the running server; `known` parameters are sent as they are."""
    document = schemathesis.openapi.from_url(f"{service.url}{DOCUMENT}", config=CONFIG)
    operation = document.find_operation_by_id(name)
    headers = access_token() if endpoint_of(name).auth == ("access_token",) else {}
    left_out = [CHECKS.get_one(check) for check in but]

    @settings(
        max_examples=15,
        derandomize=True,  # what passes today does not fail another day
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        if known:
            plain = {name: value for name, value in (case.query or {}).items() if name not in CARRIERS}
            case.query = plain | known
        case.call_and_validate(excluded_checks=left_out, headers=headers)

    call()


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_what_is_said_is_what_the_running_server_does(service: Any, signing_key: Any, endpoint: Any) -> None:
    but = UNKNOWABLE if endpoint in WITH_INPUT else set()

    check(endpoint.name, service, GenerationMode.POSITIVE, but=but)


@pytest.mark.parametrize("endpoint", WITH_INPUT, ids=lambda endpoint: endpoint.name)
def test_what_is_not_as_said_is_refused_as_said(service: Any, signing_key: Any, endpoint: Any) -> None:
    but = GOES_HOME if endpoint.name == "authorize" else set()

    check(endpoint.name, service, GenerationMode.NEGATIVE, but=but)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_whatever_a_registered_application_asks_is_a_redirect(
    service: Any, signing_key: Any, mode: GenerationMode
) -> None:
    party = register("Acme Bank", CALLBACK)

    check(
        "authorize",
        service,
        mode,
        but=GOES_HOME,
        client_id=party.client_id,
        redirect_uri=CALLBACK,
        response_mode="fragment",  # in the others it may not have this redirect_uri
        login_hint=ALICE,
    )


# --- Complete -----------------------------------------------------------------------------------------------


def routes(patterns: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver) and pattern.app_name != "admin":
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield prefix + str(pattern.pattern), pattern.callback


def test_every_endpoint_for_machines_is_described_and_none_that_is_not_there() -> None:
    """Whoever adds one adds a `Described` to presentation/sandbox/described.py."""
    routed = dict(routes(get_resolver().url_patterns))
    machine = {path for path, view in routed.items() if issubclass(getattr(view, "cls", type(None)), APIView)}
    documents = {*PUBLISHED_DOCUMENTS, *(f"{path}/<int:number>" for path in PUBLISHED_FAMILIES)}
    described = {endpoint.path for endpoint in ENDPOINTS}

    assert machine | documents <= described
    assert described <= set(routed)


def test_every_parameter_and_every_answer_is_explained() -> None:
    for endpoint in ENDPOINTS:
        assert all(about for about, _ in endpoint.query.values()), endpoint.name
        statuses = {answer.status: str(answer.about) for answer in reversed(endpoint.answers)}
        assert all(statuses.values()), endpoint.name


# --- Valid --------------------------------------------------------------------------------------------------


def test_the_document_is_openapi_3_1(client: Client) -> None:
    response = client.get(DOCUMENT)
    document = response.json()

    validate_schema(document)
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": django_settings.BASE_URL}]
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    names = {name for each in operations for way in each["security"] for name in way}
    assert names == set(document["components"]["securitySchemes"])


# --- Readable -----------------------------------------------------------------------------------------------


def test_the_page_has_every_operation_with_its_parameters_and_answers(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    for _, operations in groups(openapi()):
        for operation in operations:
            assert f'id="{operation.name}"' in page
            assert operation.path in page
            for member in (
                operation.query + operation.headers + [m for body in operation.sent for m in body.members]
            ):
                assert f"<code>{member.name}</code>" in page
    assert "keys[].kid" in page
    assert re.search("acces_|Promise|object at", page) is None


def section_of(page: str, name: str) -> str:
    """What the page says of one operation."""
    return page.partition(f'<h3 id="{name}"')[2].partition("</section>")[0]


def test_only_what_is_sent_is_called_needed(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    for _, operations in groups(openapi()):
        for operation in operations:
            assert "badge" not in section_of(page, operation.name).partition("<h4>Answers</h4>")[2]
    assert "badge" not in section_of(page, "credential_revoked")
    assert "badge" in section_of(page, "verify").partition("<h4>Answers</h4>")[0]


def test_what_is_called_needed_is_needed_and_nothing_else(
    client: Client, acme_bank: Any, signing_key: Any
) -> None:
    authorize = groups(openapi())[0][1][0]
    good = asked(acme_bank)
    said = {member.name: member.needed for member in authorize.query}

    for name in good:
        answer = client.get(PATH, {key: value for key, value in good.items() if key != name})
        refused = answer.status_code == 400 or "#error=" in answer.headers["Location"]
        assert bool(said[name]) is refused, name
    assert said["client_id"] == "needed"
    assert said["nonce"] == "needed, unless request or request_uri is sent"
    assert said["scope"] == "needed, unless dcql_query, request or request_uri is sent"
    assert {name for name, needed in said.items() if needed} == good.keys() - {"state"}


def test_the_page_is_written_for_people(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    assert "16 to 512 characters" in page
    assert "up to 100 characters" in page
    assert "client_id and client secret (HTTP Basic), an access token (Bearer) or in the body" in page
    assert "<h4>Headers</h4>" in section_of(page, "presentation_completed")
    assert "<h4>Parameters</h4>" not in section_of(page, "presentation_completed")
    contents = page.partition("<nav")[2].partition("</nav>")[0]
    for group, _ in groups(openapi()):
        assert group in contents
    for riddle in ("0–", "`", "The same as", "you may leave", "….", "exactly one of"):
        assert riddle not in page.partition("<main")[2], riddle


def test_production_has_neither() -> None:
    from tests.config.test_settings import start
    from tests.deployment_check import production_environment

    code = (
        "import sys; from django.urls import resolve, Resolver404; import config.urls\n"
        "for path in ('/sandbox/api/', '/sandbox/guide/', '/sandbox/relying-parties/'):\n"
        "    try: resolve(path); raise SystemExit(path)\n"
        "    except Resolver404: pass\n"
        "apart = ('spectacular', 'markdown', '.sandbox')\n"
        "assert not [name for name in sys.modules if any(word in name for word in apart)]"
    )
    run = start(production_environment(), f"exec({code!r})")

    assert run.returncode == 0, run.stderr
