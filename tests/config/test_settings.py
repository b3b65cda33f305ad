"""No start without ENVIRONMENT; production refuses missing values, and both environments wrong ones."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.config.documented_variables import ROOT, VARIABLES
from tests.config.starting import READY, start
from tests.deployment_check import production_environment
from tests.own_databases import gunicorn, manage, reason
from tests.warm_start import run
from tools.benchmarks.sites import Site


def test_production_starts_when_everything_is_said() -> None:
    assert start(production_environment()).returncode == 0


NOT_SET = "ENVIRONMENT is not set: set it to 'production', or to 'sandbox', which verifies nobody's identity"


@pytest.mark.parametrize("said", [{}, {"ENVIRONMENT": ""}], ids=["left out", "empty"])
def test_nothing_starts_while_the_environment_is_forgotten(said: dict[str, str]) -> None:
    environment = production_environment()
    del environment["ENVIRONMENT"]
    environment |= said

    for words in ("check", "--deploy"), ("migrate",), ("sandbox",), ("register_relying_party",):
        assert reason(manage(environment, *words)).startswith(NOT_SET)
    assert reason(gunicorn(environment)).startswith(NOT_SET)
    assert NOT_SET in start(environment).stderr


def test_the_service_starts_and_serves_documents_while_the_database_is_away() -> None:
    with Site("config.wsgi", production_environment(), ready="/.well-known/openid-configuration"):
        pass


@pytest.mark.parametrize(
    "name",
    [
        *("BASE_URL", "SECRET_KEY", "KEY_SEALING_KEYS", "DATABASE_URL", "EMAIL_URL", "DEFAULT_FROM_EMAIL"),
        *("OPERATOR_NAME", "OPERATOR_PRIVACY_NOTICE", "OPERATOR_HELP"),
    ],
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
        ("BASE_URL", "https://user@wallet.example", "without a path or a user"),
        ("BASE_URL", "https://Wallet.example", "lower case"),
        ("BASE_URL", "https://wallet.example:443", "must leave out the port 443"),
        ("BASE_URL", "https://wallet.example:99999", "a port from 1 to 65535"),
        ("BASE_URL", "https://wallet.example.", "as browsers write it"),
        ("SECRET_KEY", "short", "50 random characters"),
        ("SECRET_KEY", "a" * 60, "50 random characters"),
        ("SECRET_KEY", "django-insecure-" + "0123456789" * 5, "50 random characters"),
        ("SECRET_KEY_FALLBACKS", "short", "50 random characters"),
        ("SECRET_KEY", "hidden0123456789" * 5 + "   # note", "SECRET_KEY contains a space or #."),
        ("SECRET_KEY", "hidden0123456789" * 5 + "#", "SECRET_KEY contains a space or #."),
        ("KEY_SEALING_KEYS", "hidden0123456789" * 3 + "\t# note", "KEY_SEALING_KEYS contains a space or #."),
        ("KEY_SEALING_KEYS", "a" * 40 + "," + "hidden #" * 9, "KEY_SEALING_KEYS contains a space or #."),
        ("PKCS11_PIN", "1234 # hidden", "PKCS11_PIN contains a space or #."),
        ("DATABASE_URL", "postgresql://a:hidden@db/wallet # note", "DATABASE_URL contains a space or #."),
        ("EMAIL_URL", "smtp+tls://a:hidden@mail.example:587 # note", "EMAIL_URL contains a space or #."),
        ("DATABASE_URL", "sqlite:////tmp/wallet.sqlite3", "must name a PostgreSQL database"),
        ("DATABASE_URL", "mysql://wallet:hidden@db/wallet", "must name a PostgreSQL database"),
        ("DATABASE_URL", "nonsense", "DATABASE_URL"),
        ("DATABASE_URL", "postgresql://wallet:hidden@db", "must name a PostgreSQL database"),
        ("DATABASE_URL", "postgresql://wallet:hidden@db:port/wallet", "DATABASE_URL is not an address"),
        ("EMAIL_URL", "smtp+tls://wallet:hidden@mail.example:port", "EMAIL_URL is not an address"),
        ("EMAIL_URL", "smtp+tls://", "EMAIL_URL must name the mail server"),
        ("DEFAULT_FROM_EMAIL", "Wallet", "DEFAULT_FROM_EMAIL must be a sender"),
        ("DEFAULT_FROM_EMAIL", "a@wallet.example\nBcc: b@wallet.example", "must be a sender"),
        ("OPERATOR_NAME", "n" * 101, "OPERATOR_NAME must be one line of at most 100 characters."),
        ("OPERATOR_NAME", "Example\nTrust", "OPERATOR_NAME must be one line"),
        ("OPERATOR_PRIVACY_NOTICE", "http://operator.example/", "must be an https:// address"),
        ("OPERATOR_PRIVACY_NOTICE", "javascript:alert(1)", "must be an https:// address"),
        ("OPERATOR_HELP", "call us", "must be an e-mail address in small letters, or https://"),
        ("OPERATOR_HELP", "javascript:alert(1)", "must be an e-mail address in small letters, or https://"),
        ("OPERATOR_COLOUR", "green", "must be a colour such as #0b6250"),
        ("OPERATOR_COLOUR", "#ffd95e", "its contrast with white is 1.4, and text needs 4.5 or more"),
        ("OPERATOR_LOGO_FILE", "/nowhere.png", "OPERATOR_LOGO_FILE: /nowhere.png cannot be read"),
        ("OPERATOR_LOGO_FILE", "/etc/hostname", "must be a PNG, JPEG or WebP picture"),
        ("TRUSTED_PROXY_COUNT", "-1", "whole number from 0 to 20"),
        ("TRUSTED_PROXY_COUNT", "one", "whole number from 0 to 20"),
        ("TRUSTED_PROXY_COUNT", "9" * 5000, "whole number from 0 to 20"),
        ("TRUSTED_PROXY_COUNT", "²", "whole number from 0 to 20"),
        ("SECURE_HSTS_INCLUDE_SUBDOMAINS", "maybe", "'true' or 'false'"),
        ("LOG_LEVEL", "verbose", "LOG_LEVEL must be DEBUG"),
        ("EMAIL_URL", "smtp://mail.example:25", "smtp+tls://"),
        ("EMAIL_URL", "consolemail://", "smtp+tls://"),
        ("DEFAULT_FROM_EMAIL", "=?utf-8?q?a=40b.example=28?=@c.example", "must be a sender"),
        ("METRICS_TOKEN", "too-short", "32 random characters"),
        ("SIGNING_KEY_DAYS", "90 days", "whole number from 1 to 10000"),
        ("AGE_TIME_ZONE", "Mars/Base", "AGE_TIME_ZONE must be a time zone as IANA names it"),
        ("AGE_TIME_ZONE", "-12:00", "AGE_TIME_ZONE must be a time zone as IANA names it"),
        ("AGE_TIME_ZONE", "../etc/passwd", "AGE_TIME_ZONE must be a time zone as IANA names it"),
        ("TRANSACTION_RETENTION_YEARS", "0", "whole number from 1 to"),
        ("TRANSACTION_RETENTION_YEARS", "101", "whole number from 1 to 100."),
        ("TRANSACTION_RETENTION_YEARS", "seven", "whole number from 1 to"),
        ("REQUESTS_PER_CLIENT", "-1", "whole number from 1 to 1000000."),
        ("CALLS_PER_RELYING_PARTY", "0", "whole number from 1 to 1000000."),
        (
            "LIMITS",
            "codes-to-strangers=21",
            "LIMITS: codes-to-strangers must be a whole number from 1 to 20.",
        ),
        ("LIMITS", "pushes=5", "LIMITS: 'pushes' cannot be changed"),
        ("LIMIT_CODES_PER_ADDRESS_AND_DAY", "5", "LIMIT_CODES_PER_ADDRESS_AND_DAY: LIMITS changes it"),
        (
            "IDENTITY_PROVIDERS_FILE",
            "/nowhere/hidden",
            "IDENTITY_PROVIDERS_FILE cannot be read: No such file",
        ),
        ("SINGLE_SIGN_ON_FILE", "/nowhere/hidden", "SINGLE_SIGN_ON_FILE cannot be read: No such file"),
        ("DATABASE_URL_FILE", "/nowhere", "DATABASE_URL and DATABASE_URL_FILE are both set"),
        ("METRICS_TOKEN_FILE", "/nowhere", "METRICS_TOKEN_FILE: /nowhere cannot be read: No such file"),
    ],
)
def test_production_refuses_what_would_be_wrong(name: str, value: str, word: str) -> None:
    refused = start(production_environment() | {name: value})

    assert refused.returncode != 0
    last = refused.stderr.splitlines()[-1]  # one sentence, and no chained error
    assert last.startswith("django.core.exceptions.ImproperlyConfigured: ")
    assert word in last
    assert "hidden" not in refused.stderr
    assert "During handling" not in refused.stderr


def test_production_refuses_the_identity_provider_of_the_sandbox(tmp_path: Path) -> None:
    providers = tmp_path / "providers.toml"
    providers.write_text('[simulated]\ntype = "sandbox.identity_provider.provider.SimulatedProvider"\n')

    refused = start(production_environment() | {"IDENTITY_PROVIDERS_FILE": str(providers)})

    assert refused.returncode != 0
    assert "names a sandbox provider; production refuses it" in refused.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (
            {"KEY_SEALING_KEYS": "12345"},
            "KEY_SEALING_KEYS must be 32 random characters or more at position 1.",
        ),
        ({"PKCS11_TOKEN": "wallet"}, "PKCS11_MODULE is not set, and this is: PKCS11_TOKEN."),
        ({"CERTIFICATE_SUBJECT": "Example Ltd"}, "CERTIFICATE_SUBJECT is no distinguished name"),
        ({"SIGNING_KEY_DAYS": "2"}, "SIGNING_KEY_DAYS is too short"),
        ({"WEB_THREADS": "many"}, "WEB_THREADS must be a whole number from 4 to 1000."),
        ({"WEB_THREADS": "3"}, "WEB_THREADS must be a whole number from 4 to 1000."),
        ({"WEB_CONCURRENCY": "0"}, "WEB_CONCURRENCY must be a whole number from 1 to 1000."),
    ],
)
def test_gunicorn_alone_refuses_it_as_well(wrong: dict[str, str], word: str) -> None:
    assert word in reason(gunicorn(production_environment() | wrong))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://wallet.example:8443", "wallet.example"),
        ("https://192.0.2.1", "192.0.2.1"),
        ("https://[2001:db8::1]:8443", "[2001:db8::1]"),
    ],
)
def test_the_service_answers_to_the_host_of_its_base_address(url: str, host: str) -> None:
    code = (
        "from django.test import RequestFactory;"
        f"request = RequestFactory().get('/', headers={{'Host': '{url[8:]}'}});"
        "print(request.get_host(), *settings.ALLOWED_HOSTS)"
    )

    shown = start(production_environment() | {"BASE_URL": url}, code)

    assert (shown.returncode, shown.stdout.split()) == (0, [url[8:], host]), shown.stderr


def test_a_secret_may_begin_with_a_dollar_sign() -> None:
    """django-environ takes the rest for the name of another variable."""
    given = {"PKCS11_PIN": "$1234", "METRICS_TOKEN": "$" + "metrics" * 6}

    shown = start(production_environment() | given, "print(settings.PKCS11_PIN, settings.METRICS_TOKEN)")

    assert shown.stdout.split() == list(given.values()), shown.stderr


def test_subdomains_are_bound_to_tls_only_where_the_operator_says_so() -> None:
    code = (
        f"{READY} from django.test import Client;"
        "path, host = '/.well-known/openid-configuration', {'Host': 'wallet.example'};"
        "print(Client().get(path, secure=True, headers=host).headers['Strict-Transport-Security'])"
    )
    asked_for = {"SECURE_HSTS_INCLUDE_SUBDOMAINS": "true"}

    left_out, said = (start(production_environment() | more, code) for more in ({}, asked_for))

    assert left_out.stdout.strip() == "max-age=31536000", left_out.stderr
    assert said.stdout.strip() == "max-age=31536000; includeSubDomains", said.stderr


def test_the_deployment_check_leaves_to_operators_what_is_theirs_to_decide() -> None:
    checked = manage(production_environment(), "check", "--deploy", "--fail-level", "WARNING")

    assert checked.returncode == 0, checked.stderr


def test_every_variable_that_settings_read_is_in_the_operators_table() -> None:
    code = (ROOT / "config" / "settings.py").read_text() + (ROOT / "deploy" / "gunicorn.conf.py").read_text()
    readers = r"(?:variables\.\w+|_required|number|environ\.get)"
    read = set(re.findall(readers + r'\(\s*"([A-Z0-9_]+)"', code))

    assert {"BASE_URL", "WEB_THREADS", "TRUSTED_PROXY_COUNT"} <= read
    assert read - {*VARIABLES} == set()


# STATE_DIRECTORY and RUNTIME_DIRECTORY may be folders that are made later, and only a sandbox reads PORT.
OF_ANY_VALUE = {"STATE_DIRECTORY", "RUNTIME_DIRECTORY", "PORT"}


@pytest.mark.parametrize("name", sorted({*VARIABLES} - OF_ANY_VALUE))
def test_the_check_before_a_start_refuses_a_value_that_cannot_be_right_of_every_variable(name: str) -> None:
    """Also of those that gunicorn and OpenSSL read; the sentence names the variable and not the value."""
    environment = production_environment() | {name: "/nowhere/ba\nnana #"}

    checked = manage(environment, "check", "--deploy", "--fail-level", "WARNING")

    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    assert re.search(rf"^(Cannot start: |\?: \(\w+\.E\d+\) ).*\b{name}\b", checked.stderr, re.M), (
        checked.stderr
    )


def test_a_variable_that_gunicorn_reads_by_itself_must_not_be_empty() -> None:
    checked = manage(production_environment() | {"WEB_CONCURRENCY": ""}, "check")

    assert reason(checked) == "WEB_CONCURRENCY is empty: give it a value, or remove it."


def test_transactions_are_kept_for_seven_years_unless_it_says_otherwise() -> None:
    show = "print(settings.TRANSACTION_RETENTION_YEARS)"

    assert start(production_environment(), show).stdout.strip() == "7"
    longer = start(production_environment() | {"TRANSACTION_RETENTION_YEARS": "100"}, show)
    assert longer.stdout.strip() == "100"


def test_limits_that_suit_shared_networks_are_settings() -> None:
    code = (
        f"{READY} from presentation.requests import interactions;"
        "from wallet.sign_in import allowances;"
        "print(interactions.UNAUTHENTICATED.most, allowances.CODES_PER_CLIENT.most,"
        " allowances.REDIRECT_TASKS_PER_CLIENT.most, allowances.TRIES_PER_CLIENT.most,"
        " allowances.CODES_PER_EMAIL_AND_CLIENT.most, allowances.CODES_PER_BROWSER.most)"
    )
    chosen = {"REQUESTS_PER_CLIENT": "1001", "LIMITS": "codes-per-browser=7"}

    assert start(production_environment(), code).stdout.split() == ["300", "300", "300", "100", "5", "5"]
    shown = start(production_environment() | chosen, code)
    assert shown.stdout.split() == ["1001", "1001", "1001", "333", "7", "7"]


def test_every_secret_may_come_from_a_file(tmp_path: Path) -> None:
    names = ("SECRET_KEY", "DATABASE_URL", "EMAIL_URL", "KEY_SEALING_KEYS")
    environment = production_environment() | {
        "METRICS_TOKEN": "metrics" * 6,
        "SECRET_KEY_FALLBACKS": "f0123456789" * 5,
    }
    said = "s = settings; print(s.SECRET_KEY, s.SECRET_KEY_FALLBACKS, s.KEY_SEALING_KEYS, s.METRICS_TOKEN,"
    code = f"{said} s.DATABASES, s.MAIL_SERVER)"
    plain = start(environment, code)
    for name in (*names, "METRICS_TOKEN", "SECRET_KEY_FALLBACKS"):
        (tmp_path / name).write_text(f"{environment.pop(name)}\n")
        environment[f"{name}_FILE"] = str(tmp_path / name)

    from_files = start(environment, code)

    assert from_files.stdout == plain.stdout != "", from_files.stderr


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (
            '[in_person]\ntype = "sandbox.identity_provider.provider.SimulatedProvider"',
            "production refuses it.",
        ),
        ('[nobody]\nkey = "hidden"', "IDENTITY_PROVIDERS_FILE: nobody.type is neither one of"),
        (
            '[stripe]\nkey = "rk_test_hidden"\nwebhook_secret = "whsec_hidden"',
            "stripe.key must be a live key",
        ),
        ('[in_person]\nplaze = "hidden"', "in_person.plaze: this provider has no such option"),
    ],
)
def test_gunicorn_refuses_an_identity_provider_that_cannot_work(
    tmp_path: Path, content: str, word: str
) -> None:
    (tmp_path / "providers.toml").write_text(content)
    wrong = {"IDENTITY_PROVIDERS_FILE": str(tmp_path / "providers.toml")}

    refused = gunicorn(production_environment() | wrong)

    assert word in reason(refused)
    assert "hidden" not in refused.stderr


@pytest.mark.parametrize(("folder", "found"), [("", "state/metrics"), ("/run/a-1:/run/b", "/run/a-1")])
def test_each_instance_counts_in_the_folder_that_systemd_makes_for_it(folder: str, found: str) -> None:
    environment = production_environment() | {"METRICS_TOKEN": "metrics" * 6, "STATE_DIRECTORY": "state"}

    shown = start(environment | {"RUNTIME_DIRECTORY": folder}, "print(settings.METRICS_DIRECTORY)")

    assert shown.stdout.strip() == found, shown.stderr


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        ("8", "-c statement_timeout=5000 -c lock_timeout=2000"),
        ("1", "-c statement_timeout=625 -c lock_timeout=250"),
    ],
)
def test_the_server_gives_up_before_the_service_does(answer: str, limits: str) -> None:
    environment = production_environment() | {"DATABASE_ANSWER_TIMEOUT": answer}

    assert start(environment, "print(settings.DATABASE_LIMITS)").stdout.strip() == limits


def test_a_key_of_before_with_a_comment_in_it_still_opens_what_it_sealed(tmp_path: Path) -> None:
    """systemd once read the comment behind a key as part of it."""
    sealing, signing = "sealing-key-of-more-than-32-characters   # note", "signing" * 9 + "   # note"
    environment = production_environment() | {"SECRET_KEY_FALLBACKS": signing}
    (tmp_path / "keys").write_text(f"{environment.pop('KEY_SEALING_KEYS')}\n{sealing}\n")
    environment["KEY_SEALING_KEYS_FILE"] = str(tmp_path / "keys")

    shown = start(environment, "print(settings.KEY_SEALING_KEYS[1:], settings.SECRET_KEY_FALLBACKS)")

    assert shown.stdout.strip() == f"{[sealing]} {[signing]}", shown.stderr


@pytest.mark.parametrize(
    "name", ["METRICS_TOKENS_FILE", "DATABASE_FILE", "AUDIT_KEYS_FILE", "IDENTITY_BANK_CLIENT_SECRET_FILE"]
)
def test_the_check_names_a_file_variable_that_nothing_reads(name: str) -> None:
    checked = manage(production_environment() | {name: "/run/hidden"}, "check")

    assert f"(infra.W004) {name} is set, and there is no such variable" in checked.stderr
    assert "hidden" not in checked.stderr + checked.stdout


def test_the_check_names_no_file_variable_that_is_read_or_belongs_to_other_programs(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a-sealing-key-of-more-than-32-characters")
    path = str(tmp_path / "secret")
    read = {"KEY_SEALING_KEYS_FILE": path, "PKCS11_PIN_FILE": path, "METRICS_TOKEN_FILE": path}
    environment = production_environment() | read | {"SSL_CERT_FILE": path, "KUBECONFIG_FILE": path}
    del environment["KEY_SEALING_KEYS"]

    checked = manage(environment, "check")

    assert "infra.W004" not in checked.stderr
    assert "PKCS11" in checked.stderr, "the check has run"


def test_production_has_no_sandbox_pages_and_no_debug() -> None:
    code = (
        "from django.urls import resolve, Resolver404\n"
        "assert not settings.DEBUG\n"
        "assert not [app for app in settings.INSTALLED_APPS if 'sandbox' in app]\n"
        "assert settings.MAIL_BACKEND == 'infra.mail.sending.EmailBackend'\n"
        "for path in ('/playground/', '/sandbox/mailbox/', '/sandbox/holder', '/sandbox/relying-parties/'):\n"
        "    try: resolve(path); raise SystemExit(path)\n"
        "    except Resolver404: pass\n"
    )
    program = f"import django; django.setup()\nfrom django.conf import settings\n{code}"
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", **production_environment()}
    done = run(environment, "-c", program)

    assert done.returncode == 0, done.stderr


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

    shown = start(production_environment() | {"TRUSTED_PROXY_COUNT": proxies}, code)

    assert (shown.returncode, shown.stdout.strip()) == (0, believed), shown.stderr


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


def database_of(url: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = production_environment() | {"DATABASE_URL": url} | more
    return start(environment, "import json; print(json.dumps(settings.DATABASES['default']))")


def test_a_connection_has_a_timeout_and_prepared_statements_unless_the_address_says_otherwise() -> None:
    plain = json.loads(database_of("postgresql://u:p@db.example/wallet").stdout)
    said = json.loads(
        database_of(
            "postgresql://u:p@h1:5432,h2:5433/wallet?target_session_attrs=read-write&connect_timeout=7"
            "&prepare_threshold=none&server_side_binding=false&conn_max_age=5"
            "&disable_server_side_cursors=true&options=-c%20statement_timeout%3D9s"
        ).stdout
    )

    assert plain["OPTIONS"] == {"connect_timeout": 3, "server_side_binding": True, "prepare_threshold": 2}
    assert plain["CONN_MAX_AGE"] == 600
    assert "DISABLE_SERVER_SIDE_CURSORS" not in plain
    assert (said["HOST"], said["PORT"]) == ("h1,h2", "5432,5433")
    assert said["OPTIONS"] == {
        "target_session_attrs": "read-write",
        "connect_timeout": 7,
        "prepare_threshold": None,
        "server_side_binding": False,
        "options": "-c statement_timeout=9s",
    }
    assert (said["CONN_MAX_AGE"], said["DISABLE_SERVER_SIDE_CURSORS"]) == (5, True)


def test_a_pooler_in_transaction_mode_rules_out_what_is_kept_on_a_connection() -> None:
    environment = production_environment() | {"DATABASE_POOLER": "transaction"}
    shown = start(environment, "print(settings.DATABASES['default'], settings.DATABASE_LIMITS == '')").stdout

    assert "'prepare_threshold': None" in shown
    assert "'DISABLE_SERVER_SIDE_CURSORS': True" in shown
    assert shown.endswith("True\n")


@pytest.mark.parametrize(
    ("query", "more", "word"),
    [
        ("", {"DATABASE_POOLER": "statement"}, "DATABASE_POOLER must be one of none, session, transaction."),
        ("?prepare_threshold=2", {"DATABASE_POOLER": "transaction"}, "rules out prepared statements"),
        (
            "?disable_server_side_cursors=false",
            {"DATABASE_POOLER": "transaction"},
            "rules out server-side cursors",
        ),
        ("?prepare_threshold=often", {}, "prepare_threshold must be a whole number"),
        ("?prepare_threshold=-1", {}, "prepare_threshold must be a whole number"),
        ("?server_side_binding=perhaps", {}, "server_side_binding must be true or false"),
        ("?disable_server_side_cursors=2", {}, "disable_server_side_cursors must be true or false"),
        ("?connect_timeout=soon", {}, "connect_timeout must be a whole number"),
        ("?connect_timeout=0", {}, "connect_timeout must be a whole number"),
        ("", {"DATABASE_ANSWER_TIMEOUT": "1.5"}, "DATABASE_ANSWER_TIMEOUT must be a whole number"),
    ],
)
def test_a_database_setting_that_cannot_be_meant_is_refused(
    query: str, more: dict[str, str], word: str
) -> None:
    refused = database_of(f"postgresql://u:p@db.example/wallet{query}", **more)

    assert refused.returncode != 0
    assert word in refused.stderr


def test_an_address_whose_ports_stand_apart_from_their_hosts_is_refused() -> None:
    refused = database_of("postgresql://u:p@h1,h2:5432,5433/wallet")

    assert refused.returncode != 0
    assert "host1:5432,host2:5432" in refused.stderr
