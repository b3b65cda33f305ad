"""docs/openapi.yaml: complete, valid, readable, and consistent with code and server (schemathesis)."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.utils.html import escape
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from rest_framework.views import APIView
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from config.urls import PUBLISHED_DOCUMENTS, PUBLISHED_FAMILIES
from keys.models import StatementKey
from keys.rotation import due_steps
from presentation.errors import AuthorizationError
from presentation.machine_errors import MachineError
from presentation.outcomes import DELIVERIES, State
from presentation.parameters import LIMITS, QUERY, REQUEST_OBJECT_PARAMETERS, RESPONSE_MODES, SHORTEST_NONCE
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.metadata.grants import GRANTS
from sandbox.api import description as api
from sandbox.holder.call import CHOICES, LONGEST_URL
from tests.people import ALICE, DETAILS, evidence_of, register
from tests.presentation.api_schemas import demand_exactly
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.raised_errors import raised_without_a_class
from wallet.credential.claims import CLAIMS, Identity
from wallet.credential.trust_policy import CHECKS as CHECKS_OF_PRESENTATIONS
from wallet.models import StatusEntry

DOCUMENT, PAGE = "/sandbox/api/openapi.json", "/sandbox/api/"
CALLBACK = "https://bank.example/callback"
DESCRIPTION = api.resolved(django_settings.BASE_URL)
SCHEMAS = DESCRIPTION["components"]["schemas"]
OPERATIONS: dict[str, Any] = {
    operation["operationId"]: operation
    for methods in DESCRIPTION["paths"].values()
    for operation in methods.values()
}
WITH_INPUT = [name for name, each in OPERATIONS.items() if {"parameters", "requestBody"} & each.keys()]
# Properties that no generator can check: it has no valid clients, secrets and requests, and it does not know
# that the authorization endpoint answers an invalid request with a redirect.
UNKNOWABLE = {"positive_data_acceptance"}
GOES_HOME = {"negative_data_rejection"}
REFUSALS = [400, 401, 403, 404, 405, 411, 413, 414]
pytestmark = pytest.mark.slow
CONFIG = SchemathesisConfig.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
)


def access_token() -> dict[str, str]:
    """The header of a client with every grant."""
    party = register("Corner Shop", "https://shop.example/callback", grants=list(GRANTS))
    token = access_tokens.issue(party.client_id, list(GRANTS), now=timezone.now())
    return {"Authorization": f"Bearer {token['access_token']}"}


def check(name: str, service: Any, mode: GenerationMode, *, but: set[str], **known: str) -> None:
    """Lets schemathesis call one endpoint of the running server; `known` parameters are not generated."""
    document = schemathesis.openapi.from_url(f"{service.url}{DOCUMENT}", config=CONFIG)
    operation = document.find_operation_by_id(name)
    headers = access_token() if OPERATIONS[name]["security"] == [{"access_token": []}] else {}
    left_out = [CHECKS.get_one(check) for check in but]

    @settings(
        max_examples=15,
        derandomize=True,  # no random failures later
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        if known:
            query = (case.query or {}).items()
            plain = {name: value for name, value in query if name not in REQUEST_OBJECT_PARAMETERS}
            case.query = plain | known
        case.call_and_validate(excluded_checks=left_out, headers=headers)

    call()


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_running_server_matches_the_description(service: Any, signing_key: Any, name: str) -> None:
    but = UNKNOWABLE if name in WITH_INPUT else set()
    due_steps.rotate(now=timezone.now(), kind=StatementKey)

    check(name, service, GenerationMode.POSITIVE, but=but)


@pytest.mark.parametrize("name", WITH_INPUT)
def test_what_is_not_as_said_is_refused_as_said(service: Any, signing_key: Any, name: str) -> None:
    but = GOES_HOME if name == "authorize" else set()

    check(name, service, GenerationMode.NEGATIVE, but=but)


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
        response_mode="fragment",  # other examples may not have this redirect_uri
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
    routed = dict(routes(get_resolver().url_patterns))
    machine = {path for path, view in routed.items() if issubclass(getattr(view, "cls", type(None)), APIView)}
    documents = {*PUBLISHED_DOCUMENTS, *(f"{path}/<int:number>" for path in PUBLISHED_FAMILIES)}
    described = {path[1:].replace("{number}", "<int:number>") for path in DESCRIPTION["paths"]}

    assert machine | documents <= described
    assert described <= set(routed)


def test_every_parameter_header_and_answer_is_explained() -> None:
    for each in [*OPERATIONS.values(), *(methods["post"] for methods in DESCRIPTION["webhooks"].values())]:
        assert each["summary"]
        for parameter in each.get("parameters", []):
            assert parameter.get("description") or parameter["schema"].get("description"), parameter
        for response in each["responses"].values():
            assert response["description"]
            assert all(header["description"] for header in response.get("headers", {}).values())


# --- Consistent with the code -----------------------------------------------------------------------------


def subclasses(family: type) -> set[type]:
    return {family, *(each for direct in family.__subclasses__() for each in subclasses(direct))}


def codes(family: type) -> set[str]:
    return {each.error for each in subclasses(family) if hasattr(each, "error")}  # type: ignore[attr-defined]


def test_parameters_and_their_limits_are_those_of_the_code() -> None:
    parameters = {each["name"]: each["schema"] for each in OPERATIONS["authorize"]["parameters"]}
    pushed = SCHEMAS["PushedRequest"]["properties"]
    of_clients = {"client_secret", "client_assertion", "client_assertion_type"}

    assert {name: schema["maxLength"] for name, schema in parameters.items()} == LIMITS
    assert pushed.keys() - of_clients == LIMITS.keys() - {"request_uri", "request_uri_method"}
    for name in pushed.keys() & parameters.keys():
        assert pushed[name]["maxLength"] == LIMITS[name]
    assert SCHEMAS["Nonce"]["minLength"] == SHORTEST_NONCE
    assert SCHEMAS["ResponseMode"]["enum"] == [*RESPONSE_MODES, QUERY]
    assert SCHEMAS["HolderCall"]["properties"]["authorize_url"]["maxLength"] == LONGEST_URL


def test_lists_of_values_are_those_of_the_code() -> None:
    choices = {name: SCHEMAS["HolderCall"]["properties"][name] for name in CHOICES}
    result = SCHEMAS["VerificationResult"]["properties"]
    outcome = SCHEMAS["Outcome"]["properties"]
    statuses = [name.lower() for name in StatusEntry.Status.names]

    without_a_class = {code for _status, code in raised_without_a_class()}
    assert set(SCHEMAS["ErrorCode"]["enum"]) == codes(MachineError) | without_a_class
    assert set(SCHEMAS["AuthorizationErrorCode"]["enum"]) == codes(AuthorizationError)
    assert all(grant in SCHEMAS["TokenRequest"]["properties"]["scope"]["description"] for grant in GRANTS)
    assert result["checks"]["items"]["properties"]["name"]["enum"] == list(CHECKS_OF_PRESENTATIONS)
    assert set(result["status"]["enum"]) == {*statuses, "unknown"}
    assert set(outcome["status"]["enum"]) == set(statuses)
    assert outcome["state"]["enum"] == list(State)
    assert outcome["delivery"]["enum"] == list(dict.fromkeys(DELIVERIES.values()))
    assert {name: tuple(schema["enum"]) for name, schema in choices.items()} == CHOICES
    assert all(schema["default"] == CHOICES[name][0] for name, schema in choices.items())


def test_claims_are_those_of_the_code() -> None:
    verification = evidence_of().verification()
    somebody = Identity("Ada", "Example", date(1990, 4, 1), ("GB",), verification, "a@b.c", DETAILS)
    types: dict[Any, str] = {str: "string", bool: "boolean", list: "array", dict: "object"}
    types[type(None)] = "string"  # SUBJECT
    claims = SCHEMAS["Claims"]["properties"]
    described = {
        path: schema
        for name, schema in claims.items()
        for path, schema in [
            ((name,), schema),
            *(((name, each), inner) for each, inner in schema.get("properties", {}).items()),
        ]
        if path in CLAIMS or schema["type"] != "object"
    }

    members = {("place_of_birth", name) for name in DETAILS["place_of_birth"]}
    assert described.keys() == CLAIMS.keys() | members
    for path, claim in CLAIMS.items():
        assert described[path]["type"] == types[type(claim.value(somebody, date(2026, 1, 1)))]
        assert described[path]["description"] == claim.description


def test_the_discovery_documents_in_the_examples_are_those_that_are_served(client: Client, db: None) -> None:
    for name, address in (
        ("discovery", "/.well-known/openid-configuration"),
        ("credential_issuer", "/.well-known/jwt-vc-issuer"),
    ):
        content = OPERATIONS[name]["responses"]["200"]["content"]["application/json"]
        assert content["examples"]["sandbox"]["value"] == client.get(address).json()


# --- Valid --------------------------------------------------------------------------------------------------


def test_the_document_is_openapi_3_1(client: Client) -> None:
    response = client.get(DOCUMENT)
    document = response.json()

    schemathesis.openapi.from_dict(document).validate()
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": django_settings.BASE_URL}]
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    names = {name for each in OPERATIONS.values() for way in each["security"] for name in way}
    assert names == set(document["components"]["securitySchemes"])


def test_the_address_of_the_service_is_in_the_place_of_the_one_in_the_file(
    client: Client, settings: Any
) -> None:
    settings.BASE_URL = "https://sandbox.example"

    for address in (DOCUMENT, PAGE):
        answer = client.get(address).content.decode()
        assert "https://sandbox.example/oauth/v2/token" in answer or address == PAGE
        assert "https://sandbox.example" in answer
        assert "localhost:8000" not in answer


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(inner)


def test_every_named_part_is_used_and_every_reference_has_a_target() -> None:
    document = api.description(django_settings.BASE_URL)
    used = {node["$ref"] for node in nodes(document) if "$ref" in node}
    named = {
        f"#/components/{kind}/{name}"
        for kind, parts in document["components"].items()
        if kind != "securitySchemes"
        for name in parts
    }

    assert used == named


def test_every_schema_is_valid_and_so_is_every_example() -> None:
    examples = 0
    for node in nodes(DESCRIPTION):
        schema = node.get("schema", node)
        shown = node.get("examples", [])
        values = [each["value"] for each in shown.values()] if isinstance(shown, dict) else shown
        if "schema" in node or (values and "type" in node):
            Draft202012Validator.check_schema(schema)
            for value in values:
                demand_exactly(schema, value)
                examples += 1
    assert examples > 60


def test_every_body_in_json_or_a_form_has_an_example() -> None:
    media = {"application/json", "application/x-www-form-urlencoded"}
    contents = [each for node in nodes(DESCRIPTION) for each in node.get("content", {}).items()]

    assert all("examples" in content for kind, content in contents if kind in media)


# --- Readable -----------------------------------------------------------------------------------------------


def groups() -> list[tuple[Any, list[dict[str, Any]]]]:
    return api.groups(django_settings.BASE_URL)


def test_the_page_has_every_operation_with_its_parameters_and_answers(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    for _, operations in groups():
        for operation in operations:
            section = section_of(page, operation["operationId"])
            assert operation["path"] in section
            members = operation["query"] + operation["headers"]
            members += operation["sent"].members if operation["sent"] else []
            for answer in operation["answers"]:
                assert f"<strong>{answer.status}</strong>" in section
                members += answer.members
            assert all(f"<code>{member.name}</code>" in section for member in members)
    assert "keys[].kid" in page
    assert "age_equal_or_over.18" in page
    assert all(code in section_of(page, "errors") for code in codes(MachineError) | codes(AuthorizationError))
    outside_code = re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)
    for trace in ("$ref", "Promise", "object at", "Member(", "&#x27;"):
        assert trace not in outside_code, trace


def section_of(page: str, name: str) -> str:
    """The text of the page about one operation."""
    return page.partition(f' id="{name}"')[2].partition("</section>")[0]


def test_only_what_is_sent_is_called_required(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    for _, operations in groups():
        for operation in operations:
            assert "badge" not in section_of(page, operation["operationId"]).partition("<h4>Answers</h4>")[2]
    assert "badge" not in section_of(page, "credential_revoked")
    assert "badge" in section_of(page, "verify").partition("<h4>Answers</h4>")[0]


def test_what_is_called_required_is_required_and_nothing_else(
    client: Client, acme_bank: Any, signing_key: Any
) -> None:
    authorize = groups()[0][1][0]
    good = asked(acme_bank)
    said = {member.name: member.required for member in authorize["query"]}

    for name in good:
        answer = client.get(PATH, {key: value for key, value in good.items() if key != name})
        refused = answer.status_code == 400 or "#error=" in answer.headers["Location"]
        assert bool(said[name]) is refused, name
    assert said["client_id"] == "required"
    assert said["nonce"] == "required unless request or request_uri is sent"
    assert said["scope"] == "required unless dcql_query, request or request_uri is sent"
    assert {name for name, required in said.items() if required} == good.keys() - {"state"}


def test_the_page_is_written_for_people(client: Client, db: None) -> None:
    page = client.get(PAGE).content.decode()

    assert "16 to 512 characters" in page
    assert "up to 100 characters" in page
    assert "client_id and client secret (HTTP Basic), an access token (Bearer) or in the body" in page
    assert "<h4>Headers</h4>" in section_of(page, "presentation_completed")
    assert "<h4>Parameters</h4>" not in section_of(page, "presentation_completed")
    contents = page.partition("<nav")[2].partition("</nav>")[0]
    for tag, _ in groups():
        assert tag["name"] in contents
        assert escape(tag["description"]) in page
    for riddle in ("0–", "`", "The same as", "you may leave", "….", "exactly one of"):
        assert riddle not in page.partition("<main")[2], riddle


def test_production_has_neither() -> None:
    from tests.deployment_check import production_environment

    code = (
        "import sys, django; django.setup()\n"
        "from django.urls import resolve, Resolver404; import config.urls\n"
        "for path in ('/sandbox/api/', '/sandbox/guide/', '/sandbox/relying-parties/'):\n"
        "    try: resolve(path); raise SystemExit(path)\n"
        "    except Resolver404: pass\n"
        "apart = ('markdown_it', 'sandbox')\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in apart]"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", **production_environment()}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
