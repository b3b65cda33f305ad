"""All settings of the service, read once from environment variables, which docs/settings.md lists.

ENVIRONMENT is required. The sandbox needs no other variable; production starts only when all required ones
are set, and both refuse values that cannot be right. Everything that differs between the two environments is
decided here; no other module checks which environment it is.
"""

import os
import secrets
from contextlib import suppress
from datetime import timedelta, timezone
from email.utils import parseaddr
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlsplit

import environ
import structlog
from django.core.exceptions import ImproperlyConfigured

from config import database, limits, logs, operator, option_files, origins, retired, variables
from infra import email_addresses, secret_texts
from infra.named_files import RUNS, WRITES, NamedFile

BASE_DIR = Path(__file__).resolve().parent.parent

retired.refuse()
_environment = os.environ.get("ENVIRONMENT", "")
if not _environment:
    raise ImproperlyConfigured(
        "ENVIRONMENT is not set: set it to 'production', or to 'sandbox', which verifies nobody's identity "
        "(`make sandbox` does)."
    )
if _environment not in ("sandbox", "production"):
    raise ImproperlyConfigured("ENVIRONMENT must be 'sandbox' or 'production'.")
_sandbox = _environment == "sandbox"
_var = Path(variables.text("STATE_DIRECTORY", default=str(BASE_DIR / "var")))
_missing: list[str] = []


_SECRETS = ("SECRET_KEY", "DATABASE_URL", "EMAIL_URL")


def _required(name: str, sandbox: str) -> str:
    """The variable's value. If it is missing, the sandbox uses the default, and production does not start."""
    value = variables.secret(name) if name in _SECRETS else variables.text(name)
    if not value and not _sandbox:
        _missing.append(name)
    return value or (sandbox if _sandbox else "")


def _sandbox_secret(name: str) -> str:
    """A random secret that the sandbox makes once and keeps in its state folder."""
    if not _sandbox:
        return ""
    path = _var / f"{name}.secret"
    try:
        _var.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Written to another file and then linked, so that two processes at once read the same secret.
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
# `migrate` writes this into a database, and every process compares it (infra.database.database_mark).
DATABASE_MARK = _environment
# Only the sandbox reads PORT, because platforms set it for their own use.
_port = variables.number("PORT", default=8000, most=65_535) if _sandbox else 0
BASE_URL = _required("BASE_URL", sandbox=f"http://localhost:{_port}").removesuffix("/")
if BASE_URL and (_fault := origins.fault(BASE_URL)):
    raise ImproperlyConfigured(f"BASE_URL {_fault}.")
_base = urlsplit(BASE_URL)
_https = _base.scheme == "https"
if BASE_URL and not _https and not _sandbox:
    raise ImproperlyConfigured("BASE_URL must begin with https:// in production.")

_host = f"[{_base.hostname}]" if ":" in (_base.hostname or "") else _base.hostname or ""
ALLOWED_HOSTS = [_host, *(["localhost", "127.0.0.1", "[::1]"] if _sandbox else [])]
# Processes of an instance, and threads of each. gunicorn reads them by itself (deploy/gunicorn.conf.py); here
# every check before a start finds a wrong value. Two of the threads never wait for outside parties.
variables.refuse_empty("WEB_CONCURRENCY")
WEB_CONCURRENCY = variables.number("WEB_CONCURRENCY", default=2, most=1000)
WEB_THREADS = variables.number("WEB_THREADS", default=4, least=4, most=1000)
UPLOAD_SECONDS = variables.number("UPLOAD_SECONDS", default=120, most=600)
TRUSTED_PROXY_COUNT = variables.number("TRUSTED_PROXY_COUNT", default=0, least=0, most=20)
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Whose service this is --------------------------------------------------------------------------------

OPERATOR = operator.from_environment(
    _required("OPERATOR_NAME", sandbox="Example Operator"),
    _required("OPERATOR_PRIVACY_NOTICE", sandbox="/what-is-kept/"),
    _required("OPERATOR_HELP", sandbox="help@localhost"),
    sandbox=_sandbox,
)

# --- Secrets ----------------------------------------------------------------------------------------------

variables.refuse_comments(*secret_texts.WITHOUT_COMMENTS)
SECRET_KEY = _required("SECRET_KEY", sandbox=_sandbox_secret("django"))
SECRET_KEY_FALLBACKS = variables.secrets("SECRET_KEY_FALLBACKS")
if SECRET_KEY and not _sandbox:
    variables.refuse_weak("SECRET_KEY", [SECRET_KEY])
    variables.refuse_weak("SECRET_KEY_FALLBACKS", SECRET_KEY_FALLBACKS)
