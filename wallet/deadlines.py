"""Until when a request can be answered, as its pages show it (WCAG 2.2, success criterion 2.2.1). Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Deadline:
    """The end of a request that a relying party waits for.

    extendable_until: the longest end that a person who asks for more time gets; None if it cannot be
    extended. place: the path to which the form for more time is submitted.
    """

    ends: datetime
    extendable_until: datetime | None
    place: str

    @property
    def may_have_more_time(self) -> bool:
        """Whether the person can still ask for more time."""
        return self.extendable_until is not None and self.ends < self.extendable_until

    @property
    def is_final(self) -> bool:
        """Whether the person has had all the time that there is."""
        return self.extendable_until is not None and not self.may_have_more_time

    def seconds_left(self, now: datetime) -> int:
        """Whole seconds until the end; negative once it is over."""
        return int((self.ends - now).total_seconds())
