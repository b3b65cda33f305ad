"""Which pages keep the page that opened them in a window (`Cross-Origin-Opener-Policy`). Pure.

Libraries such as oidc-client-ts open the authorization request in a window and wait there for the answer. One
response with `same-origin` on the way, also a redirect, cuts that page off for good. So the policy follows
from the address, and never from who is signed in, because the opener sees whether it was cut off.
"""

import re

from django.conf import settings

KEPT = "unsafe-none"
# Everything on the way of a request. The front door is not: it leads who is signed in to the wallet.
_GUESTS = re.compile(
    r"/verifiable-credentials/v1/presentation/(?:authorize$|interactions/)"
    r"|/consent/"
    r"|/wallet/errands/"  # signing in, and the identity check
    r"|/wallet/identity/[^/]+/return/$"  # where identity providers send the browser
    r"|/sandbox/identity/"  # the provider of the sandbox
    r"|/relying-parties/"
    r"|/language/$"
    r"|/what-is-kept/$"
)


def of(path: str) -> str:
    """The value of the header for every response at this path."""
    return KEPT if _GUESTS.match(path) else settings.SECURE_CROSS_ORIGIN_OPENER_POLICY
