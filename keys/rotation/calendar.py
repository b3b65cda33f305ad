"""What happens to the keys and certificates within a year, and what an operator has to do then.

Computed from the rows: the steps of `plan`, the rotations that follow by the settings, and the end of each
certificate in use. The regular tasks are those of docs/keys.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings

from keys.certificates.expiry import WARN_BEFORE
from keys.certificates.watch import certificates_in_use
from keys.models import SigningKey
from keys.rotation.plan import What, plan
from keys.rotation.report import iso
from keys.rotation.schedule import takes_over_at
from keys.rotation.states import State, in_state

YEAR = timedelta(days=365)
NOTHING = "Nothing."
BACKUP = "Make a backup: export_keys."
# Month → the task, as the table in docs/keys.md has it.
TASKS = {
    1: "Replace the sealing key.",
    4: "Restore drill: import_keys on an empty database.",
    7: "Emergency drill, in a sandbox.",
    10: "Review who may see keys, who has a shell, who knows the passphrase, and when CA and root expire.",
}


@dataclass(frozen=True, order=True)
class Date:
    """One entry: when, what happens, and what an operator has to do. planned: follows from the settings."""

    at: datetime
    what: str
    to_do: str
    planned: bool = False

    def facts(self) -> dict[str, str | bool]:
        """The members documented in docs/keys.md."""
        return {"at": iso(self.at), "what": self.what, "to_do": self.to_do, "planned": self.planned}


def calendar(*, now: datetime) -> list[Date]:
    """The dates from now on for a year, the soonest first; what is overdue is dated now."""
    found = {*_steps(now), *_rotations(now), *_certificates(now), *_tasks(now)}
    return sorted(date for date in found if date.at <= now + YEAR)


def _steps(now: datetime) -> Iterator[Date]:
    """The next steps of the keys that there are."""
    to_do = {What.STAGE: _after_staging(), What.CERTIFY: _certifying(), What.ACTIVATE: BACKUP}
    for step in plan(now=now):
        yield Date(max(step.at, now), step.entry().text, to_do.get(step.what, NOTHING))


def _rotations(now: datetime) -> Iterator[Date]:
    """The rotations that follow, as often as the settings say."""
    active, staged = in_state(State.ACTIVE), in_state(State.STAGED)
    if active is None or active.activated_at is None:
        return
    signs = active.activated_at + settings.SIGNING_KEY_PERIOD
    if staged and staged.certified_at:
        signs = takes_over_at(active, staged)  # `_steps` has it
    else:
        signs = max(signs, now)
        yield _takes_over(signs)
    while signs <= now + YEAR:
        following = signs + settings.SIGNING_KEY_PERIOD
        stages = signs if settings.SIGNING_KEY_SPARE else following - settings.SIGNING_KEY_STAGED_FOR
        yield Date(max(stages, now), "Another key is staged.", _after_staging(), planned=True)
        if following >= now:
            yield _takes_over(following)
        signs = following


def _takes_over(at: datetime) -> Date:
    return Date(at, "The staged key takes over.", BACKUP, planned=True)


def _certificates(now: datetime) -> Iterator[Date]:
    """When operators are first warned of a certificate in use, and when it ends; each certificate once."""
    keys = {str(key) for key in SigningKey.objects.exclude(state=State.WITHDRAWN)}
    found = {
        certificate: certificate == chain[0] and holder in keys
        for holder, chain in certificates_in_use()
        for certificate in chain
    }
    for certificate, is_leaf in found.items():
        ends, subject = certificate.not_valid_after_utc, certificate.subject.rfc4514_string()
        name = f"The certificate of {'a signing key' if is_leaf else 'an authority'}, {subject},"
        first = ends - timedelta(days=WARN_BEFORE[0])
        ending = f"{name} ends on {ends:%d %b %Y}."
        if ends > now:
            yield Date(max(first, now), ending, _renewing(is_leaf))
        yield Date(max(ends, now), f"{name} ends.", NOTHING)


def _renewing(is_leaf: bool) -> str:
    if settings.SELF_CERTIFYING_AUTHORITY:
        return NOTHING
    if not is_leaf:
        return "Get certificates under the next one from the authority; give relying parties a new root now."
    if settings.CERTIFICATE_COMMAND:
        return "See that CERTIFICATE_COMMAND renews it."
    return "See that the next key is certified before: it takes over in time."


def _certifying() -> str:
    if settings.CERTIFICATE_COMMAND:
        return "See in the log why CERTIFICATE_COMMAND has not certified it: certificate_not_obtained."
    return "Have its request signed (signing_key_csr), then certify_signing_key."


def _after_staging() -> str:
    return NOTHING if settings.SELF_CERTIFYING_AUTHORITY or settings.CERTIFICATE_COMMAND else _certifying()


def _tasks(now: datetime) -> Iterator[Date]:
    """The regular tasks, on the first day of their month."""
    for year in (now.year, now.year + 1):
        for month, task in TASKS.items():
            if (at := datetime(year, month, 1, tzinfo=UTC)) >= now:
                yield Date(at, "A regular task.", task)
