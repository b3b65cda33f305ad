"""The next steps of the signing keys and their times, computed from the rows.

`due_steps.rotate` takes the steps that are due; the commands, the admin and the metrics report all of them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from infra.moments import moment
from keys.certificates import authority
from keys.models import KINDS, IdTokenKey, Key, SigningKey, StatementKey
from keys.private_keys.key_stores import to_destroy
from keys.rotation.report import Entry, RotationReport
from keys.rotation.states import State, destroyed_from, ended_at, fits, next_staged_at, takes_over_at

NO_ACTIVE_KEY = "no_active_key"
CERTIFICATE_RESERVE = timedelta(days=30)  # the sandbox renews a certificate this long before its end


class What(StrEnum):
    CERTIFY = "certify"
    STAGE = "stage"
    ACTIVATE = "activate"
    WITHDRAW = "withdraw"
    DESTROY = "destroy"


@dataclass(frozen=True)
class PlannedTransition:
    """A future transition. `kid` is the key it is about (None if it makes one), `after` the active key."""

    what: What
    at: datetime
    kid: UUID | None = None
    after: UUID | None = None
    by_operator: bool = False  # an operator has to take it; the service cannot
    kind: type[Key] = SigningKey  # of the key that is to be made

    def due(self, now: datetime) -> bool:
        """Whether the service has to take this step now."""
        return not self.by_operator and self.at <= now

    def entry(self, *, rehearsed: bool = False) -> Entry:
        """The entry of this step in a report; with `rehearsed` it says what would be done now."""
        facts = {"kid": self.kid, "after": self.after, "when": moment(self.at)}
        return Entry(self.what, self.kid, self.at, self._sentence(rehearsed) % facts)

    def _sentence(self, rehearsed: bool) -> str:
        match self.what:
            case What.STAGE if rehearsed:
                return _("Would stage a new key.") if self.after else _("Would make the first key.")
            case What.STAGE if self.after:
                return _("The key after %(after)s is staged on %(when)s.")
            case What.STAGE:
                return _("A key is to be staged: manage.py rotate_signing_keys")
            case What.CERTIFY if self.by_operator and settings.CERTIFICATE_COMMAND:
                return _(
                    "Key %(kid)s waits for its certificate: rotate_signing_keys asks CERTIFICATE_COMMAND for "
                    "it every hour."
                )
            case What.CERTIFY if self.by_operator:
                return _("Key %(kid)s waits for its certificate: manage.py certify_signing_key %(kid)s")
            case What.CERTIFY:
                return _("Would certify key %(kid)s.") if rehearsed else _("Key %(kid)s is to be certified.")
            case What.ACTIVATE if rehearsed:
                return _("Would activate key %(kid)s.")
            case What.ACTIVATE:
                return _("Key %(kid)s takes over on %(when)s.")
            case What.WITHDRAW if rehearsed:
                return _("Would withdraw key %(kid)s: the last token it signed has ended.")
            case What.WITHDRAW:
                return _("Key %(kid)s leaves the key set on %(when)s.")
            case What.DESTROY if rehearsed:
                return _("Would have the hardware module destroy the private key of %(kid)s.")
            case What.DESTROY:
                return _(
                    "The private key of %(kid)s is to be destroyed in its hardware module, from %(when)s: "
                    "manage.py rotate_signing_keys"
                )


def plan(*, now: datetime, kind: type[Key] = SigningKey) -> list[PlannedTransition]:
    """The next steps of all keys of this kind, in the order in which they have to be taken."""
    living = list(kind._default_manager.exclude(state=State.WITHDRAWN))
    active = next((key for key in living if key.state == State.ACTIVE), None)
    staged = next((key for key in living if key.state == State.STAGED), None)
    retired = [key for key in living if key.state == State.RETIRED]
    return [
        *[
            PlannedTransition(What.CERTIFY, now, key.pk)
            for key in (active, staged)
            if key and _to_renew(key, now)
        ],
        *_succession(kind, active, staged, now),
        *[PlannedTransition(What.WITHDRAW, ended_at(key), key.pk) for key in retired],
        *[PlannedTransition(What.DESTROY, destroyed_from(key), key.pk) for key in to_destroy(kind)],
    ]


def in_use() -> list[type[Key]]:
    """The kinds of keys that there are; credentials need theirs in any case."""
    return [kind for kind in KINDS if kind is SigningKey or kind.objects.exists()]


def to_rotate() -> list[type[Key]]:
    """The kinds whose keys are made by themselves: all but keys for ID tokens, before somebody stages one."""
    return [kind for kind in KINDS if kind is not IdTokenKey or kind.objects.exists()]


def overdue(*, now: datetime) -> timedelta:
    """For how long the step that waits longest for `rotate_signing_keys` has been due; zero if none is."""
    steps = [step for kind in in_use() for step in plan(now=now, kind=kind)]
    return max((now - step.at for step in steps if step.due(now)), default=timedelta(0))


def outlook(*, now: datetime, kind: type[Key] = SigningKey) -> RotationReport:
    """Reports what comes next and what is wrong; changes nothing."""
    steps = plan(now=now, kind=kind)
    return RotationReport(now, next=tuple(step.entry() for step in steps), problems=_problems(now, kind))


def rehearsal(*, now: datetime, kind: type[Key] = SigningKey) -> RotationReport:
    """Reports what `due_steps.rotate` would do now, except steps that become due only by its other steps."""
    steps = plan(now=now, kind=kind)
    done = tuple(step.entry(rehearsed=True) for step in steps if step.due(now))
    later = tuple(step.entry() for step in steps if not step.due(now))
    return RotationReport(now, done, later, _problems(now, kind), dry_run=True)


def _to_renew(key: Key, now: datetime) -> bool:
    """Whether the sandbox has to renew the certificate: it ends soon or names another base address."""
    if not settings.SELF_CERTIFYING_AUTHORITY:
        return False
    return not (fits(key, now + CERTIFICATE_RESERVE) and authority.names_this_issuer(key.chain_pem))


def _succession(
    kind: type[Key], active: Key | None, staged: Key | None, now: datetime
) -> list[PlannedTransition]:
    """The step that makes the next key sign. If no key is active, it is due at once."""
    after = active.pk if active else None
    if staged is None:
        return [
            PlannedTransition(What.STAGE, next_staged_at(active) if active else now, after=after, kind=kind)
        ]
    if staged.chain_pem:
        at = takes_over_at(active, staged) if active else now
        return [PlannedTransition(What.ACTIVATE, at, staged.pk, after)]
    if settings.SELF_CERTIFYING_AUTHORITY:
        return []  # `_to_renew` has the step that certifies it; then this is planned again
    return [PlannedTransition(What.CERTIFY, staged.staged_at, staged.pk, after, by_operator=True)]


def spare(*, now: datetime, kind: type[Key] = SigningKey) -> Key | None:
    """The staged key if it could sign now, because its certificate chain is valid; else None."""
    staged = kind._default_manager.filter(state=State.STAGED).first()
    return staged if staged and fits(staged, now) else None


def _problems(now: datetime, kind: type[Key]) -> tuple[Entry, ...]:
    problems = []
    if not kind._default_manager.filter(state=State.ACTIVE).exists():
        text = _("No key signs: credentials cannot be issued.")
        if kind is StatementKey:
            text = _("No key signs statements: there is no evidence for applications, nor for holders.")
        if kind is IdTokenKey:
            text = _("No key signs ID tokens with RS256: who is registered for it cannot exchange a code.")
        problems.append(Entry(NO_ACTIVE_KEY, None, now, text))
    if settings.SIGNING_KEY_SPARE and not spare(now=now, kind=kind):
        text = _("No spare stands ready: if the key that signs is withdrawn, nothing can be issued.")
        if kind is StatementKey:
            text = _("No spare for statements stands ready: without the key that signs there is no evidence.")
        if kind is IdTokenKey:
            text = _("No spare for ID tokens stands ready: without the key that signs there is no RS256.")
        problems.append(Entry("no_spare_key", None, now, text))
    return tuple(problems)
