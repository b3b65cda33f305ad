"""Which responses keep the window's opener: everything on the way of a request, and nothing else."""

import re
import uuid

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from config import opener_policy

SAMPLES = {"uuid": str(uuid.UUID(int=1)), "str": "text", "slug": "text", "path": "text", "int": "1"}
HEADER = "Cross-Origin-Opener-Policy"
ON_THE_WAY = {
    *("authorize", "resume", "leave", "delivery", "consent_review", "language", "what_is_kept"),
    *("wallet_sign_in", "wallet_code", "wallet_switch", "wallet_errand_sign_out", "wallet_errand_signed_out"),
    *("wallet_passkey_sign_in", "wallet_passkey_options_errand", "wallet_identity", "wallet_identity_start"),
    *("wallet_identity_continue", "wallet_identity_cancel", "wallet_identity_in_person"),
    *("wallet_identity_upload", "wallet_identity_other_wallet", "wallet_identity_return"),
    *("wallet_identity_returned", "sandbox_identity", "relying_party_logo", "begin_again"),
}


def addresses(patterns: list[URLPattern | URLResolver], before: str = "/") -> dict[str, str]:
    """A path for each name of a route outside of the admin."""
    found: dict[str, str] = {}
    for each in patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            if each.namespace != "admin":
                found |= addresses(each.url_patterns, path)
            continue
        for name, converter in each.pattern.converters.items():
            kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
            path = path.replace(f"<{kind}:{name}>", SAMPLES[kind])
        assert "<" not in path
        found[each.name or path] = path
    return found


def test_exactly_the_pages_on_the_way_of_a_request_keep_their_opener() -> None:
    paths = addresses(get_resolver().url_patterns)
    assert {name for name, path in paths.items() if opener_policy.of(path) == "unsafe-none"} == ON_THE_WAY
    assert {opener_policy.of(path) for path in paths.values()} == {"unsafe-none", "same-origin"}
    assert opener_policy.of("/admin/") == "same-origin"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "/verifiable-credentials/v1/presentation/authorize", 400),
        ("put", "/verifiable-credentials/v1/presentation/authorize", 405),
        ("get", f"/consent/{uuid.UUID(int=1)}/", 404),
        ("get", "/consent/no-id/", 404),
        ("get", "/wallet/errands/no-id/sign-in", 404),
        ("get", "/language/", 405),
    ],
)
def test_errors_on_the_way_keep_it_too(client: Client, method: str, path: str, status: int) -> None:
    response = getattr(client, method)(path)

    assert (response.status_code, response.headers[HEADER]) == (status, "unsafe-none")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/wallet/", "/wallet/sign-in/", "/admin/", "/nowhere/", "/consent"])
def test_everything_else_is_cut_off(client: Client, path: str) -> None:
    assert client.get(path).headers[HEADER] == "same-origin"


def test_no_script_of_ours_hears_or_uses_an_opener() -> None:
    scripts = {path: path.read_text() for path in settings.BASE_DIR.glob("*/static/**/*.js")}
    words = re.compile(r"[\"']message[\"']|onmessage|\bopener\b|window\.name\b|BroadcastChannel")

    assert len(scripts) > 10
    assert [path for path, text in scripts.items() if words.search(text)] == []
