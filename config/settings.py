"""Every setting of the service, read once from the environment.

ENVIRONMENT says which of the two this is, and nothing starts without it. The sandbox needs nothing else;
production refuses to start until everything is set, and both refuse what cannot be right.
No other module asks which environment this is: what differs between the two is decided here.
docs/operate.md has the table of environment variables.
"""

import os
import re
import secrets
from contextlib import suppress
from datetime import timedelta
from email.utils import parseaddr
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from config import database, identity_providers, origins
from config.logs import logging_config
from config.variables import file_instead_of as _file_instead_of
from config.variables import listed as _listed
from config.variables import number as _number
from config.variables import switch as _switch
from config.variables import text as _text
from config.variables import url_config as _url_config
from infra import email_addresses
from keys.private_keys.secret_file import SecretFileError, secrets_in

BASE_DIR = Path(__file__).resolve().parent.parent

_environment = os.environ.get("ENVIRONMENT", "")
if not _environment:
    raise ImproperlyConfigured(
        "ENVIRONMENT is not set: set it to 'production', or to 'sandbox', where anybody can be anybody "
        "(`make sandbox` does)."
    )
if _environment not in ("sandbox", "production"):
    raise ImproperlyConfigured("ENVIRONMENT must be 'sandbox' or 'production'.")
_sandbox = _environment == "sandbox"
_var = Path(_text("STATE_DIRECTORY", default=str(BASE_DIR / "var")))
_unsaid: list[str] = []


def _say(name: str, sandbox: str) -> str:
    """The variable's value; in the sandbox a default, in production a complaint when it is missing."""
    value = _text(name)
    if not value and not _sandbox:
        _unsaid.append(name)
    return value or (sandbox if _sandbox else "")


def _sandbox_secret(name: str) -> str:
    """A random secret the sandbox makes for itself once and keeps under `var/`."""
    if not _sandbox:
        return ""
    path = _var / f"{name}.secret"
    try:
        _var.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Written aside and linked into place: of two processes at once, both read the same secret.
            with NamedTemporaryFile("w", dir=_var) as file:
                file.write(secrets.token_urlsafe(32))
                file.flush()
                with suppress(FileExistsError):
                    os.link(file.name, path)
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(f"The sandbox keeps its state in {_var}: {error.strerror}.") from error


# --- Where we are -----------------------------------------------------------------------------------------

ENVIRONMENT_BANNER = "Sandbox" if _sandbox else ""
# What `migrate` writes into a database, and what every process compares (infra.database.database_mark).
DATABASE_MARK = _environment
_port = _number("PORT", default=8000, most=65_535) if _sandbox else 0  # platforms set PORT for their own use
BASE_URL = _say("BASE_URL", sandbox=f"http://localhost:{_port}").removesuffix("/")
if BASE_URL and (_fault := origins.fault(BASE_URL)):
    raise ImproperlyConfigured(f"BASE_URL {_fault}.")
_base = urlsplit(BASE_URL)
_https = _base.scheme == "https"
if BASE_URL and not _https and not _sandbox:
    raise ImproperlyConfigured("BASE_URL must begin with https:// in production.")

_host = f"[{_base.hostname}]" if ":" in (_base.hostname or "") else _base.hostname or ""
ALLOWED_HOSTS = [_host, *(["localhost", "127.0.0.1", "[::1]"] if _sandbox else [])]
# Threads of a process, as deploy/gunicorn.conf.py starts them: one of them never waits for outside parties.
WEB_THREADS = _number("WEB_THREADS", default=4, most=1000)
TRUSTED_PROXY_COUNT = _number("TRUSTED_PROXY_COUNT", default=0, least=0, most=20)
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Secrets ----------------------------------------------------------------------------------------------