KEY_SEALING_KEYS = variables.secrets("KEY_SEALING_KEYS")
if not KEY_SEALING_KEYS and _sandbox:
    KEY_SEALING_KEYS = [_sandbox_secret("sealing")]
if not KEY_SEALING_KEYS:
    _missing.append("KEY_SEALING_KEYS")

# The hardware module for private keys: its PKCS#11 library, the label of the token, and the pin.
PKCS11_MODULE = variables.text("PKCS11_MODULE")
PKCS11_TOKEN = variables.text("PKCS11_TOKEN")
PKCS11_PIN = variables.text("PKCS11_PIN")
PKCS11_PIN_FILE = variables.file_instead_of("PKCS11_PIN")  # read at each login
# Where new private keys are kept: `software` (sealed in the database) or `pkcs11`.
SIGNING_KEY_STORE = variables.text("SIGNING_KEY_STORE", default="software")

# The folder for the signed heads and the lines of the audit record, and the PEM file of the key that signs
# them (`sign_audit_record`).
AUDIT_FOLDER = variables.text("AUDIT_FOLDER")
AUDIT_KEY_FILE = variables.text("AUDIT_KEY_FILE")
if bool(AUDIT_FOLDER) != bool(AUDIT_KEY_FILE):
    raise ImproperlyConfigured("AUDIT_FOLDER and AUDIT_KEY_FILE need each other.")

# Whether operators need a second factor to use the admin.
OPERATOR_SECOND_FACTOR = not _sandbox

# The OpenID provider of the operators, if they have one; docs/operators.md lists its options.
SINGLE_SIGN_ON = option_files.single_sign_on()

# --- What is installed ------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "presentation",
    "consent",
    "wallet",
    "keys",
    "infra",
    *(["sandbox"] if _sandbox else []),
    "config",
    "operators",
    "operators.config.ServiceAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
]
MIDDLEWARE = [
    "config.middleware.EveryRequest",
    "config.middleware.Entrance",
    "config.cross_site.CrossSiteCheck",
    *(["sandbox.request_log.recording.Recording"] if _sandbox else []),
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,  # without "loaders", Django keeps every template that it has read
        "OPTIONS": {
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

# `{% cache %}` keeps fragments of pages in the memory of the process, the 1,000 that were used last. Nothing
# of a person may be in them; docs/architecture.md says what their keys must name.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},  # nothing else is cached
    "template_fragments": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "template_fragments",
        "OPTIONS": {"MAX_ENTRIES": 1000},
    },
}

# What verifies the identity of people without a wallet. The sandbox's own provider exists only there.
IDENTITY_PROVIDERS = option_files.identity_providers("simulated" if _sandbox else "in_person")
if _sandbox:  # always there, because the holder without a screen is verified by it
    IDENTITY_PROVIDERS.setdefault("simulated", {})["type"] = (
        "sandbox.identity_provider.provider.SimulatedProvider"
    )
if not _sandbox and any(
    values.get("type", "").startswith("sandbox.") for values in IDENTITY_PROVIDERS.values()
):
    raise ImproperlyConfigured("IDENTITY_PROVIDERS_FILE names a sandbox provider; production refuses it.")
# Whether an identity that operators approve needs two of them.
REVIEW_BY_TWO_OPERATORS = variables.switch("REVIEW_BY_TWO_OPERATORS", default=False)
# Whether an identity provider may run in its vendor's test mode, which verifies nobody.
IDENTITY_TEST_MODE = _sandbox
# How long a verified identity is good for; less if the document that was shown expires before.
IDENTITY_VALIDITY = timedelta(days=variables.number("IDENTITY_VALIDITY_DAYS", 365, most=3650))

# A person is a year older when their birthday has begun in this zone; by default where days begin last.
AGE_TIME_ZONE = variables.zone("AGE_TIME_ZONE", default=timezone(timedelta(hours=-12)))

# How long the claims of a verified identity that has ended or was revoked stay in the database.
IDENTITY_KEPT = timedelta(days=variables.number("IDENTITY_KEPT_DAYS", 30, most=3650))

# Whether `http://localhost` may be a redirect URI, for developers' machines (RFC 8252 §8.3).
LOCALHOST_REDIRECT_URIS = _sandbox
# Whether people may have e-mail addresses like `root@localhost`, whose mailbox depends on the machine.
LOCALHOST_EMAIL_ADDRESSES = _sandbox
# Whether relying parties may register http addresses on this machine for our calls. Allowed only in a sandbox
# that is itself on loopback, where nobody but the machine's developer can register any.
LOOPBACK_CALLS = _sandbox and _base.hostname in ("localhost", "127.0.0.1", "::1")

# How often something may be done, by the purpose of each limit.
LIMITS = limits.from_environment()

