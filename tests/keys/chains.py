"""Chains that an external authority would send."""

from datetime import datetime, timedelta
from typing import Any

from keys.models import SigningKey
from tests.keys.certificates import Made, issuing, leaf, pem, root

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def chain_for(key: SigningKey, now: datetime, *, only_hosts_of: str = "", **differences: Any) -> str:
    """The chain that an external authority would send for this key.

    only_hosts_of: the domain for which the issuing authority may certify; any without it.
    """
    from keys.jwk import public_key_from_der

    class PublicOnly:
        def public_key(self) -> Any:
            return public_key_from_der(key.public_key)

    times = {"begins": now - HOUR, "ends": now + timedelta(days=400)}
    top = root(**times)
    middle = issuing(top, only_hosts_of=only_hosts_of, **times)
    made: Made = leaf(middle, key=PublicOnly(), **{**times, **differences})
    return pem(made, middle, top)
