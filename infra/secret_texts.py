"""What a secret must be: the one rule for every variable that holds a secret. Pure.

The service asks it when it starts, and `deploy/setup` before it writes anything, also on a machine without
the service's packages.
"""

import re
from collections.abc import Sequence

# Characters of each secret that nobody may guess, at least. `secrets.token_urlsafe(32)` gives 43. Those of
# SECRET_KEY are Django's (security.W009).
SHORTEST = {"SECRET_KEY": 50, "SECRET_KEY_FALLBACKS": 50, "KEY_SEALING_KEYS": 32, "METRICS_TOKEN": 32}
# Variables with several secrets: between commas, and in a file one on each line.
LISTS = ("SECRET_KEY_FALLBACKS", "KEY_SEALING_KEYS")
# Not SECRET_KEY_FALLBACKS: an earlier value may have had a comment in it.
WITHOUT_COMMENTS = ("SECRET_KEY", "KEY_SEALING_KEYS", "PKCS11_PIN", "DATABASE_URL", "EMAIL_URL")
_FEWEST_DIFFERENT = 5  # characters, as in Django's check
_OF_STARTPROJECT = "django-insecure-"  # so begins the key that Django's `startproject` makes


def fault(name: str, secrets: Sequence[str]) -> str:
    """The fault of the secrets that a variable holds, as the end of a sentence; empty if there is none.

    name: a key of SHORTEST. The sentence contains nothing of a secret.
    """
    shortest = SHORTEST[name]
    for position, secret in enumerate(secrets, 1):
        # Values may still be sealed under an earlier key that anybody guesses: it must open them, so that
        # `manage.py reseal` can move them.
        guessable = len(set(secret)) < _FEWEST_DIFFERENT or secret.startswith(_OF_STARTPROJECT)
        only_opens = name == "KEY_SEALING_KEYS" and position > 1
        if len(secret) < shortest or (guessable and not only_opens):
            where = f" at position {position}" if name in LISTS else ""
            return f"must be {shortest} random characters or more{where}"
    if name == "METRICS_TOKEN" and not all(re.fullmatch("[!-~]+", secret) for secret in secrets):
        return "must be visible ASCII characters, because it is sent in a header"
    return ""


def split(name: str, value: str) -> list[str]:
    """The secrets in the value of a variable; none in an empty one, which counts as not set."""
    return [part for part in (value.split(",") if name in LISTS else [value]) if part]


def has_comment(value: str) -> bool:
    """Whether a value contains a space or #, as with a comment behind it.

    systemd takes such a comment as part of the value and a shell does not, so the service and the operator's
    commands would use different secrets.
    """
    return re.search(r"[\s#]", value) is not None
