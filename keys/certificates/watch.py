"""Warnings about certificates in use that end soon, for the log, the admin and `check --deploy`."""

from datetime import datetime

import structlog
from cryptography import x509
from django.utils.translation import gettext as _

from keys.certificates.expiry import Ending, endings
from keys.models import KINDS, Authority
from keys.rotation.states import State

log = structlog.get_logger(__name__)


def certificates_in_use() -> list[tuple[str, tuple[x509.Certificate, ...]]]:
    """The chains of the active and the staged key, and of the sandbox's authority, if there is one.

    A retired key is left out: it signs no more, and no token that it signed outlives its certificates.
    """
    in_use = []
    for kind in KINDS:
        for key in kind.objects.filter(state__in=[State.ACTIVE, State.STAGED], certified_at__isnull=False):
            if chain := key.certified_chain:
                in_use.append((str(key), chain.certificates))
    for authority in Authority.objects.all():
        pems = (authority.issuing_pem + authority.root_pem).encode()
        in_use.append((_("the sandbox’s authority"), tuple(x509.load_pem_x509_certificates(pems))))
    return in_use


def ending_certificates(*, now: datetime) -> list[Ending]:
    """The certificates in use that end soon, the soonest first."""
    return endings(certificates_in_use(), now=now)


def report(*, now: datetime) -> list[Ending]:
    """The same; logs each as `certificate_ends`, as an error once it is urgent."""
    found = ending_certificates(now=now)
    for ending in found:
        (log.error if ending.urgent else log.warning)(
            "certificate_ends",
            subject=ending.name,
            fingerprint=ending.fingerprint,
            keys=list(ending.holders),
            ends=ending.ends.isoformat(),
            days=ending.days,
            stage=ending.stage,
        )
    return found