# The sandbox certifies signing keys by an authority in the database. In production a real certificate
# authority does, and `manage.py certify_signing_key` installs its chain.
SELF_CERTIFYING_AUTHORITY = _sandbox
# The subject of certificate requests besides the host, such as `O=Example Ltd,C=DE` (RFC 4514).
CERTIFICATE_SUBJECT = variables.text("CERTIFICATE_SUBJECT")
SIGNING_KEY_PERIOD = timedelta(days=variables.number("SIGNING_KEY_DAYS", default=90))
SIGNING_KEY_STAGED_FOR = timedelta(hours=48)  # time for the certificate authority
# Whether the next key is made as soon as one begins to sign, so that a certified spare stands at all times.
SIGNING_KEY_SPARE = variables.switch("SIGNING_KEY_SPARE", default=False)
# A program that gets a certificate request on its standard input and writes the chain to its standard output.
CERTIFICATE_COMMAND = variables.text("CERTIFICATE_COMMAND")

# After this time the transaction that a holder was shown is erased from the record of consent.
TRANSACTION_RETENTION_YEARS = variables.number("TRANSACTION_RETENTION_YEARS", default=7, most=100)

# Whether the law makes you keep that transaction until then even if the holder closes their wallet.
TRANSACTION_LEGAL_HOLD = variables.switch("TRANSACTION_LEGAL_HOLD", default=False)

# --- Database ---------------------------------------------------------------------------------------------

_database_url = _required("DATABASE_URL", sandbox=f"sqlite:///{_var / 'sandbox.sqlite3'}")
# The mode of a connection pooler in front of the database: `none`, `session` or `transaction`.
DATABASE_POOLER = variables.text("DATABASE_POOLER", default="none")
# How many standbys the database should have, for the doctor: under Patroni the server does not know it.
DATABASE_STANDBYS = variables.number("DATABASE_STANDBYS", default=0, least=0)
DATABASES: dict[str, dict[str, Any]] = {
    "default": database.connection_settings(_database_url, pooler=DATABASE_POOLER) if _database_url else {}
}
_database = DATABASES["default"]
_engines = ("postgresql", "sqlite3") if _sandbox else ("postgresql",)
if _database and (_database["ENGINE"].rpartition(".")[2] not in _engines or not _database["NAME"]):
    raise ImproperlyConfigured(
        "DATABASE_URL must name a PostgreSQL database: postgresql://user:password@host/name."
    )
# Timeouts for requests, not for commands; `infra.database.hung_database` explains the answer timeout.
DATABASE_ANSWER_TIMEOUT = variables.number("DATABASE_ANSWER_TIMEOUT", default=8)
DATABASE_LIMITS = database.limits(DATABASE_POOLER, answer=DATABASE_ANSWER_TIMEOUT)

# --- E-mail -----------------------------------------------------------------------------------------------

_email_url = _required("EMAIL_URL", sandbox="consolemail://")
_email = variables.url_config("EMAIL_URL", _email_url or "consolemail://", environ.Env.email_url_config)
if _email_url and not _sandbox and not _email_url.startswith(("smtp+tls://", "smtp+ssl://")):
    raise ImproperlyConfigured("EMAIL_URL must begin with smtp+tls:// or smtp+ssl://, for sign-in codes.")
if _email_url and not _sandbox and not _email.get("EMAIL_HOST"):
    raise ImproperlyConfigured("EMAIL_URL must name the mail server, as smtp+tls://user:password@host:587.")
# Only `manage.py worker` calls the mail server, except in a sandbox, which is one process.
EMAILS_SENT_AT_ONCE = _sandbox
# These settings are our own, for `infra.mail`: Django 6.1 replaces EMAIL_BACKEND, EMAIL_HOST and so on by
# MAILERS, which Django 5.2 does not have.
_mail_backend = _email["EMAIL_BACKEND"].replace("django.core.mail.backends.smtp", "infra.mail.sending")
MAIL_BACKEND = "sandbox.mailbox.EmailBackend" if _sandbox else _mail_backend
# Sandbox only: sends e-mails to developers who register their own application. With EMAIL_URL the e-mails are
# really sent, so developers prove their address; otherwise the page shows the e-mail.
DEVELOPER_EMAIL_BACKEND = _mail_backend if _sandbox and variables.secret("EMAIL_URL") else ""
MAIL_SERVER: dict[str, Any] = {  # arguments of Django's SMTP backend
    "host": _email.get("EMAIL_HOST") or "localhost",
    "port": _email.get("EMAIL_PORT") or 25,
    "username": _email.get("EMAIL_HOST_USER") or "",
    "password": _email.get("EMAIL_HOST_PASSWORD") or "",
    "use_tls": _email.get("EMAIL_USE_TLS", False),
    "use_ssl": _email.get("EMAIL_USE_SSL", False),
    "timeout": 10,  # seconds for each answer of the server
}
DEFAULT_FROM_EMAIL = _required("DEFAULT_FROM_EMAIL", sandbox="Wallet <wallet@localhost>")
if DEFAULT_FROM_EMAIL and (
    set(DEFAULT_FROM_EMAIL) & {"\r", "\n"}
    or not email_addresses.is_accepted(parseaddr(DEFAULT_FROM_EMAIL)[1].lower())
):
    raise ImproperlyConfigured(
        "DEFAULT_FROM_EMAIL must be a sender such as Wallet <no-reply@wallet.example>."
    )

