"""Operators with recovery codes, made in the database of another process."""

import json
from collections.abc import Mapping

from tests.own_databases import manage

# Set up as the page of the admin does, with a code of an app.
_SCRIPT = """
import json
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.contrib.auth.models import User
from django.utils.timezone import now
from infra import second_factors
codes = {}
for name in %r:
    operator = User.objects.create_user(name, is_staff=True)
    secret = second_factors.new_secret()
    code = TOTP(secret, 6, SHA1(), 30).generate(int(now().timestamp())).decode()
    codes[name] = second_factors.set_up(operator, secret, code, now=now())[1][0]
print(json.dumps(codes))
"""


def operators_with_codes(environment: Mapping[str, str], *names: str) -> dict[str, str]:
    """Makes these operators; gives a recovery code of each."""
    done = manage(environment, "shell", "-v0", "-c", _SCRIPT % (names,))
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    codes: dict[str, str] = json.loads(done.stdout)
    return codes
