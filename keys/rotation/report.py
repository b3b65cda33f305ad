"""What is told of a rotation, as text and as JSON: what was done, what comes next, what is wrong. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Told:
    """One thing: a word for machines, the key it is about (if it is about one), when, and a sentence."""

    what: str
    kid: UUID | None
    at: datetime
    text: str

    def __str__(self) -> str:
        return self.text

    def facts(self) -> dict[str, str | None]:
        """The members documented in docs/keys.md."""
        kid = None if self.kid is None else str(self.kid)
        return {"what": self.what, "kid": kid, "at": iso(self.at), "text": self.text}


@dataclass(frozen=True)
class Report:
    """All of it, at one moment. In a rehearsal `done` is what would be done."""

    at: datetime
    done: tuple[Told, ...] = ()
    next: tuple[Told, ...] = ()
    problems: tuple[Told, ...] = ()
    dry_run: bool = False

    def lines(self) -> list[str]:
        """A sentence for each: what was done, what is wrong, what comes next."""
        return [told.text for told in (*self.done, *self.problems, *self.next)]

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        lists = {"done": self.done, "next": self.next, "problems": self.problems}
        told = {name: [one.facts() for one in several] for name, several in lists.items()}
        return {"at": iso(self.at), "dry_run": self.dry_run, **told}


def iso(when: datetime) -> str:
    """ISO 8601 in UTC, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