# --- Browser security -------------------------------------------------------------------------------------

# The names are those of Django 6.0, whose middleware can replace ours later.
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
LOGIN_REDIRECT_URL = "admin:index"  # after sign-in, if `next` names no page of this service
CSRF_FAILURE_VIEW = "config.views.csrf_failure"
HOLDER_COOKIE_NAME = f"{_host_prefix}holder"
BROWSER_COOKIE_NAME = f"{_host_prefix}browser"
HOLDER_COOKIE_SECURE = _https
LANGUAGE_COOKIE_NAME = f"{_host_prefix}language"
DEVELOPER_COOKIE_NAME = f"{_host_prefix}developer"  # sandbox only
SECURE_SSL_REDIRECT = _https
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
# It affects other hosts of the domain, so its operator has to decide.
SECURE_HSTS_INCLUDE_SUBDOMAINS = variables.switch("SECURE_HSTS_INCLUDE_SUBDOMAINS", default=False)
SILENCED_SYSTEM_CHECKS = [
    # Django looks for its own names in MIDDLEWARE. `config.middleware` has them inside, or does their work.
    *("admin.E408", "admin.E409", "admin.E410", "security.W001", "security.W002", "security.W003"),
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 262_144
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000  # the admin's form of a relying party may have hundreds of addresses
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- Language, time, files ---------------------------------------------------------------------------------

# The texts in the source are British English; other languages are in `locale` (docs/translations.md).
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "config.formats"
STATIC_URL = "/static/"
STATIC_ROOT = _var / "static"
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
    # Stays empty, because the sandbox serves files from their sources.
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}
# The bearer token for `/metrics`; without it there is no such URL.
METRICS_TOKEN = variables.secret("METRICS_TOKEN")
if METRICS_TOKEN:
    variables.refuse_weak("METRICS_TOKEN", [METRICS_TOKEN])
# Where the processes of an instance keep their figures: in the folder that systemd makes for the instance, or
# below the state. Nowhere if nobody may read them.
_folder = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0] or _var / "metrics"
METRICS_DIRECTORY = Path(_folder) if METRICS_TOKEN else None
_level = variables.text("LOG_LEVEL", default="INFO")
if _level not in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
    raise ImproperlyConfigured("LOG_LEVEL must be DEBUG, INFO, WARNING, ERROR or CRITICAL.")
structlog.configure(**logs.structlog_config(level=_level, as_json=not _sandbox))
LOGGING = logs.logging_config(level=_level, as_json=not _sandbox)
SECRET_FILES = variables.secret_files  # `keys.checks` looks who can read them
# Every file and folder that variables and options name. `infra.named_files` looks whether they can be used.
_ALL = "every process of the service"
NAMED_FILES = [
    file
    for file in (
        *(NamedFile(name, path, _ALL) for name, path in (SECRET_FILES | option_files.named).items()),
        NamedFile("OPERATOR_LOGO_FILE", variables.text("OPERATOR_LOGO_FILE"), _ALL),
        NamedFile("SSL_CERT_FILE", variables.text("SSL_CERT_FILE"), _ALL),  # OpenSSL would just ignore it
        NamedFile("PKCS11_MODULE", PKCS11_MODULE, _ALL),
        NamedFile("AUDIT_KEY_FILE", AUDIT_KEY_FILE, "the worker", elsewhere=True),
        NamedFile("AUDIT_FOLDER", AUDIT_FOLDER, "the worker", WRITES, elsewhere=True),
        NamedFile("CERTIFICATE_COMMAND", CERTIFICATE_COMMAND, "the worker", RUNS),
        NamedFile("STATE_DIRECTORY", str(STATIC_ROOT), "an instance", elsewhere=True),
    )
    if file.path
]
FILE_VARIABLES_NOT_READ = variables.files_not_read()  # `infra.checks` names them

if _missing:
    raise ImproperlyConfigured(
        "Production needs these environment variables, and they are not set: "
        + ", ".join(_missing)
        + ". docs/settings.md explains each."
    )
