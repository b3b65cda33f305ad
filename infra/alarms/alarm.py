"""A fact that operators are told about, its two limits, and the rules by which Prometheus tells it."""

from dataclasses import dataclass
from enum import IntEnum

# How many of the unit in which Prometheus measures are in one of ours.
_IN_BASE_UNITS = {
    "seconds": 1,
    "minutes": 60,
    "hours": 3600,
    "days": 86400,
    "%": 0.01,
    "MB": 1e6,
    "GB": 1e9,
}


class State(IntEnum):
    """SOON: nothing is broken yet. NOW: people meet the fault, or nothing protects them from one."""

    OK = 0
    SOON = 1
    NOW = 2


# SOON is for the next working day, and NOW wakes somebody up.
SEVERITIES = {State.OK: "none", State.SOON: "ticket", State.NOW: "page"}


@dataclass(frozen=True)
class Rule:
    """An alert of Prometheus.

    query: PromQL, in which LIMIT stands for the alarm's limit in the unit of the metric.
    lasts: for how long the query must be true.
    todo: what to do, if that is not what the alarm says.
    beside_check: the doctor's check sees something else, so its finding is an alert as well.
    """

    alert: str
    state: State
    query: str
    summary: str
    lasts: str = ""
    todo: str = ""
    beside_check: bool = False


@dataclass(frozen=True)
class Alarm:
    """A row of the table.

    name: of the doctor's check, or only a name if it is Prometheus alone that sees the fact.
    fact: what is measured, in words that fit before "over 3 hours".
    todo: what to do, in words that fit after "To do: ".
    soon, now: above which number the state is SOON or NOW; words, if it is no number; None if it never is.
    also: when it is SOON or NOW besides.
    low: it is the numbers below the limits that are bad.
    checked: whether the doctor has a check of this name, whose finding is e-mailed and on the start page.
    """

    name: str
    fact: str
    todo: str
    soon: float | str | None = None
    now: float | str | None = None
    unit: str = ""
    low: bool = False
    also_soon: str = ""
    also_now: str = ""
    checked: bool = True
    rules: tuple[Rule, ...] = ()

    def state(self, value: float) -> State:
        """The state of this value, which is in `unit`."""
        if self._is_beyond(value, self.now):
            return State.NOW
        return State.SOON if self._is_beyond(value, self.soon) else State.OK

    def _is_beyond(self, value: float, limit: float | str | None) -> bool:
        if not isinstance(limit, int | float):
            return False
        return value < limit if self.low else value > limit

    def limit(self, state: State) -> str:
        """The limit in words, such as "over 3 hours"; "–" if the state never is."""
        limit, also = (self.now, self.also_now) if state == State.NOW else (self.soon, self.also_soon)
        if isinstance(limit, int | float):
            limit = f"{'under' if self.low else 'over'} {limit:g} {self.unit}"
        return "; ".join(filter(None, (limit, also))) or "–"

    def expression(self, rule: Rule) -> str:
        """The PromQL of the rule, with the limit."""
        limit = self.now if rule.state == State.NOW else self.soon
        if not isinstance(limit, int | float):
            return rule.query
        return rule.query.replace("LIMIT", f"{limit * _IN_BASE_UNITS.get(self.unit, 1):.12g}")

    def alerts_by_itself(self, state: State) -> bool:
        """Whether a rule of Prometheus tells this state, so that the doctor's finding would be told twice."""
        return any(rule.state == state and not rule.beside_check for rule in self.rules)
