"""Variables of release 0.2.0 that nothing reads any more, each with what to do instead. Goes with 0.4.0.

They are refused, because the operator of an overlooked limit would believe in a protection that is not there.
"""

import os
import re

from django.core.exceptions import ImproperlyConfigured

_CALLS = r"LIMIT_(\w+_PER_RELYING_PARTY|(TOKEN_REQUESTS|REFUSED_TOKENS|PUSHES)_PER_CLIENT)"
_LIMITS = r"LIMIT_(\w+_PER_\w+|SECOND_FACTOR_TRIES)|SIGN_IN_CODES_PER_ADDRESS"
_PROVIDERS = r"IDENTITY_PROVIDERS?|IDENTITY_(<names>)_\w+"  # <names>: those in IDENTITY_PROVIDERS
_CONSTANT = "SECURE_HSTS_SECONDS|SIGNING_KEY_STAGED_HOURS|OPERATOR_SECOND_FACTOR"
INSTEAD = (  # the first pattern that fits
    ("SIGN_IN_(EMAILS|WRONG_CODES)_PER_CLIENT", "REQUESTS_PER_CLIENT changes this in proportion"),
    (_CALLS, "CALLS_PER_RELYING_PARTY changes this in proportion"),
    (_LIMITS, "LIMITS changes it, if docs/reference.md says so"),
    ("DATABASE_(LOCK|STATEMENT)_TIMEOUT", "DATABASE_ANSWER_TIMEOUT changes this in proportion"),
    ("DATABASE_CON(NECT_TIMEOUT|N_MAX_AGE)", "DATABASE_URL takes ?connect_timeout=… and ?conn_max_age=…"),
    (_PROVIDERS, "write IDENTITY_PROVIDERS_FILE; docs/identity-providers.md"),
    (r"SINGLE_SIGN_ON_(?!FILE$)\w+", "write SINGLE_SIGN_ON_FILE; docs/operators.md"),
    ("SECURE_SSL_REDIRECT", "let the proxy send X-Forwarded-Proto"),
    ("SECURE_HSTS_PRELOAD", "let the proxy send the header; docs/settings.md"),
    (_CONSTANT, "it is a constant now"),
    ("METRICS_DIRECTORY", "systemd's RUNTIME_DIRECTORY is the folder"),
    ("BIND", "give gunicorn the option --bind"),
    ("FORWARDED_ALLOW_IPS", "TRUSTED_PROXY_COUNT is enough"),
    ("LEGACY_ASSERTION_AUDIENCES", "tick “assertions may name an endpoint” at the relying parties"),
)


def refuse() -> None:
    """Raises ImproperlyConfigured with the name of every such variable that is set."""
    names = (os.environ.get("IDENTITY_PROVIDERS") or "in_person").upper().split(",")
    patterns = [(p.replace("<names>", "|".join(map(re.escape, names))), words) for p, words in INSTEAD]
    to_remove: dict[str, str] = {}
    for pattern, instead in reversed(patterns):
        to_remove |= {
            name: instead for name in os.environ if os.environ[name] and re.fullmatch(pattern, name)
        }
    if to_remove:
        sentences = " ".join(f"{name}: {instead}." for name, instead in sorted(to_remove.items()))
        raise ImproperlyConfigured(f"Remove these variables. {sentences}")