SECRET_KEY = _say("SECRET_KEY", sandbox=_sandbox_secret("django"))
SECRET_KEY_FALLBACKS = _listed("SECRET_KEY_FALLBACKS")
for _key in (SECRET_KEY, *SECRET_KEY_FALLBACKS) if SECRET_KEY and not _sandbox else ():
    # The bounds of Django's own deployment check, which a start of gunicorn alone does not run.
    if len(_key) < 50 or len(set(_key)) < 5 or _key.startswith("django-insecure-"):
        raise ImproperlyConfigured(
            "SECRET_KEY and each of SECRET_KEY_FALLBACKS must be 50 random characters or more."
        )
KEY_SEALING_KEYS = _listed("KEY_SEALING_KEYS")
KEY_SEALING_KEYS_FILE = _file_instead_of("KEY_SEALING_KEYS")
if KEY_SEALING_KEYS_FILE:
    try:
        KEY_SEALING_KEYS = secrets_in(KEY_SEALING_KEYS_FILE)
    except SecretFileError as error:
        raise ImproperlyConfigured(f"KEY_SEALING_KEYS_FILE: {error}") from None
elif not KEY_SEALING_KEYS:
    KEY_SEALING_KEYS = [_sandbox_secret("sealing")] if _sandbox else []
if not KEY_SEALING_KEYS:
    _unsaid.append("KEY_SEALING_KEYS")

# A hardware module that holds private keys: its PKCS#11 library, the label of the token, and its pin.
PKCS11_MODULE = _text("PKCS11_MODULE")
PKCS11_TOKEN = _text("PKCS11_TOKEN")
PKCS11_PIN = _text("PKCS11_PIN")
PKCS11_PIN_FILE = _file_instead_of("PKCS11_PIN")  # read whenever the module is opened
# Where the private keys of new signing keys live: `software` (sealed in the database) or `pkcs11`.
SIGNING_KEY_STORE = _text("SIGNING_KEY_STORE", default="software")

# --- What is installed ------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "presentation",
    "consent",
    "wallet",
    "keys",
    "infra",
    *(["sandbox"] if _sandbox else []),
    "config.admin.ServiceAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
]
MIDDLEWARE = [
    "config.middleware.RequestLogMiddleware",
    "config.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.ReadablePathMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.OperatorSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "config.middleware.OperatorAuthenticationMiddleware",
    "config.middleware.OperatorMessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "config.template_loading.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.context.environment",
                *(["sandbox.context.mailbox"] if _sandbox else []),
            ],
        },
    }
]

# What verifies the identity of people without a wallet. The sandbox's own provider exists only there.
IDENTITY_PROVIDERS = identity_providers.from_environment("simulated" if _sandbox else "in_person")
if _sandbox:  # always there, because the holder without a screen is verified by it
    IDENTITY_PROVIDERS.setdefault("simulated", {})["type"] = (
        "sandbox.identity_provider.provider.SimulatedProvider"
    )
if not _sandbox and any(
    values.get("type", "").startswith("sandbox.") for values in IDENTITY_PROVIDERS.values()
):
    raise ImproperlyConfigured("IDENTITY_PROVIDERS names a sandbox provider; production refuses it.")
# Whether an identity provider may run in its vendor's test mode, which verifies nobody.
IDENTITY_TEST_MODE = _sandbox
# How long a verified identity is good for; less if the document that was shown expires before.
IDENTITY_VALIDITY = timedelta(days=_number("IDENTITY_VALIDITY_DAYS", 365, most=3650))

# `http://localhost` as a redirect URI: for developers' machines, so only in the sandbox (RFC 8252 §8.3).
LOCALHOST_REDIRECT_URIS = _sandbox
# Addresses of relying applications that we call may be http on this machine, only where nobody but its
# developer can register any: in a sandbox that is itself reached on loopback.
LOOPBACK_CALLS = _sandbox and _base.hostname in ("localhost", "127.0.0.1", "::1")

# Limits by client address, for a quarter of an hour: an office or a mobile network may share one address.
REQUESTS_PER_CLIENT = _number("REQUESTS_PER_CLIENT", default=300)
SIGN_IN_EMAILS_PER_CLIENT = _number("SIGN_IN_EMAILS_PER_CLIENT", default=300)
SIGN_IN_WRONG_CODES_PER_CLIENT = _number("SIGN_IN_WRONG_CODES_PER_CLIENT", default=100)
# Codes to one e-mail address in a quarter of an hour: for a browser that has signed in there before, and for
# all others at one client address. `wallet.sign_in_allowances` has the rules.
SIGN_IN_CODES_PER_ADDRESS = _number("SIGN_IN_CODES_PER_ADDRESS", default=5)

