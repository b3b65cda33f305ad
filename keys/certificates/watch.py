"""Certificates in use that end soon, for the log, the admin and `check --deploy`.

Operators are warned 60, 30, 14 and 7 days before the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from infra.moments import moment
from keys.models import KINDS, Authority
from keys.rotation.states import State

log = structlog.get_logger(__name__)

WARN_BEFORE = (60, 30, 14, 7)  # days
URGENT = 14


@dataclass(frozen=True)
class Ending:
    """A certificate that ends soon, or has ended; `stage_of` describes the stage."""

    name: str
    fingerprint: str
    holders: tuple[str, ...]  # the ids of the keys that use it
    ends: datetime
    days: int  # whole days left
    stage: int

    @property
    def urgent(self) -> bool:
        return self.stage <= URGENT

    def days_left(self, now: datetime) -> float:
        return (self.ends - now) / timedelta(days=1)

    def __str__(self) -> str:
        facts = {"name": self.name, "days": self.days, "when": moment(self.ends)}
        if not self.stage:
            text = _("The certificate “%(name)s” ended on %(when)s.")
        else:
            text = ngettext(
                "The certificate “%(name)s” ends in %(days)d day, on %(when)s.",
                "The certificate “%(name)s” ends in %(days)d days, on %(when)s.",
                self.days,
            )
        return text % facts + " " + _("In use by: %(holders)s.") % {"holders": ", ".join(self.holders)}


def endings(in_use: Iterable[tuple[str, Iterable[x509.Certificate]]], *, now: datetime) -> list[Ending]:
    """The certificates that have ended or end within WARN_BEFORE; the soonest first.

    `in_use` gives each holder's certificates. One that several holders use, such as a root, occurs once.
    """
    holders: dict[x509.Certificate, list[str]] = {}
    for holder, certificates in in_use:
        for certificate in certificates:
            holders.setdefault(certificate, []).append(holder)
    near = []
    for certificate, names in holders.items():
        left = certificate.not_valid_after_utc - now
        if (stage := stage_of(left)) is not None:
            name, fingerprint = certificate.subject.rfc4514_string(), certificate.fingerprint(SHA256()).hex()
            ends, days = certificate.not_valid_after_utc, max(left, timedelta(0)).days
            near.append(Ending(name, fingerprint, tuple(dict.fromkeys(names)), ends, days, stage))
    return sorted(near, key=lambda ending: (ending.ends, ending.name))


def stage_of(left: timedelta) -> int | None:
    """The smallest period of WARN_BEFORE that contains `left`; 0 after the end, None before all periods."""
    if left <= timedelta(0):
        return 0
    return min((days for days in WARN_BEFORE if left <= timedelta(days=days)), default=None)


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
    endings = ending_certificates(now=now)
    for ending in endings:
        (log.error if ending.urgent else log.warning)(
            "certificate_ends",
            subject=ending.name,
            fingerprint=ending.fingerprint,
            keys=list(ending.holders),
            ends=ending.ends.isoformat(),
            days=ending.days,
            stage=ending.stage,
        )
    return endings
