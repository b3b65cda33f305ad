"""Takes the steps of `plan` that are due, each by the corresponding transition."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from keys.certificates import authority
from keys.models import Key, SigningKey
from keys.private_keys.key_stores import destroy, forgotten_unless_saved
from keys.rotation.key_events import SERVICE, Action
from keys.rotation.plan import PlannedTransition, What, outlook, plan
from keys.rotation.report import Entry, RotationReport
from keys.rotation.states import RotationRefusedError, State, find, in_state, transition_to
from keys.rotation.transitions import activate, certify, new_key, save_staged

log = structlog.get_logger(__name__)


def rotate(*, now: datetime, actor: str = SERVICE, kind: type[Key] = SigningKey) -> RotationReport:
    """Takes every step that is due for this kind of keys, and reports what was done, comes next and is wrong.

    Any number of instances may run this at once: each step is a transition in a transaction of its own, and
    the second instance finds it done. The hardware module is never called inside a transaction.
    """
    done: list[Entry] = []
    failed: list[Entry] = []
    tried: set[PlannedTransition] = set()
    while step := next((s for s in plan(now=now, kind=kind) if s.due(now) and s not in tried), None):
        tried.add(step)
        try:
            done += _STEPS[step.what](step, now, actor)
        except RotationRefusedError as refusal:
            # Another instance takes this step.
            log.info("rotation_step_left", step=step.what, why=str(refusal))
        except Exception as error:  # the other steps are due all the same
            log.exception("rotation_step_failed", step=step.what, why=str(error))
            failed.append(Entry("step_failed", step.kid, now, str(error)))
    ahead = outlook(now=now, kind=kind)
    return replace(ahead, done=tuple(done), problems=(*failed, *ahead.problems))


def _certify_due(step: PlannedTransition, now: datetime, actor: str) -> list[Entry]:
    key = find(str(step.kid))
    certify(key.pk, authority.certify(key.public_key, now=now), now=now, actor=actor, reason=_due())
    return [Entry(Action.CERTIFIED, key.pk, now, _("Certified key %(kid)s.") % {"kid": key})]


def _stage_due(step: PlannedTransition, now: datetime, actor: str) -> list[Entry]:
    key = new_key(now, kind=step.kind)
    with forgotten_unless_saved(key), transaction.atomic():
        save_staged(key, now=now, actor=actor, reason=_due())
        active = in_state(State.ACTIVE, step.kind)
        if (active.pk if active else None) != step.after:  # the new row is rolled back
            raise RotationRefusedError(_("Another key has come to sign meanwhile."))
    return [Entry(Action.STAGED, key.pk, now, _("Staged key %(kid)s.") % {"kid": key})]


def _activate_due(step: PlannedTransition, now: datetime, actor: str) -> list[Entry]:
    key = activate(str(step.kid), now=now, actor=actor, reason=_due())
    if key.activated_at != now:  # another instance did it
        return []
    retired = Entry(Action.RETIRED, step.after, now, _("Retired key %(kid)s.") % {"kid": step.after})
    done = Entry(Action.ACTIVATED, key.pk, now, _("Activated key %(kid)s.") % {"kid": key})
    return [done, retired] if step.after else [done]


def _withdraw_due(step: PlannedTransition, now: datetime, actor: str) -> list[Entry]:
    ended = _("The last token it signed has ended.")
    key = transition_to(find(str(step.kid)), State.WITHDRAWN, now=now, actor=actor, reason=ended)
    text = _("Withdrew key %(kid)s: the last token it signed has ended.") % {"kid": key}
    return [Entry(Action.WITHDRAWN, key.pk, now, text)]


def _destroy_due(step: PlannedTransition, now: datetime, actor: str) -> list[Entry]:
    key = find(str(step.kid))
    if not destroy(key, now=now, actor=actor):
        return []
    text = _("Destroyed the private key of %(kid)s in its hardware module.") % {"kid": key}
    return [Entry(Action.DESTROYED, key.pk, now, text)]


_STEPS: dict[What, Callable[[PlannedTransition, datetime, str], list[Entry]]] = {
    What.CERTIFY: _certify_due,
    What.STAGE: _stage_due,
    What.ACTIVATE: _activate_due,
    What.WITHDRAW: _withdraw_due,
    What.DESTROY: _destroy_due,
}


def _due() -> str:
    return _("It was due.")
