"""Production refuses to start until everything is said; the sandbox needs nothing said."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment_check import production_environment

ROOT = Path(__file__).resolve().parents[2]


def start(environment: dict[str, str], code: str = "") -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of their own, then run `code`."""
    program = f"import django; django.setup(); from django.conf import settings; {code or 'pass'}"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"DJANGO_SETTINGS_MODULE": "config.settings", **environment},
        capture_output=True,
        text=True,
    )


def test_production_starts_when_everything_is_said() -> None:
    assert start(production_environment()).returncode == 0


@pytest.mark.parametrize(
    "name", ["BASE_URL", "SECRET_KEY", "KEY_SEALING_KEYS", "DATABASE_URL", "EMAIL_URL", "DEFAULT_FROM_EMAIL"]
)
def test_production_names_what_is_missing(name: str) -> None:
    environment = production_environment()
    del environment[name]

    refused = start(environment)

    assert refused.returncode != 0
    assert f"they are not set: {name}." in refused.stderr


def test_everything_that_is_missing_is_named_at_once() -> None:
    refused = start({"PATH": "", "ENVIRONMENT": "production"})

    for name in ("BASE_URL", "SECRET_KEY", "KEY_SEALING_KEYS", "DATABASE_URL", "EMAIL_URL"):
        assert name in refused.stderr


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("ENVIRONMENT", "staging", "'sandbox' or 'production'"),
        ("BASE_URL", "http://wallet.example", "https://"),
        ("BASE_URL", "https://wallet.example/path", "without a path"),
        ("BASE_URL", "https://user@wallet.example", "without a path"),
        ("EMAIL_URL", "smtp://mail.example:25", "smtp+tls://"),
        ("EMAIL_URL", "consolemail://", "smtp+tls://"),
        ("METRICS_TOKEN", "too-short", "32 visible ASCII characters"),
        ("SIGNING_KEY_DAYS", "90 days", "whole number from 1 to 10000"),
        ("SIGNING_KEY_STAGED_HOURS", "0", "whole number from 1 to 10000"),
        ("IDENTITY_PROVIDER", "wallet.sandbox.provider.SandboxProvider", "production refuses"),
    ],
)
def test_production_refuses_what_would_be_wrong(name: str, value: str, word: str) -> None:
    refused = start(production_environment() | {name: value})

    assert refused.returncode != 0
    assert word in refused.stderr


def test_sealing_keys_may_come_from_a_file_instead(tmp_path: Path) -> None:
    environment = production_environment()
    (tmp_path / "keys").write_text("first-sealing-key-of-more-than-32-characters\nsecond\n")
    from_file = environment | {"KEY_SEALING_KEYS_FILE": str(tmp_path / "keys")}

    both = start(from_file)
    del from_file["KEY_SEALING_KEYS"]
    shown = start(from_file, "print(settings.KEY_SEALING_KEYS)")
    missing = start(from_file | {"KEY_SEALING_KEYS_FILE": "/nowhere"})

    assert "KEY_SEALING_KEYS and KEY_SEALING_KEYS_FILE are both set; keep one of them." in both.stderr
    assert shown.stdout.strip() == "['first-sealing-key-of-more-than-32-characters', 'second']"
    assert "KEY_SEALING_KEYS_FILE: /nowhere cannot be read: No such file or directory." in missing.stderr


def test_the_pin_comes_from_one_place() -> None:
    refused = start(production_environment() | {"PKCS11_PIN": "1234", "PKCS11_PIN_FILE": "/run/pin"})

    assert "PKCS11_PIN and PKCS11_PIN_FILE are both set; keep one of them." in refused.stderr
    assert "1234" not in refused.stderr


def test_a_schedule_that_is_too_short_is_refused_before_anything_starts() -> None:
    environment = production_environment() | {"SIGNING_KEY_STAGED_HOURS": "1"}
    command = [sys.executable, "manage.py", "check"]
    refused = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert refused.returncode != 0
    assert "SIGNING_KEY_STAGED_HOURS is too short" in refused.stderr


def test_production_has_no_sandbox_rooms_and_no_debug() -> None:
    code = (
        "from django.urls import resolve, Resolver404\n"
        "assert not settings.DEBUG\n"
        "assert not [app for app in settings.INSTALLED_APPS if 'sandbox' in app]\n"
        "assert settings.EMAIL_BACKEND.endswith('smtp.EmailBackend'), settings.EMAIL_BACKEND\n"
        "for path in ('/playground/', '/sandbox/mailbox/', '/sandbox/holder', '/sandbox/relying-parties/'):\n"
        "    try: resolve(path); raise SystemExit(path)\n"
        "    except Resolver404: pass\n"
    )
    program = f"import django; django.setup()\nfrom django.conf import settings\n{code}"
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", **production_environment()}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr


def test_production_cookies_are_bound_to_the_host_and_to_tls() -> None:
    code = (
        "print(settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME, settings.SESSION_COOKIE_NAME,"
        " settings.CSRF_COOKIE_NAME, settings.HOLDER_COOKIE_SECURE, settings.SESSION_COOKIE_SECURE,"
        " settings.CSRF_COOKIE_SECURE)"
    )
    shown = start(production_environment(), code).stdout.split()

    assert all(name.startswith("__Host-") for name in shown[:4])
    assert shown[4:] == ["True"] * 3


@pytest.mark.parametrize(("proxies", "believed"), [("0", "False"), ("1", "True")])
def test_whether_a_request_came_by_tls_is_believed_only_of_a_proxy_that_is_there(
    proxies: str, believed: str
) -> None:
    code = (
        "from django.test import RequestFactory;"
        "print(RequestFactory().get('/', headers={'X-Forwarded-Proto': 'https'}).is_secure())"
    )

    run = start(production_environment() | {"TRUSTED_PROXY_COUNT": proxies}, code)

    assert (run.returncode, run.stdout.strip()) == (0, believed), run.stderr


def test_the_sandbox_makes_its_secrets_once_and_for_its_owner_only(tmp_path: Path) -> None:
    environment = {"ENVIRONMENT": "sandbox", "STATE_DIRECTORY": str(tmp_path / "state")}
    first, second = (start(environment, "print(settings.SECRET_KEY)") for _ in range(2))

    assert first.stdout == second.stdout != ""
    for secret in (tmp_path / "state").glob("*.secret"):
        assert secret.stat().st_mode & 0o077 == 0


def test_the_two_environments_make_different_base_addresses_of_nothing(tmp_path: Path) -> None:
    environment = {"ENVIRONMENT": "sandbox", "STATE_DIRECTORY": str(tmp_path), "PORT": "8123"}
    shown = start(environment, "print(settings.BASE_URL, settings.ENVIRONMENT_BANNER)")

    assert shown.stdout.split() == ["http://localhost:8123", "Sandbox"]
