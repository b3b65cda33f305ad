"""The timeline of the signing keys: which key was, is and will be in which state. Pure.

Horizontal positions are percentages and the SVG does not scale, so that its text stays readable on a phone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from keys.models import Key
from keys.rotation.plan import PlannedTransition, What

State = Key.State
SHOWN_FOR = timedelta(days=200)  # after its withdrawal
MOST_WITHDRAWN = 6
# Pixels: above the rows, per row, from its top to the label and to the bar, below the rows.
HEAD, ROW, LABEL, BAR, FOOT = 26, 50, 18, 28, 26
THICK = 12
LEAST = 0.5  # per cent of the width; narrower bars would be invisible


@dataclass(frozen=True)
class Span:
    """A period in one state; a `planned` one is in the future."""

    state: State
    begins: datetime
    ends: datetime
    planned: bool = False

    def __str__(self) -> str:
        facts = {"state": self.state.value, "begins": _day(self.begins), "ends": _day(self.ends)}
        if self.state == State.WITHDRAWN:
            return _("%(state)s %(begins)s") % facts
        if self.planned:
            return _("%(state)s until %(ends)s, as planned") % facts
        return _("%(state)s %(begins)s to %(ends)s") % facts


@dataclass(frozen=True)
class Life:
    """A key, its periods, and its next step as a sentence. The next key, not made yet, has no id."""

    kid: UUID | None
    state: str
    spans: tuple[Span, ...]
    ahead: str = ""

    @property
    def name(self) -> str:
        return str(self.kid)[:8] if self.kid else _("the next key")


class Timeline:
    """The drawing of these lives at `now`, for a template: a row for each life, with a bar for each span."""

    def __init__(self, lives: Sequence[Life], *, now: datetime) -> None:
        moments = [moment for life in lives for span in life.spans for moment in (span.begins, span.ends)]
        self._begins, self._ends = min([now, *moments]), max([now, *moments])
        self.begins, self.ends, self.now = _day(self._begins), _day(self._ends), _day(now)
        self.bottom = HEAD + ROW * len(lives)
        self.height, self.foot_y = self.bottom + FOOT, self.bottom + FOOT - 8
        self.now_x = f"{self._place(now):.2f}%"
        self.now_anchor = "start" if self._place(now) < 50 else "end"
        self.rows = [self._row(life, HEAD + ROW * number) for number, life in enumerate(lives)]

    def _row(self, life: Life, top: int) -> dict[str, Any]:
        bars = [self._bar(span, top + BAR) for span in life.spans]
        return {"life": life, "label_y": top + LABEL, "bars": bars}

    def _bar(self, span: Span, top: int) -> dict[str, Any]:
        x = self._place(span.begins)
        width = max(self._place(span.ends) - x, LEAST)
        y, height = (top + THICK // 2, 1) if span.state == State.WITHDRAWN else (top, THICK)
        return {"span": span, "x": f"{x:.2f}%", "width": f"{width:.2f}%", "y": y, "height": height}

    def _place(self, moment: datetime) -> float:
        whole = max(self._ends - self._begins, timedelta(hours=1))
        return (moment - self._begins) / whole * (100 - LEAST)


def lives(
    keys: Iterable[Key], steps: Sequence[PlannedTransition], *, staged_for: timedelta, now: datetime
) -> list[Life]:
    """The keys except those withdrawn long ago, and the next key if one is planned; the newest first."""
    newest_first = sorted(keys, key=lambda key: key.staged_at, reverse=True)
    gone = [key for key in newest_first if key.withdrawn_at]
    left_out = {key.pk for key in gone[MOST_WITHDRAWN:]}
    left_out |= {key.pk for key in gone if key.withdrawn_at and key.withdrawn_at < now - SHOWN_FOR}
    shown = [_life(key, steps, staged_for, now) for key in newest_first if key.pk not in left_out]
    stage = next((step for step in steps if step.what == What.STAGE and step.after), None)
    if stage:
        waits = Span(State.STAGED, max(stage.at, now), max(stage.at, now) + staged_for, planned=True)
        shown.insert(0, Life(None, "", (waits,), stage.entry().text))
    return shown


def _life(key: Key, steps: Sequence[PlannedTransition], staged_for: timedelta, now: datetime) -> Life:
    times = (
        (State.STAGED, key.staged_at),
        (State.ACTIVE, key.activated_at),
        (State.RETIRED, key.retired_at),
        (State.WITHDRAWN, key.withdrawn_at),
    )
    begun = [(state, moment) for state, moment in times if moment]
    ends = [moment for _state, moment in begun[1:]] + [now]
    spans = [Span(state, moment, end) for (state, moment), end in zip(begun, ends, strict=True)]
    until = _until(key, steps, staged_for)
    if until and until > now:
        spans.append(Span(State(key.state), now, until, planned=True))
    ahead = next((step.entry().text for step in steps if step.kid == key.pk), "")
    return Life(key.pk, key.state, tuple(spans), ahead)


def _until(key: Key, steps: Sequence[PlannedTransition], staged_for: timedelta) -> datetime | None:
    """When the key's present state ends, if that is planned."""
    at = {step.what: step.at for step in steps if step.kid in (key.pk, None) or step.after == key.pk}
    if key.state == State.RETIRED:
        return at.get(What.WITHDRAW)
    if key.state == State.ACTIVE and What.STAGE in at:
        return at[What.STAGE] + staged_for
    return at.get(What.ACTIVATE) if key.state in (State.STAGED, State.ACTIVE) else None


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"