# Sandbox only: the authority that certifies signing keys lives in the database. In production a real
# certificate authority does, and `manage.py certify_signing_key` takes its chain.
SELF_CERTIFYING_AUTHORITY = _sandbox
# What a certificate request says of the subject besides the host, e.g. `O=Example Ltd,C=DE` (RFC 4514).
CERTIFICATE_SUBJECT = _text("CERTIFICATE_SUBJECT")
SIGNING_KEY_PERIOD = timedelta(days=_number("SIGNING_KEY_DAYS", default=90))
SIGNING_KEY_STAGED_FOR = timedelta(hours=_number("SIGNING_KEY_STAGED_HOURS", default=48))

# How long records of consent say what the holder was shown of a transaction; then that is erased.
TRANSACTION_RETENTION_YEARS = _number("TRANSACTION_RETENTION_YEARS", default=7, most=100)

# A client assertion names the issuer as its audience and nothing else. Clients from before 2026 name the
# token endpoint, or several: taken only where somebody still runs such clients.
LEGACY_ASSERTION_AUDIENCES = _switch("LEGACY_ASSERTION_AUDIENCES", default=False)

# --- Database ---------------------------------------------------------------------------------------------

_database_url = _say("DATABASE_URL", sandbox=f"sqlite:///{_var / 'sandbox.sqlite3'}")
# Whether a pooler shares connections to the database, and in which mode: `none`, `session` or `transaction`.
DATABASE_POOLER = _text("DATABASE_POOLER", default="none")
DATABASES: dict[str, dict[str, Any]] = {
    "default": database.connection_settings(
        _database_url,
        pooler=DATABASE_POOLER,
        connect_timeout=_number("DATABASE_CONNECT_TIMEOUT", default=3),
        conn_max_age=_number("DATABASE_CONN_MAX_AGE", default=600, least=0, most=86_400),
    )
    if _database_url
    else {}
}
_database = DATABASES["default"]
_engines = ("postgresql", "sqlite3") if _sandbox else ("postgresql",)
if _database and (_database["ENGINE"].rpartition(".")[2] not in _engines or not _database["NAME"]):
    raise ImproperlyConfigured(
        "DATABASE_URL must name a PostgreSQL database: postgresql://user:password@host/name."
    )
# Limits of requests, not of commands: `infra.database.hung_database` has why the last one is needed as well.
DATABASE_ANSWER_TIMEOUT = _number("DATABASE_ANSWER_TIMEOUT", default=8)
DATABASE_LIMITS = database.limits(
    DATABASE_POOLER,
    statement=_number("DATABASE_STATEMENT_TIMEOUT", default=5),
    lock=_number("DATABASE_LOCK_TIMEOUT", default=2),
    answer=DATABASE_ANSWER_TIMEOUT,
)

# --- E-mail -----------------------------------------------------------------------------------------------

_email_url = _say("EMAIL_URL", sandbox="consolemail://")
_email = _url_config("EMAIL_URL", _email_url or "consolemail://", environ.Env.email_url_config)
if _email_url and not _sandbox and not _email_url.startswith(("smtp+tls://", "smtp+ssl://")):
    raise ImproperlyConfigured("EMAIL_URL must begin with smtp+tls:// or smtp+ssl://, for sign-in codes.")
if _email_url and not _sandbox and not _email.get("EMAIL_HOST"):
    raise ImproperlyConfigured("EMAIL_URL must name the mail server, as smtp+tls://user:password@host:587.")
EMAIL_BACKEND = "sandbox.mailbox.EmailBackend" if _sandbox else _email["EMAIL_BACKEND"]
# Sandbox only: what sends letters to developers who register their own application. With EMAIL_URL they are
# really sent, and only who reads them gets in; otherwise the page shows what the letter would say.
DEVELOPER_EMAIL_BACKEND = _email["EMAIL_BACKEND"] if _sandbox and _text("EMAIL_URL") else ""
EMAIL_HOST = _email.get("EMAIL_HOST") or "localhost"
EMAIL_PORT = _email.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = _email.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = _email.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = _say("DEFAULT_FROM_EMAIL", sandbox="Wallet <wallet@localhost>")
if DEFAULT_FROM_EMAIL and (
    set(DEFAULT_FROM_EMAIL) & {"\r", "\n"}
    or not email_addresses.is_accepted(parseaddr(DEFAULT_FROM_EMAIL)[1].lower())
):
    raise ImproperlyConfigured(
        "DEFAULT_FROM_EMAIL must be a sender such as Wallet <no-reply@wallet.example>."
    )

# --- Browser security -------------------------------------------------------------------------------------

# The names of Django 6's own middleware, so that moving to it later is a change of one import.
SECURE_CSP: dict[str, list[str]] = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}
_host_prefix = "__Host-" if _https else ""
SESSION_COOKIE_NAME = f"{_host_prefix}operator"
SESSION_COOKIE_AGE = 8 * 60 * 60
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
CSRF_COOKIE_NAME = f"{_host_prefix}csrf"
CSRF_COOKIE_HTTPONLY = True
LOGIN_REDIRECT_URL = "admin:index"  # where operators go when `next` names no page of this service
CSRF_FAILURE_VIEW = "config.views.csrf_failure"
HOLDER_COOKIE_NAME = f"{_host_prefix}holder"
BROWSER_COOKIE_NAME = f"{_host_prefix}browser"
HOLDER_COOKIE_SECURE = _https
DEVELOPER_COOKIE_NAME = f"{_host_prefix}developer"  # sandbox only
SECURE_SSL_REDIRECT = _switch("SECURE_SSL_REDIRECT", default=True) and _https
SECURE_HSTS_SECONDS = (
    _number("SECURE_HSTS_SECONDS", default=31_536_000, least=0, most=315_360_000) if _https else 0
)
# Both bind addresses that are not this service's, so that only the operator of the domain can decide.
SECURE_HSTS_INCLUDE_SUBDOMAINS = _switch("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = _switch("SECURE_HSTS_PRELOAD", default=False)
if SECURE_HSTS_PRELOAD and not (SECURE_HSTS_INCLUDE_SUBDOMAINS and SECURE_HSTS_SECONDS >= 31_536_000):
    raise ImproperlyConfigured(
        "SECURE_HSTS_PRELOAD needs SECURE_HSTS_INCLUDE_SUBDOMAINS and SECURE_HSTS_SECONDS of a year or more: "
        "browsers take nothing less into their lists."
    )
# Django warns of each of these; docs/operate.md leaves them to the operator.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 262_144
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000  # a relying party with some hundred addresses in the admin
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- Words, time, files -----------------------------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "config.formats"
USE_TZ = True
USE_I18N = True
STATIC_URL = "/static/"
STATIC_ROOT = _var / "static"
STATICFILES_DIRS = [BASE_DIR / "config" / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if _sandbox
            else "whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}
WHITENOISE_USE_FINDERS = _sandbox
if _sandbox:
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # stays empty: files are served from where they lie
WHITENOISE_AUTOREFRESH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}
# Who may read `/metrics`; while nobody is said, there is no such address.
METRICS_TOKEN = _text("METRICS_TOKEN")
if METRICS_TOKEN and not re.fullmatch("[!-~]{32,}", METRICS_TOKEN):
    raise ImproperlyConfigured("METRICS_TOKEN must be 32 visible ASCII characters or more.")
_level = _text("LOG_LEVEL", default="INFO")
if _level not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured("LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL.")
LOGGING = logging_config(level=_level, as_json=not _sandbox)

if _unsaid:
    raise ImproperlyConfigured(
        "Production needs these environment variables, and they are not set: "
        + ", ".join(_unsaid)
        + ". docs/operate.md explains each."
    )
